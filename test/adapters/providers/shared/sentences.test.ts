/*
 * Goal: refusals have the code, the reason and the right to another attempt that the port describes.
 * Method: each name of a failure, and what follows from its code.
 */
import { expect } from 'chai';
import { failure, inputRefusal, refusal } from '../../../../adapters/providers/shared/sentences.js';

describe('sentences of providers', () => {
  it('let another attempt follow where the code does, with the wait that the provider asked for', () => {
    expect(failure('rejected', 5_000)).to.deep.equal({
      code: 'PROVIDER_REJECTED',
      message: 'The provider refused the task.',
      mayRetry: false,
    });
    expect(failure('broke', 5_000)).to.deep.equal({
      code: 'INTERNAL_ERROR',
      message: 'The provider had an internal error.',
      mayRetry: true,
      retryAfterMs: 5_000,
    });
  });

  it('say of a refusal whether another provider may take the task', () => {
    expect(refusal('no capacity', { retryAfterMs: 1_000 })).to.deep.include({ accepted: false, because: 'capacity' });
    expect(refusal('unreachable').because).to.equal('capacity');
    expect(refusal('account refused').because).to.equal('not-here');
    expect(refusal('model missing').because).to.equal('not-here');
    expect(refusal('input refused')).to.not.have.property('because');
    expect(refusal('broke', { cost: { outputTokens: 3 } }).cost).to.deep.equal({ outputTokens: 3 });
  });

  it('refuse a parameter with the sentence given', () => {
    expect(inputRefusal('The size is too large.').failure).to.deep.equal({
      code: 'INPUT_INVALID',
      message: 'The size is too large.',
      mayRetry: false,
    });
  });
});
