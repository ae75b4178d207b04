import type { Caller } from '../access/credential.js';
import type { Call, Files, Machine, Money, Work } from '../context.js';
import type { Hold } from '../credits/account.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid, isText } from '../fields.js';
import { isUuid } from '../ids.js';
import { extensionOf } from '../media/media-types.js';
import { matchingPage, type Page, type PageRequest } from '../paging.js';
import type { AppGenerations, ListedGenerations } from '../ports/stores.js';
import { MAX_CLOCK_SKEW_MS } from '../settings.js';
import { type Generation, type GenerationStatus, type GenerationView, STATUSES } from './generation.js';

/**
 * The caller's own generation. Throws TASK_NOT_FOUND alike for an unknown id, a malformed id and another owner's
 * generation, and GENERATION_JOB_NOT_FOUND for the caller's own that was
 * deleted or is past its retention.
 */
export async function getGeneration(context: Work & Call, caller: Caller, generationId: string): Promise<Generation> {
  const generation = await findOwn(context, caller, generationId);
  if (generation instanceof ServiceError) throw generation;
  if (generation.deletedAt !== undefined) throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return generation;
}

/** The caller's own record, even when its deletion is not complete, which no client may see. */
export async function findOwn(
  { generations, call }: Work & Call,
  caller: Caller,
  generationId: string,
): Promise<Generation | ServiceError> {
  const record = isUuid(generationId) ? await generations.read(generationId.toLowerCase(), call) : null;
  const isOwn = record !== null && record.accountId === caller.accountId && record.appId === caller.appId;
  if (!isOwn || record.kind === 'void') return new ServiceError('TASK_NOT_FOUND');
  return record.kind === 'generation' ? record : new ServiceError('GENERATION_JOB_NOT_FOUND');
}

/** A filter for an App's generations. All given conditions must match. */
export interface ListFilter {
  readonly status?: GenerationStatus;
  readonly modelKey?: string;
  readonly clientTraceId?: string;
  /** Created at this time or later, in milliseconds. */
  readonly createdFrom?: number;
  /** Created before this time, in milliseconds. */
  readonly createdBefore?: number;
}

/** The maximum length of a model key in a filter. */
export const MAX_LISTED_MODEL_KEY = 200;
export const MAX_LISTED_TRACE_ID = 128;

/** A filter as a front was sent it: what was not sent is undefined. */
export type SentFilter = {
  readonly [F in keyof ListFilter]: (F extends 'status' ? string : ListFilter[F]) | undefined;
};

/**
 * Throws FIELD_INVALID for an unknown status and for texts that are empty, too long or have NUL. A model that is not in the
 * catalog is accepted, because it may have made generations while it was there.
 */
export function readListFilter(sent: SentFilter): ListFilter {
  const { status, modelKey, clientTraceId, createdFrom, createdBefore } = sent;
  const known = STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined)
    throw fieldInvalid('/status', `status must be one of ${STATUSES.join(', ')}.`);
  requireText('model_key', modelKey, MAX_LISTED_MODEL_KEY);
  requireText('client_trace_id', clientTraceId, MAX_LISTED_TRACE_ID);
  return {
    ...(known === undefined ? {} : { status: known }),
    ...(modelKey === undefined ? {} : { modelKey }),
    ...(clientTraceId === undefined ? {} : { clientTraceId }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
  };
}

/** Throws FIELD_INVALID for a text of a filter that no stored text can be equal to. */
export function requireText(name: string, text: string | undefined, max: number): void {
  if (text === undefined) return;
  if (text === '' || text.length > max) throw fieldInvalid(`/${name}`, `${name} must have 1 to ${max} characters.`);
  if (!isText(text)) throw fieldInvalid(`/${name}`, `${name} must be text without NUL characters and lone surrogates.`);
}

/** The fields with an index, the one that usually leaves the fewest first. */
const INDEXED = ['clientTraceId', 'status', 'modelKey'] as const;

