import { expect } from 'chai';
import type { Exchange } from '../history/history.js';
import { SLOW_ANSWER_MS, slowAnswers } from './slow-answers.js';

const SENT_AT = 20_000;

/** A machine that is too slow for the short leases of the fault runs is a fault too, and is seen from outside the program. */
describe('slow answers', () => {
  it('are those that took half of a lease or longer, from the request to the answer', () => {
    expect(slowAnswers([answeredAfter(SLOW_ANSWER_MS - 1)])).to.deep.equal([]);
    expect(slowAnswers([answeredAfter(SLOW_ANSWER_MS)])).to.deep.equal([
      { from: SENT_AT, until: SENT_AT + SLOW_ANSWER_MS },
    ]);
  });

  it('are no requests that were never answered: their processes may be dead', () => {
    expect(slowAnswers([{ sentAt: SENT_AT }])).to.deep.equal([]);
  });
});

function answeredAfter(ms: number): Pick<Exchange, 'sentAt' | 'answered'> {
  return { sentAt: SENT_AT, answered: { at: SENT_AT + ms, answer: { status: 200, code: 'OK' } } };
}
