import { assert } from '../assert.js';
import { busy, ServiceError } from '../errors.js';
import type { Generation, GenerationRecord } from '../generation/generation.js';
import type { Claim } from '../idempotency/claim.js';
import type { AcceptanceOutcome } from '../ports/stores.js';
import type { Ports } from '../ports/ports.js';
import { pause } from '../waiting.js';
import type { AccountChange } from './account.js';
import {
  type AccountCommand,
  type AccountDecision,
  AccountDraft,
  type AccountRefusal,
  decideAccount,
  type DoneOperation,
  type HoldCommand,
  operationOf,
  type OwnedAccount,
} from './decide.js';

/** A generation that is to be accepted once its price is held, under the key that it was requested with. */
export interface Acceptance {
  readonly claim: Claim;
  readonly generation: Generation;
  /** Whether the claim is stored: it was taken over from another process, or an earlier try has stored it. */
  claimStands: boolean;
}

/** A refusal comes with the credits that could be reserved when it was decided. */
export type WriterOutcome =
  | { readonly refused: AccountRefusal; readonly availableCredits: number }
  | { readonly refused?: undefined };

/** The outcome of accepting a generation. */
export type AcceptedOutcome =
  | WriterOutcome
  /** Another request has claimed the key; nothing was held. */
  | { readonly refused?: undefined; readonly taken: Claim }
  /** The price is held, but the id of the generation has another record. */
  | { readonly refused?: undefined; readonly existing: GenerationRecord };

/**
 * How long a charge that releases nothing waits to be written with other commands of its account, in milliseconds, where
 * each write is a call to a server. Much less than recovery waits for an end to be settled.
 */
export const SETTLE_WAIT_MS = 250;

const MAX_TRIES = 12;
const MAX_IDLE_QUEUES = 10_000;

/**
 * All commands of this process on accounts go through here. While a write of an account is in progress, further
 * commands wait and are then combined into one write. Another process may write the same account: the version shows it,
 * and the batch is decided again on the newer state, a bounded number of times.
 *
 * Refuses with SERVICE_UNAVAILABLE when it lost that race too often. Throws `StoreUnavailable`: then the outcome is
 * unknown, and the same command may be given again. A command that may wait is written with the next one, or after
 * `waitMs`.
 */
export class AccountWriter {
  private readonly queues = new Map<string, AccountQueue>();

  constructor(
    private readonly ports: Pick<Ports, 'accounts' | 'acceptances' | 'clock'>,
    private readonly waitMs = 0,
  ) {}

  /** Throws a refusal that is not the account's own: SERVICE_UNAVAILABLE, and NOT_FOUND for an unknown account. */
  execute(accountId: string, command: AccountCommand, mayWait = false): Promise<WriterOutcome> {
    return new Promise((resolve, reject) => {
      const end: Pending['resolve'] = (outcome) =>
        outcome instanceof ServiceError ? reject(outcome) : resolve(outcome);
      this.give(accountId, { command, mayWait, resolve: end, reject });
    });
  }

  /**
   * Claims the key, holds the price and inserts the generation, in that order, together with what else waits for the
   * account. After a refusal nothing is stored but the claim, and that only where the acceptance's `claimStands` is true.
   */
  accept(command: HoldCommand, acceptance: Acceptance): Promise<AcceptedOutcome | ServiceError> {
    return new Promise((resolve, reject) => {
      this.give(acceptance.claim.accountId, { command, acceptance, resolve, reject });
    });
  }

  private give(accountId: string, pending: Pending): void {
    const queue = this.queues.get(accountId) ?? this.newQueue(accountId);
    queue.waiting.push(pending);
    if (!queue.busy) this.begin(accountId, queue);
  }

  /** Writes the waiting commands, or delays them if all of them may wait. */
  private begin(accountId: string, queue: AccountQueue): void {
    if (this.isUrgent(queue)) return void this.drain(accountId, queue);
    queue.cancelWait ??= this.ports.clock.after(this.waitMs, () => void this.drain(accountId, queue));
  }

  private isUrgent({ waiting }: AccountQueue): boolean {
    return this.waitMs === 0 || waiting.length >= MAX_BATCH || waiting.some(({ mayWait }) => mayWait !== true);
  }

  /** Adds a queue, in place of an idle one if there are too many. */
  private newQueue(accountId: string): AccountQueue {
    if (this.queues.size >= MAX_IDLE_QUEUES) {
      for (const [idle, queue] of this.queues) {
        if (queue.busy || queue.waiting.length > 0) continue;
        this.queues.delete(idle);
        break;
      }
    }
    const queue: AccountQueue = { waiting: [], busy: false, cached: undefined, cancelWait: undefined };
    this.queues.set(accountId, queue);
    return queue;
  }

