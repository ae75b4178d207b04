// Goal: counts in a command's output are correct English for any number.
// Method: plain cases.
import { expect } from 'chai';
import { counted, countedBooks } from '../../../apps/cli/terminal.js';

describe('counted things', () => {
  it('are one or many', () => {
    expect([0, 1, 2].map((count) => counted(count, 'object'))).to.deep.equal(['0 objects', '1 object', '2 objects']);
    expect(countedBooks({ accounts: 1, entries: 1, generations: 1 })).to.equal('1 account, 1 entry and 1 generation');
    expect(countedBooks({ accounts: 2, entries: 3, generations: 0 })).to.equal(
      '2 accounts, 3 entries and 0 generations',
    );
  });
});