/**
 * A page of the caller's own generations, newest first: those of its App, and not of others of the account. One field
 * and the times use an index. A filter by several fields may give a page with fewer than requested, or none, although
 * there are more.
 */
export function listGenerations(
  { generations, call }: Work & Call,
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

export async function viewGeneration(context: Files & Machine, generation: Generation): Promise<GenerationView> {
  const expiresAt = context.clock.now() + context.settings.outputUrlMs;
  const outputs = await Promise.all(
    generation.outputs.map(async (output, index) => {
      const filename = outputFilename(generation, index);
      const { url } = await context.objects.signGet({
        key: output.objectKey,
        mediaType: output.contentType,
        filename,
        expiresAt,
      });
      return { output, url, filename };
    }),
  );
  const isOpen = generation.completedAt === undefined;
  return { generation, outputs, ...(isOpen ? { pollAfterMs: context.settings.pollAfterMs } : {}) };
}

/** The name of the file of an output: the id of the generation, the number of the output, and the extension of its type. */
export function outputFilename({ generationId, outputs }: Generation, index: number): string {
  return `${generationId}-${index + 1}.${extensionOf(outputs[index]?.contentType ?? '')}`;
}

/** A hold and its generation. */
export interface OpenWork {
  readonly hold: Hold & { readonly accountId: string };
  /** Null if there is none: its create is under way or was interrupted. */
  readonly generation: Generation | null;
}

/**
 * Lists the generations that credits of any account are held for, the oldest first: those that are queued or running,
 * and those that have ended and are not settled. Holds come from an index, so that no account is scanned.
 */
export async function openWork(
  { accounts, generations, clock, call }: Money & Work & Machine & Call,
  page: PageRequest,
): Promise<Page<OpenWork>> {
  // Other processes may be ahead.
  const { items, ...more } = await accounts.holdsBefore(clock.now() + MAX_CLOCK_SKEW_MS, page);
  const work = await Promise.all(
    items.map(async (hold) => {
      const record = await generations.read(hold.generationId, call);
      return { hold, generation: record?.kind === 'generation' ? record : null };
    }),
  );
  return { items: work, ...more };
}

/** All generations when it is empty. */
export interface GenerationFilter {
  readonly accountId?: string;
  /** One App of the account, which must be given too. */
  readonly appId?: string;
  readonly statuses?: readonly GenerationStatus[];
}

/**
 * Finds any account's generation, for operators. Throws NOT_FOUND, with a message of its own for one past its
 * retention.
 */
export async function findGeneration({ generations, call }: Work & Call, generationId: string): Promise<Generation> {
  const record = await generations.read(generationId, call);
  if (record?.kind === 'generation') return record;
  if (record?.kind !== 'expired') throw new ServiceError('NOT_FOUND', `There is no generation ${generationId}.`);
  throw new ServiceError('NOT_FOUND', `Generation ${generationId} is past its retention, and no longer kept.`);
}

/**
 * A page of generations, newest first. Statuses are searched in a bounded number of reads, so a page may hold fewer
 * than requested, or none, although there are more.
 */
export async function searchGenerations(
  { generations, call }: Work & Call,
  { accountId, appId, statuses }: GenerationFilter,
  page: PageRequest,
): Promise<Page<Generation>> {
  const list = (asked: PageRequest) => generations.list(listOf(accountId, appId), asked, call);
  const found = await (statuses === undefined
    ? list(page)
    : matchingPage(list, ({ status }) => statuses.includes(status), page));
  // All generations of an App are of one account.
  return found.items.some((one) => accountId !== undefined && one.accountId !== accountId) ? { items: [] } : found;
}

function listOf(accountId: string | undefined, appId: string | undefined): ListedGenerations {
  if (appId !== undefined) return { of: 'app', appId };
  return accountId === undefined ? { of: 'all' } : { of: 'account', accountId };
}