  private async drain(accountId: string, queue: AccountQueue): Promise<void> {
    queue.busy = true;
    queue.cancelWait?.();
    queue.cancelWait = undefined;
    do {
      const batch = nextBatch(queue.waiting);
      try {
        const refusal = await this.commit(accountId, queue, batch);
        if (refusal === undefined) continue;
        queue.cached = undefined;
        for (const pending of batch) pending.resolve(refusal);
      } catch (error) {
        queue.cached = undefined;
        for (const pending of batch) pending.reject(error);
      }
    } while (queue.waiting.length > 0 && this.isUrgent(queue));
    queue.busy = false;
    if (queue.waiting.length > 0) this.begin(accountId, queue);
  }

  /** Resolves every command, or returns the reason why none could be written. */
  private async commit(
    accountId: string,
    queue: AccountQueue,
    all: readonly Pending[],
  ): Promise<ServiceError | undefined> {
    let batch = all;
    for (let tries = 0; tries < MAX_TRIES;) {
      if (tries > 1) await pause(this.ports.clock, tries * 5);
      const isFresh = queue.cached === undefined;
      const account = queue.cached ?? (await this.read(accountId));
      if (account === undefined) return new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
      queue.cached = account;

      const decided = await this.decide(account, batch, isFresh);
      if (decided === 'stale') {
        queue.cached = undefined;
        tries += 1;
        continue;
      }
      const { draft, outcomes, acceptances } = decided;
      if (draft.isEmpty) return answer(batch, outcomes);

      const written = await this.write(draft.change(), acceptances);
      if (written.outcome === 'accepted') {
        queue.cached = draft.written();
        resolveTwins(
          queue.waiting,
          acceptances.map(({ claim }) => claim),
        );
        const { existing } = written;
        return answer(batch, existing.length === 0 ? outcomes : withExisting(batch, outcomes, existing));
      }
      if (written.outcome === 'conflict') {
        queue.cached = undefined;
        tries += 1;
      } else {
        // No lost race: the state of the account is as good as before, and each round answers at least one.
        batch = withoutTaken(batch, written.taken);
        resolveTwins(queue.waiting, written.taken);
        if (batch.length === 0) return undefined;
      }
    }
    return busy('The account is being changed by too many processes at the same time; try again.');
  }

  /** With the claims and the generations of what the batch accepts. */
  private async write(change: AccountChange, acceptances: readonly Acceptance[]): Promise<AcceptanceOutcome> {
    if (acceptances.length === 0) {
      const outcome = await this.ports.accounts.apply(change);
      return outcome === 'applied' ? { outcome: 'accepted', existing: [] } : { outcome, claimsStand: false };
    }
    const claiming = acceptances.filter(({ claimStands }) => !claimStands);
    const outcome = await this.ports.acceptances.accept({
      claims: claiming.map(({ claim }) => claim),
      change,
      generations: acceptances.map(({ generation }) => generation),
    });
    if (outcome.outcome === 'accepted' || !outcome.claimsStand) return outcome;
    const taken = new Set(outcome.outcome === 'taken' ? outcome.taken.map(nameOf) : []);
    for (const one of claiming) one.claimStands = !taken.has(nameOf(one.claim));
    return outcome;
  }

  private async read(accountId: string): Promise<OwnedAccount | undefined> {
    const account = await this.ports.accounts.read(accountId);
    if (!account) return undefined;
    const { capUses, ...rest } = account;
    return {
      ...rest,
      holds: new Map(account.holds),
      ...(capUses === undefined ? {} : { capUses: new Map(capUses) }),
    };
  }

  /** A refusal, or "done before", may be wrong on a cached state that another process has moved on from. */
  private async decide(
    account: OwnedAccount,
    batch: readonly Pending[],
    isFresh: boolean,
  ): Promise<'stale' | { draft: AccountDraft; outcomes: Decided[]; acceptances: Acceptance[] }> {
    const now = this.ports.clock.now();
    const draft = new AccountDraft(account, await this.doneBefore(account.accountId, batch));
    const outcomes: Decided[] = [];
    const acceptances: Acceptance[] = [];
    for (const { command, acceptance } of batch) {
      let decision: AccountDecision | { readonly failed: unknown };
      try {
        decision = decideAccount(draft, command, now);
        // Taken for done, it would be answered without having been inserted.
        assert(acceptance === undefined || !('done' in decision), 'the id of a new generation has no hold yet');
      } catch (error) {
        decision = { failed: error };
      }
      // A command that writes may be decided on an old state: its write then fails.
      if (!isFresh && !('moves' in decision)) return 'stale';
      if ('moves' in decision) {
        draft.add(command, decision, now);
        if (acceptance !== undefined) acceptances.push(acceptance);
      }
      if ('failed' in decision) outcomes.push(decision);
      else outcomes.push('refused' in decision ? { refused: decision.refused, availableCredits: draft.available } : {});
    }
    return { draft, outcomes, acceptances };
  }

