import { expect } from 'chai';
import { creditsText } from '../../../core/credits/account.js';

// Goal: every message names an amount of credits in correct English.
// Method: the amounts between which singular and plural differ, in each type that fronts have them in.

describe('an amount of credits in a message', () => {
  it('is singular for exactly one', () => {
    for (const [amount, text] of [
      [0, '0 credits'],
      [1, '1 credit'],
      [1n, '1 credit'],
      ['1', '1 credit'],
      ['0.5', '0.5 credits'],
      [2, '2 credits'],
      [-1, '-1 credits'],
      [Number.MAX_SAFE_INTEGER, '9007199254740991 credits'],
    ] as const)
      expect(creditsText(amount)).to.equal(text);
  });
});
