import { InvalidArgumentError, type Command } from 'commander';
import type { Page, PageRequest } from '../../../core/paging.js';

export { moreJson } from '../../operator/records.js';

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/** Lists come a page at a time: --limit lines, and --cursor where the page before ended. */
export function withPaging(command: Command): Command {
  return command
    .option('--limit <count>', 'the most lines to show, 1 to 1000', readLimit, 100)
    .option('--cursor <cursor>', 'continue where an earlier page ended');
}

export function pageRequest({ limit, cursor }: PageOptions): PageRequest {
  return { limit, ...(cursor ? { cursor } : {}) };
}

/** What to say under a page that is not the last. */
export function moreText(page: Page<unknown>): string {
  return page.nextCursor === undefined ? '' : `\nThere is more: --cursor ${page.nextCursor}`;
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new InvalidArgumentError('It must be an integer from 1 to 1000.');
  return limit;
}
