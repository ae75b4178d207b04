import { expect } from 'chai';
import { IDS } from '../../history/recorded/clean-cases.js';
import { cleanHistory } from '../../history/recorded/clean-history.js';
import { fail } from '../../history/recorded/draft-changes.js';
import { whatIsMissing } from './figures.js';

describe('the figures of rounds', () => {
  it('says of what there is too little', () => {
    const draft = cleanHistory();
    expect(whatIsMissing(draft, 0)).to.deep.equal([]);
    expect(whatIsMissing(draft, 100)).to.have.lengthOf(3);
    fail(draft, IDS.poor, 'TASK_TIMEOUT');
    fail(draft, IDS.succeeded, 'TASK_TIMEOUT');
    expect(whatIsMissing(draft, 0)).to.deep.equal([]);
    fail(draft, IDS.poor, 'INTERNAL_ERROR');
    fail(draft, IDS.succeeded, 'INTERNAL_ERROR');
    expect(whatIsMissing(draft, 0)).to.deep.equal(['Of 2 generations that could only succeed 0 did.']);
  });
});
