import { type Entry, FAILED } from '../credits/account.js';

/** What operators can erase: an account, a person, and everything with one `client_trace_id` of an account. */
export const ERASABLE = ['account', 'person', 'trace'] as const;
export type Erasable = (typeof ERASABLE)[number];

/**
 * `content`: access ends, open generations are stopped, and records, files and names are removed. `ledger`: the texts of
 * ledger entries are removed. `remains`: the store writes its own files again without removed content. `log`: its log, which
 * has them too, is emptied. `done`: nothing is left.
 */
export const ERASURE_STEPS = ['content', 'ledger', 'remains', 'log', 'done'] as const;
export type ErasureStep = (typeof ERASURE_STEPS)[number];

/**
 * An operator's request that something be erased. It is written first and carried out by recovery, so that it is
 * completed whatever process ends meanwhile. All times are milliseconds since the epoch.
 */
export interface Erasure {
  /** The id of the account or the person; for a trace, an id derived from its account and its text. */
  readonly erasureId: string;
  readonly of: Erasable;
  readonly accountId: string;
  /** Present for a trace until its second round has removed it everywhere else. */
  readonly clientTraceId?: string;
  /** Grows by one with every change; a change applies only onto the version it was decided on. */
  readonly version: number;
  readonly requestedAt: number;
  /**
   * The steps are taken twice: requests that were in progress when access ended may have written something after the
   * first round.
   */
  readonly round: 1 | 2;
  readonly step: ErasureStep;
  /** In the step `ledger`: the number of the last entry that was examined. */
  readonly examinedThrough: number;
  /** When the first round was completed: what was stored when it was requested is gone. */
  readonly erasedAt?: number;
  /** When the second round was completed. */
  readonly completedAt?: number;
  /** When recovery continues it, or removes the record of a completed one. */
  readonly dueAt: number;
}

/** The second round begins this long after the first one, in milliseconds: longer than any request or token lasts. */
export const SECOND_ROUND_AFTER_MS = 3_600_000;

/** The name that is left of an account, an App or a key. */
export const ERASED_NAME = 'erased';

export function newErasure(
  about: Pick<Erasure, 'erasureId' | 'of' | 'accountId' | 'clientTraceId'>,
  now: number,
): Erasure {
  return { ...about, version: 1, requestedAt: now, round: 1, step: 'content', examinedThrough: 0, dueAt: now };
}

/** The erasure at the next step of its round, due at once. */
export function afterStep(erasure: Erasure, now: number): Erasure {
  const next = { ...erasure, version: erasure.version + 1, examinedThrough: 0, dueAt: now };
  switch (erasure.step) {
    case 'content':
      return erasure.of === 'person' ? atRemains(next) : { ...next, step: 'ledger' };
    case 'ledger':
      return atRemains(next);
    case 'remains':
      return { ...next, step: 'log' };
    case 'log':
      return erasure.round === 1
        ? { ...next, round: 2, step: 'content', erasedAt: now, dueAt: now + SECOND_ROUND_AFTER_MS }
        : { ...next, step: 'done', completedAt: now };
    case 'done':
      return next;
  }
}

/** Nothing looks for the trace id after the second round, and the store is to forget it too. */
function atRemains({ clientTraceId, ...rest }: Erasure): Erasure {
  const kept = clientTraceId === undefined || rest.round === 2 ? {} : { clientTraceId };
  return { ...rest, ...kept, step: 'remains' };
}

/**
 * The entry without what people wrote: trace id, operation id and reason. Amounts, times and ids stay, and so does the
 * mark of a failure, which usage counts. The same object if there is nothing to remove.
 */
export function withoutTexts(entry: Entry): Entry {
  const { operationId, reason, ...rest } = withoutTraceId(entry);
  const isFailure = operationId === undefined && reason === FAILED;
  if (operationId === undefined && (reason === undefined || isFailure)) return withoutTraceId(entry);
  return rest;
}

/** The entry without its trace id, if that is the given one; otherwise the same object. */
export function withoutTrace(entry: Entry, clientTraceId: string): Entry {
  return entry.attribution?.clientTraceId === clientTraceId ? withoutTraceId(entry) : entry;
}

function withoutTraceId(entry: Entry): Entry {
  const { attribution } = entry;
  if (attribution?.clientTraceId === undefined) return entry;
  const { clientTraceId: _clientTraceId, ...kept } = attribution;
  return { ...entry, attribution: kept };
}
