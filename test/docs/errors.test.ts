/**
 * Goal: docs/errors.md and the two catalogues of codes say the same.
 * Method: read the page's tables and compare them with ERRORS and TASK_ERRORS, both ways: the codes, whether to
 * retry, and the status that the REST front gives each.
 */
import { expect } from 'chai';
import { STATUSES } from '../../apps/http/host/errors.js';
import { type ErrorCode, ERRORS } from '../../core/errors.js';
import { TASK_ERRORS } from '../../core/generation/generation.js';
import { plain, readPage, tablesOf } from './pages.js';

const page = readPage('docs/errors.md');

/** The rows of every table that begins with these columns: the first cell, then the rest. */
function rowsUnder(...columns: readonly string[]): (readonly string[])[] {
  return tablesOf(page)
    .filter((table) => columns.every((column, index) => table.columns[index] === column))
    .flatMap((table) => table.rows);
}

function yesOrNo(retry: boolean): string {
  return retry ? 'yes' : 'no';
}

describe('docs/errors.md', () => {
  it('has every code a request can be answered with once, its status, and whether to retry', () => {
    const documented = rowsUnder('Code', 'HTTP', 'Retry').map(
      ([code, status, retry]) => `${plain(code)}: ${status}, ${retry}`,
    );
    const known = Object.entries(ERRORS).map(
      ([code, { retry }]) => `${code}: ${STATUSES[code as ErrorCode]}, ${yesOrNo(retry)}`,
    );
    expect(documented.sort()).to.deep.equal(known.sort());
  });

  it('has every code a generation can fail with once, and whether to retry', () => {
    const documented = rowsUnder('Task code', 'Retry').map(([code, retry]) => `${plain(code)}: ${retry}`);
    expect(documented.sort()).to.deep.equal(
      Object.entries(TASK_ERRORS)
        .map(([code, { retryable }]) => `${code}: ${yesOrNo(retryable)}`)
        .sort(),
    );
  });

  it('says of every code when it comes and what to do', () => {
    const empty = tablesOf(page).flatMap((table) =>
      table.rows.filter((row) => row.length !== table.columns.length || row.includes('')),
    );
    expect(empty).to.deep.equal([]);
  });
});
