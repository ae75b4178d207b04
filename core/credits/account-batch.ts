import { assert } from '../assert.js';
import type { GenerationRecord } from '../generation/generation.js';
import type { Claim } from '../idempotency/claim.js';
import type { Acceptance } from './acceptance.js';
import type { AccountCommand, AccountRefusal } from './decide.js';

/** A refusal comes with the credits that could be reserved when it was decided. */
export type WriterOutcome =
  | { readonly refused: AccountRefusal; readonly availableCredits: number }
  | { readonly refused?: undefined };

/** What became of a generation that was to be accepted. */
export type AcceptedOutcome =
  | WriterOutcome
  /** Another request has claimed the key; nothing was held. */
  | { readonly refused?: undefined; readonly taken: Claim }
  /** The price is held, but the id of the generation has another record. */
  | { readonly refused?: undefined; readonly existing: GenerationRecord };

/** A command that breaks an invariant fails alone: those it would have been written with have nothing to do with it. */
export type Decided = AcceptedOutcome | { readonly failed: unknown };

export interface Pending {
  readonly command: AccountCommand;
  /** Of a hold that is written in one step with its claim and its generation. */
  readonly acceptance?: Acceptance;
  /** Whether it may wait a little for others to be written with. */
  readonly mayWait?: boolean;
  readonly resolve: (outcome: AcceptedOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export const MAX_BATCH = 250;

/** Takes what waits, in order; of two that claim the same key the later one waits for the next batch, and finds it taken. */
export function nextBatch(waiting: Pending[]): Pending[] {
  const batch = waiting.splice(0, MAX_BATCH);
  const names = new Set<string>();
  const isTwin = ({ acceptance }: Pending): boolean => {
    if (acceptance === undefined) return false;
    const name = nameOf(acceptance.claim);
    if (names.has(name)) return true;
    names.add(name);
    return false;
  };
  const twins = batch.filter(isTwin);
  if (twins.length === 0) return batch;
  waiting.unshift(...twins);
  return batch.filter((pending) => !twins.includes(pending));
}

/**
 * Answers all that wait under keys which others have claimed now, and removes them: they would find that one after the
 * other. One whose own claim is stored waits on.
 */
export function answerTwins(waiting: Pending[], claims: readonly Claim[]): void {
  if (claims.length === 0 || waiting.length === 0) return;
  const byKey = new Map(claims.map((claim) => [nameOf(claim), claim]));
  const others = waiting.splice(0).filter(({ acceptance, resolve }) => {
    const claim = acceptance === undefined || acceptance.claimStands ? undefined : byKey.get(nameOf(acceptance.claim));
    if (claim !== undefined) resolve({ taken: claim });
    return claim === undefined;
  });
  waiting.push(...others);
}

/** Of what the batch accepts: nothing is claimed for a refusal. */
export function acceptancesOf(batch: readonly Pending[], outcomes: readonly Decided[]): Acceptance[] {
  return batch.flatMap(({ acceptance }, index) => {
    const outcome = outcomes[index] ?? {};
    return acceptance === undefined || 'failed' in outcome || outcome.refused !== undefined ? [] : [acceptance];
  });
}

/** Answers those whose keys have other claims. The others remain, to be decided again without them. */
export function withoutTaken(batch: readonly Pending[], taken: readonly Claim[]): Pending[] {
  const byKey = new Map(taken.map((claim) => [nameOf(claim), claim]));
  const others: Pending[] = [];
  for (const pending of batch) {
    const { acceptance, resolve } = pending;
    const claim = acceptance === undefined || acceptance.claimStands ? undefined : byKey.get(nameOf(acceptance.claim));
    if (claim === undefined) others.push(pending);
    else resolve({ taken: claim });
  }
  assert(others.length < batch.length, 'a key that is taken is one that was to be claimed');
  return others;
}

/** The same outcomes, with the records that have the ids of generations. */
export function withExisting(
  batch: readonly Pending[],
  outcomes: readonly Decided[],
  existing: readonly GenerationRecord[],
): readonly Decided[] {
  if (existing.length === 0) return outcomes;
  const byId = new Map(existing.map((record) => [record.generationId, record]));
  return outcomes.map((outcome, index) => {
    const { acceptance } = batch[index] as Pending;
    const record = acceptance && byId.get(acceptance.generation.generationId);
    return record === undefined ? outcome : { existing: record };
  });
}

/** A key among those of one account. */
export function nameOf({ appId, operation, key }: Claim): string {
  return `${appId} ${operation} ${key}`;
}
