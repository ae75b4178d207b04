/**
 * Goal: docs/scaling.md computes from figures that hold. Method: its table of documents adds up, its sums are within the
 * bounds that test/service/documents-written.test.ts holds the program to, and it names these.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPage, ROOT, tablesOf } from './pages.js';

const page = readPage('docs/scaling.md');
const tables = tablesOf(page);
const source = readFileSync(join(ROOT, 'test/service/documents-written.test.ts'), 'utf8');
const bounds = [/\['all'\], most: ([\d.]+)/, /'worker'\], most: ([\d.]+)/, /mostToAccept: ([\d.]+) /].map((pattern) =>
  Number(pattern.exec(source)?.[1]),
);

describe('docs/scaling.md', () => {
  const written = tables.find(({ columns: [first, second] }) => first === 'Collection' && second?.includes('`all`'));
  const rows = (written?.rows ?? []).map(([name = '', ...figures]) => ({
    name,
    figures: figures.slice(0, 3).map((text) => Number(text.replaceAll('*', ''))),
  }));
  const sums = rows.at(-1)?.figures ?? [];

  it('adds up what a generation writes', () => {
    const parts = rows.slice(0, -1);
    expect(parts).to.have.lengthOf.at.least(4);
    sums.forEach((sum, column) =>
      expect(
        parts.reduce((all, { figures }) => all + (figures[column] ?? 0), 0),
        `column ${column}`,
      ).to.be.closeTo(sum, 0.005),
    );
  });

  it('keeps to the bounds that a test holds the program to, and names them', () => {
    expect(bounds.every(Number.isFinite)).to.equal(true);
    // Commands share the writes of accounts, which have a bound of their own.
    const shared = rows.find(({ name }) => name === '`accounts`')?.figures ?? [];
    sums.forEach((sum, column) => expect(sum - (shared[column] ?? NaN)).to.be.at.most(bounds[column] ?? 0));
    const [all, both, accepting] = bounds;
    expect(page.text).to.include(`without \`accounts\`, the test fails above ${all}, ${both} and ${accepting}.`);
  });
});
