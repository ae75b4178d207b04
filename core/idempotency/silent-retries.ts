import type { Boot } from '../boot.js';
import { busy } from '../errors.js';
import { endsBy, type Generation, isTerminal } from '../generation/generation.js';
import type { Ports } from '../ports/ports.js';
import { backoffMs, type Settings } from '../settings.js';
import { pause } from '../waiting.js';
import type { ClaimKey } from './claim.js';
import {
  type Answered,
  type Change,
  change,
  type CreateState,
  type Facts,
  type Fingerprint,
  isUnheard,
  lastDelivered,
  MATCH_AFTER_END_MS,
  pruned,
  removeAtOf,
  type SharedCreate,
  type Wait,
} from './fingerprint.js';
import { ProcessLeases } from './process-leases.js';

/** A request that may be a silent repetition of an earlier one. */
export interface RepeatableRequest {
  readonly accountId: string;
  readonly appId: string;
  /** Digest of the credential and of all that the request consists of: 64 hexadecimal digits. */
  readonly fingerprint: string;
  /** Whether the client says that it repeats a request. */
  readonly isRetry: boolean;
}

/** The place of a request among those that wait for one create. Exactly one of its methods is to be called, once. */
export interface Place {
  /** The idempotency key of the create. */
  readonly key: ClaimKey;
  /** Whether no earlier request had this create. */
  readonly isNew: boolean;
  /** The whole answer was written, of the generation as it is given. */
  deliver(generation: Generation): void;
  /** The client did not get the whole answer: the next equal request is given the same create. */
  leave(): void;
  /** The request was refused before its create. */
  withdraw(): void;
}

type Parts = Pick<Ports, 'fingerprints' | 'claims' | 'generations' | 'clock' | 'ids'> & {
  readonly settings: Settings;
  readonly boot: Boot;
};

const MAX_TRIES = 12;
/** Internal keys contain a space, which no client's key can. */
const KEY_PREFIX = 'silent ';

/**
 * Finds out whether a request repeats an earlier one, so that a client that repeats it silently does not buy twice. All
 * changes that this process makes to one record go through one queue, and are combined into one conditional write.
 */
export class SilentRetries {
  private readonly queues = new Map<string, Queue>();
  private readonly leases: ProcessLeases;
  private waits = 0;

  constructor(private readonly parts: Parts) {
    this.leases = new ProcessLeases(parts);
  }

  /**
   * Decides which create the request is for: an earlier one or a new one. Durable on return. Throws `StoreUnavailable`,
   * and SERVICE_UNAVAILABLE when other processes change the record too often.
   */
  async begin({ accountId, appId, fingerprint, isRetry }: RepeatableRequest): Promise<Place> {
    const { boot, ids } = this.parts;
    this.waits += 1;
    const wait: Wait = { bootId: boot.id, number: this.waits };
    const newKey = KEY_PREFIX + ids.uuid();
    const endLease = await this.leases.hold();
    const owner = { accountId, appId, fingerprint };
    try {
      const key = (await this.give(owner, { kind: 'begin', wait, isRetry, key: newKey })) ?? newKey;
      return new HeldPlace(this, owner, wait, key, key === newKey, endLease);
    } catch (error) {
      // It may be stored all the same, now or later: another version of the record precludes that.
      void this.finish(owner, { kind: 'withdraw', wait, key: newKey }, endLease, true);
      throw error;
    }
  }