  /**
   * Finds operations already done under the ids of this batch. This is sound because the following write succeeds only
   * if no entry was added since the account was read.
   */
  private async doneBefore(accountId: string, batch: readonly Pending[]): Promise<Map<string, DoneOperation>> {
    const found = new Map<string, DoneOperation>();
    for (const { command } of batch) {
      if (!('operationId' in command)) continue;
      const entry = await this.ports.accounts.findOperation(accountId, command.operationId);
      if (entry) found.set(command.operationId, operationOf(entry));
    }
    return found;
  }
}

interface AccountQueue {
  waiting: Pending[];
  busy: boolean;
  cached: OwnedAccount | undefined;
  /** Ends the wait of commands that may wait. */
  cancelWait: (() => void) | undefined;
}

export interface Pending {
  readonly command: AccountCommand;
  /** Set for a hold that is written in one step with its claim and its generation. */
  readonly acceptance?: Acceptance;
  /** Whether the command may wait briefly, so that others are written with it. */
  readonly mayWait?: boolean;
  /** With a `ServiceError` where nothing was written for the command. */
  readonly resolve: (outcome: AcceptedOutcome | ServiceError) => void;
  readonly reject: (error: unknown) => void;
}

/** A command that breaks an invariant fails alone: those it would have been written with have nothing to do with it. */
export type Decided = AcceptedOutcome | { readonly failed: unknown };

function answer(batch: readonly Pending[], outcomes: readonly Decided[]): undefined {
  batch.forEach((pending, index) => {
    const outcome = outcomes[index] ?? {};
    if ('failed' in outcome) pending.reject(outcome.failed);
    else pending.resolve(outcome);
  });
}

const MAX_BATCH = 250;

/** Takes what waits, in order; of two that claim the same key the later one waits for the next batch, and finds it taken. */
function nextBatch(waiting: Pending[]): Pending[] {
  const batch = waiting.splice(0, MAX_BATCH);
  const names = new Set<string>();
  const twins = batch.filter(({ acceptance }) => {
    if (acceptance === undefined) return false;
    const name = nameOf(acceptance.claim);
    if (names.has(name)) return true;
    names.add(name);
    return false;
  });
  if (twins.length === 0) return batch;
  waiting.unshift(...twins);
  return batch.filter((pending) => !twins.includes(pending));
}

/**
 * Resolves all waiting commands whose keys others have claimed now, and removes them, because each would only find that
 * out in turn. A command whose own claim is stored keeps waiting.
 */
function resolveTwins(waiting: Pending[], claims: readonly Claim[]): void {
  if (claims.length === 0 || waiting.length === 0) return;
  const byKey = new Map(claims.map((claim) => [nameOf(claim), claim]));
  const others = waiting.splice(0).filter(({ acceptance, resolve }) => {
    const claim = acceptance === undefined || acceptance.claimStands ? undefined : byKey.get(nameOf(acceptance.claim));
    if (claim !== undefined) resolve({ taken: claim });
    return claim === undefined;
  });
  waiting.push(...others);
}

/** Resolves commands whose keys have other claims, and returns the rest, to be decided again without them. */
function withoutTaken(batch: readonly Pending[], taken: readonly Claim[]): Pending[] {
  const others = [...batch];
  resolveTwins(others, taken);
  assert(others.length < batch.length, 'a key that is taken is one that was to be claimed');
  return others;
}

/** The same outcomes, with the records that have the ids of generations. */
function withExisting(
  batch: readonly Pending[],
  outcomes: readonly Decided[],
  existing: readonly GenerationRecord[],
): readonly Decided[] {
  const byId = new Map(existing.map((record) => [record.generationId, record]));
  return outcomes.map((outcome, index) => {
    const { acceptance } = batch[index] as Pending;
    const record = acceptance && byId.get(acceptance.generation.generationId);
    return record === undefined ? outcome : { existing: record };
  });
}

/** A key among those of one account. */
function nameOf({ appId, operation, key }: Claim): string {
  return `${appId} ${operation} ${key}`;
}
