/**
 * Goal: docs/testing.md says how much of each check a run plays, as the run does.
 * Method: the rows of its table against the table in code, both ways.
 */
import { expect } from 'chai';
import { RUN_SIZES, type RunSize } from '../harness/run-sizes.js';
import { readPage, tablesOf } from './pages.js';

const HEADER = ['Check', 'What it proves', 'In `npm test`', 'In `verify:all`'];
const SIZES: readonly RunSize[] = Object.values(RUN_SIZES);

const rows = tablesOf(readPage('docs/testing.md')).find(({ columns }) => columns.join() === HEADER.join())?.rows ?? [];

const amount = (count: number) => (count === 0 ? 'none' : count.toLocaleString('en-US'));

describe('the table of what runs where in docs/testing.md', () => {
  for (const { of, byDefault, inFull } of SIZES) {
    it(`has the ${of} as they are played`, () => {
      const [row] = rows.filter(([check]) => check === of);
      expect(row, `a row whose check is "${of}"`).to.be.an('array');
      expect(row?.slice(2, 4)).to.deep.equal([amount(byDefault), amount(inFull)]);
    });
  }

  it('has no amounts but these: everything else is run whole in both, or in the full run alone', () => {
    const others = rows.filter(([check]) => SIZES.every(({ of }) => of !== check));
    expect(others).not.to.have.length(0);
    for (const [check, , inDefault, inFull] of others)
      expect([inDefault, inFull], check).to.deep.equal([inDefault === 'none' ? 'none' : 'all', 'all']);
  });

  it('has each check once, and says of each what it proves', () => {
    expect(new Set(rows.map(([check]) => check)).size).to.equal(rows.length);
    for (const row of rows)
      expect(
        row.filter((cell) => cell !== ''),
        row[0],
      ).to.have.length(HEADER.length);
  });
});
