/**
 * Goal: docs/benchmarks.md names the parts that `--only` takes, and no other. Method: read the names out of the table in
 * bench/main.ts, which runs when it is imported, and out of the page's table.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plain, readPage, ROOT, tablesOf } from './pages.js';

const [, table = ''] = /const PARTS = \{([^}]*)\}/.exec(readFileSync(join(ROOT, 'bench/main.ts'), 'utf8')) ?? [];
const rows = tablesOf(readPage('docs/benchmarks.md')).find(({ columns }) => columns[0] === 'Part')?.rows ?? [];

describe('docs/benchmarks.md', () => {
  it('names every part that the benchmark can measure alone', () => {
    const parts = [...table.matchAll(/(\w+):/g)].map(([, name]) => name);
    const documented = rows.map(([name = '']) => plain(name));
    expect(parts).to.include('requests');
    expect(documented).to.deep.equal(parts);
  });
});
