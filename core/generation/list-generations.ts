import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { fieldInvalid } from '../fields.js';
import type { Page, PageRequest } from '../paging.js';
import type { AppGenerations } from '../ports/generation-store.js';
import { STATUSES, type Generation, type GenerationStatus } from './generation.js';
import { matchingPage } from '../matching-page.js';

/** Which of an App's generations are listed: those that match all that is given. */
export interface ListFilter {
  readonly status?: GenerationStatus;
  readonly modelKey?: string;
  readonly clientTraceId?: string;
  /** Created at this time or later, in milliseconds. */
  readonly createdFrom?: number;
  /** Created before this time, in milliseconds. */
  readonly createdBefore?: number;
}

/** How long a key of a model can be that is asked for. */
export const MAX_LISTED_MODEL_KEY = 200;
export const MAX_LISTED_TRACE_ID = 128;

/** A filter as a front was sent it: what was not sent is undefined. */
export interface SentFilter {
  readonly status?: string | undefined;
  readonly modelKey?: string | undefined;
  readonly clientTraceId?: string | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdBefore?: number | undefined;
}

/**
 * Throws FIELD_INVALID for a word that is no status and for texts that are empty or too long. A model that the catalog
 * lacks is none: it may have made generations while it was there.
 */
export function readListFilter({
  status,
  modelKey,
  clientTraceId,
  createdFrom,
  createdBefore,
}: SentFilter): ListFilter {
  const known = STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined)
    throw fieldInvalid('/status', `status must be one of ${STATUSES.join(', ')}.`);
  requireLength('model_key', modelKey, MAX_LISTED_MODEL_KEY);
  requireLength('client_trace_id', clientTraceId, MAX_LISTED_TRACE_ID);
  return {
    ...(known === undefined ? {} : { status: known }),
    ...(modelKey === undefined ? {} : { modelKey }),
    ...(clientTraceId === undefined ? {} : { clientTraceId }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
  };
}

function requireLength(name: string, text: string | undefined, max: number): void {
  if (text !== undefined && (text === '' || text.length > max))
    throw fieldInvalid(`/${name}`, `${name} must have 1 to ${max} characters.`);
}

/** The fields with an index, the one that usually leaves the fewest first. */
const INDEXED = ['clientTraceId', 'status', 'modelKey'] as const;

/**
 * A page of the caller's own generations, newest first: those of its App, and not of others of the account. One field
 * and the times are found by an index. A filter by several fields may give a page with fewer than asked for, or none,
 * although there are more.
 */
export function listGenerations(
  { generations, call }: Pick<Context, 'generations' | 'call'>,
  { appId }: Pick<Caller, 'appId'>,
  filter: ListFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  const { createdFrom, createdBefore } = filter;
  const [first, ...others] = INDEXED.filter((field) => filter[field] !== undefined);
  const wanted: AppGenerations = {
    of: 'app',
    appId,
    ...(first === undefined ? {} : { only: { field: first, value: filter[first] as string } }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
  };
  const list = (asked: PageRequest) => generations.list(wanted, asked, call);
  const matches = (generation: Generation) =>
    generation.deletedAt === undefined && others.every((field) => generation[field] === filter[field]);
  return matchingPage(list, matches, page);
}
