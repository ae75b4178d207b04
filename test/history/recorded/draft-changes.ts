import type { Entry } from '../../../core/credits/account.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { IDS, RICH } from './clean-cases.js';
import type { Draft } from './clean-history.js';
import type { Exchange, History, Request } from './history.js';

export type HistoryDraft = Draft<History>;

/** For each invariant, the changes that each break it in one way, by a description of the fault. */
export type Breaches = Readonly<Record<number, Readonly<Record<string, (draft: HistoryDraft) => unknown>>>>;

export const SECRET = 'SECRETSECRETSECRET';

export function record(draft: HistoryDraft, generationId: string): Draft<Generation> {
  const found = draft.atRest.generations.find((candidate) => candidate.generationId === generationId);
  if (found?.kind !== 'generation') throw new Error(`There is no generation ${generationId} in this draft.`);
  return found;
}

export function account(draft: HistoryDraft, { accountId }: typeof RICH): HistoryDraft['atRest']['accounts'][number] {
  return the(draft.atRest.accounts.find((candidate) => candidate.accountId === accountId));
}

export function entry(draft: HistoryDraft, generationId: string, kind: Entry['kind']): Draft<Entry> {
  return the(
    draft.atRest.accounts
      .flatMap(({ entries }) => entries)
      .find((candidate) => candidate.generationId === generationId && candidate.kind === kind),
  );
}

/** The answered exchange of this operation for a generation or a key: the last one unless numbered. */
export function asked(
  draft: HistoryDraft,
  operation: Request['operation'],
  subject: string,
  index = -1,
): Draft<Exchange> & { answered: NonNullable<Draft<Exchange>['answered']> } {
  const isAbout = ({ request }: Draft<Exchange>) =>
    request.operation === operation && Object.values(request).includes(subject);
  const found = draft.exchanges.flatMap((exchange) =>
    isAbout(exchange) && exchange.answered ? [exchange as ReturnType<typeof asked>] : [],
  );
  return the(found.at(index));
}

export function dataOf(exchange: ReturnType<typeof asked>): JsonObject {
  return the(exchange.answered.answer.data);
}

export function the<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The draft has no such thing.');
  return value;
}

export function ask(
  draft: HistoryDraft,
  by: string,
  sentAt: number,
  request: Request,
  answer: NonNullable<Exchange['answered']>['answer'],
): void {
  draft.exchanges.push({ by, through: 'rest-1', sentAt, request, answered: { at: sentAt + 10, answer } });
}

export const upload = (draft: HistoryDraft) => the(draft.atRest.uploads[0]);

/**
 * Adds a hold of the rich account's whole balance, from its last entry until `at`, for a generation that never came to
 * be.
 */
export function wantUntil(draft: HistoryDraft, at: number): void {
  const { entries } = account(draft, RICH);
  const last = the(entries.at(-1));
  const { availableAfter: credits } = last;
  const about = { accountId: RICH.accountId, generationId: IDS.random, credits } as const;
  entries.push(
    {
      ...about,
      sequence: last.sequence + 1,
      kind: 'hold',
      from: 'available',
      to: 'reserved',
      at: last.at,
      availableAfter: 0,
    },
    {
      ...about,
      sequence: last.sequence + 2,
      kind: 'release',
      from: 'reserved',
      to: 'available',
      at,
      availableAfter: credits,
    },
  );
}

/** Makes a generation fail that succeeded in the clean draft. */
export function fail(
  draft: HistoryDraft,
  generationId: string,
  code: 'TASK_TIMEOUT' | 'INTERNAL_ERROR',
  more: { readonly runDeadlineAt?: undefined; readonly completedAt?: number } = {},
): void {
  const g = record(draft, generationId);
  Object.assign(g, { status: 'failed', outputs: [], error: { code, message: 'No.', retryable: true } }, more);
  if ('runDeadlineAt' in more) delete g.runDeadlineAt;
}

/** Its outputs were written under the first two fences, one output each. */
export function spreadOverFences(draft: HistoryDraft, generationId: string): Draft<Generation> {
  const g = record(draft, generationId);
  for (const [index, output] of g.outputs.entries()) {
    const key = `outputs/${generationId}/${index % 2 === 0 ? 2 : 1}/${index}`;
    the(draft.atRest.objects.find((object) => object.key === output.objectKey)).key = key;
    output.objectKey = key;
  }
  g.fence = 2;
  return g;
}
