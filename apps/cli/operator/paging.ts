import { InvalidArgumentError, type Command } from 'commander';
import type { Page, PageRequest } from '../../../core/paging.js';

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/** What the cursors of a list look like: the id of the last line, or its number. */
const CURSORS = { ids: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, numbers: /^[0-9]{1,15}$/ } as const;

/** Lists come a page at a time: --limit lines, and --cursor where the page before ended. */
export function withPaging(command: Command, cursors: keyof typeof CURSORS = 'ids'): Command {
  const readCursor = (text: string) => {
    if (!CURSORS[cursors].test(text)) throw new InvalidArgumentError('It must be what an earlier page of this list ended with.');
    return text;
  };
  return command
    .option('--limit <count>', 'the most lines to show, 1 to 1000', readLimit, 100)
    .option('--cursor <cursor>', 'go on where an earlier page ended', readCursor);
}

export function pageRequest({ limit, cursor }: PageOptions): PageRequest {
  return { limit, ...(cursor === undefined ? {} : { cursor }) };
}

/** What to say under a page that is not the last. */
export function moreText(page: Page<unknown>): string {
  return page.nextCursor === undefined ? '' : `\nThere is more: --cursor ${page.nextCursor}`;
}

export function moreJson(page: Page<unknown>): { readonly next_cursor?: string } {
  return page.nextCursor === undefined ? {} : { next_cursor: page.nextCursor };
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw new InvalidArgumentError('It must be an integer from 1 to 1000.');
  return limit;
}