  /** Stores the end of a wait, now or when the store is available again. */
  async finish(owner: Owner, made: Change, endLease: () => void, isForced = false): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.give(owner, made, isForced);
        return endLease();
      } catch {
        await pause(this.parts.clock, backoffMs(this.parts.settings, tries));
      }
    }
  }

  private give(owner: Owner, made: Change, isForced = false): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const queue: Queue = this.queues.get(owner.fingerprint) ?? { waiting: [], isBusy: false, known: undefined };
      this.queues.set(owner.fingerprint, queue);
      queue.waiting.push({ made, isForced, resolve, reject });
      if (!queue.isBusy) void this.drain(owner, queue);
    });
  }

  private async drain(owner: Owner, queue: Queue): Promise<void> {
    queue.isBusy = true;
    while (queue.waiting.length > 0) {
      const batch = queue.waiting;
      // A new array: one that was emptied keeps its room.
      queue.waiting = [];
      try {
        const keys = await this.commit(owner, queue, batch);
        batch.forEach((pending, index) => pending.resolve(keys[index]));
      } catch (error) {
        queue.known = undefined;
        for (const pending of batch) pending.reject(error);
      }
    }
    queue.isBusy = false;
    // Kept while requests of this process wait, so that the ends of their waits need no read.
    const isWaitedFor = queue.known?.creates.some(({ waits }) => waits.some((wait) => this.isOwn(wait))) ?? false;
    if (!isWaitedFor) this.queues.delete(owner.fingerprint);
  }

  private async commit(owner: Owner, queue: Queue, batch: readonly Pending[]): Promise<(string | undefined)[]> {
    const { fingerprints } = this.parts;
    // Most fingerprints are new, so that the first try of a request that begins is an insertion.
    const isBegun = batch.some(({ made }) => made.kind === 'begin');
    let record: Fingerprint | null = queue.known ?? (isBegun ? null : await fingerprints.read(owner.fingerprint));
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { next, keys } = await this.decide(owner, record, batch);
      if (next === null || next === record) return keys;
      if ((await fingerprints.replace(next, record?.version ?? 0)) === 'applied') {
        queue.known = next;
        return keys;
      }
      record = await fingerprints.read(owner.fingerprint);
    }
    throw busy('Equal requests change the record of this one too often; try again.');
  }

  private async decide(
    { accountId, appId, fingerprint }: Owner,
    record: Fingerprint | null,
    batch: readonly Pending[],
  ): Promise<{ next: Fingerprint | null; keys: (string | undefined)[] }> {
    const { clock, settings, ids } = this.parts;
    const stored = record?.creates ?? [];
    const facts = await this.factsOf({ accountId, appId }, stored, batch);
    const keys: (string | undefined)[] = [];
    let creates = pruned(stored, facts);
    for (const { made } of batch) {
      const changed = change(creates, made, facts);
      ({ creates } = changed);
      keys.push(changed.key);
    }
    creates = pruned(creates, facts);
    const isSame = creates.length === stored.length && creates.every((one, index) => one === stored[index]);
    if (isSame && !batch.some(({ isForced }) => isForced)) return { next: record, keys };
    const version = record === null ? ids.random(6).reduce((sum, byte) => sum * 256 + byte, 0) + 1 : record.version + 1;
    const removeAt = removeAtOf(creates, clock.now(), settings);
    return { next: { fingerprint, accountId, version, creates, removeAt }, keys };
  }

  /** Looks up what the changes depend on: which processes are alive, and what has become of the creates. */
  private async factsOf(
    owner: Omit<Owner, 'fingerprint'>,
    creates: readonly SharedCreate[],
    batch: readonly Pending[],
  ): Promise<Facts> {
    const { clock } = this.parts;
    const begins = batch.flatMap(({ made }) => (made.kind === 'begin' ? [made] : []));
    const withdrawn = new Set(batch.flatMap(({ made }) => (made.kind === 'withdraw' ? [made.key] : [])));
    // Only a request that begins asks which processes are alive, since that may take a while.
    const boots = new Set(begins.length === 0 ? [] : creates.flatMap(({ waits }) => waits.map(({ bootId }) => bootId)));
    const alive = new Set<string>();
    await Promise.all([...boots].map(async (id) => void ((await this.leases.isAlive(id)) && alive.add(id))));
    // A wait that begins in this batch is of this process.
    const isAlive = (wait: Wait): boolean => begins.length === 0 || this.isOwn(wait) || alive.has(wait.bootId);
    const states = new Map<string, CreateState>();
    const last = begins.some(({ isRetry }) => isRetry) ? lastDelivered(creates) : undefined;
    const asked = creates.filter(
      (create) => create === last || (begins.length > 0 && isUnheard(create, { isAlive })) || withdrawn.has(create.key),
    );
    await Promise.all(asked.map(async ({ key }) => states.set(key, await this.stateOf(keyOf(owner, key)))));
    return { now: clock.now(), isAlive, stateOf: ({ key }) => states.get(key) ?? 'open' };
  }

  private async stateOf(key: ClaimKey): Promise<CreateState> {
    const { claims, generations, clock } = this.parts;
    const claim = await claims.read(key);
    if (claim === null) return 'none';
    const record = await generations.read(claim.subjectId);
    if (record === null) return 'begun';
    if (record.kind === 'void') return 'none';
    if (record.kind !== 'generation' || record.deletedAt !== undefined) return 'over';
    if (!isTerminal(record.status)) return 'open';
    if (clock.now() - (record.completedAt ?? record.updatedAt) > MATCH_AFTER_END_MS) return 'over';
    return record.status === 'succeeded' ? 'succeeded' : 'failed';
  }

  private isOwn({ bootId }: Wait): boolean {
    return bootId === this.parts.boot.id;
  }
}

/** Its methods are not closures, which take three times the memory: a request holds its place while it waits. */
class HeldPlace implements Place {
  constructor(
    private readonly retries: Pick<SilentRetries, 'finish'>,
    private readonly owner: Owner,
    private readonly wait: Wait,
    private readonly createKey: string,
    readonly isNew: boolean,
    private readonly endLease: () => void,
  ) {}

  get key(): ClaimKey {
    return keyOf(this.owner, this.createKey);
  }

  deliver(generation: Generation): void {
    this.finish({ kind: 'deliver', wait: this.wait, key: this.createKey, ...answeredOf(generation) });
  }

  leave(): void {
    this.finish({ kind: 'leave', wait: this.wait });
  }

  withdraw(): void {
    this.finish({ kind: 'withdraw', wait: this.wait, ...(this.isNew ? { key: this.createKey } : {}) });
  }

  private finish(made: Change): void {
    void this.retries.finish(this.owner, made, this.endLease);
  }
}

type Owner = Omit<RepeatableRequest, 'isRetry'>;

interface Pending {
  readonly made: Change;
  /** Whether the record is written even where nothing changes in it. */
  readonly isForced: boolean;
  readonly resolve: (key: string | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface Queue {
  waiting: Pending[];
  isBusy: boolean;
  /** The record as this process has written it last. */
  known: Fingerprint | undefined;
}

function keyOf({ accountId, appId }: Omit<Owner, 'fingerprint'>, key: string): ClaimKey {
  return { accountId, appId, operation: 'create-compatible', key };
}

function answeredOf(generation: Generation): Answered {
  if (!isTerminal(generation.status)) return { isFailure: false, endsBy: endsBy(generation) };
  return { isFailure: generation.status !== 'succeeded' };
}
