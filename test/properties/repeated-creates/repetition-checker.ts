import { expect } from 'chai';
import type { Boot } from '../../../core/boot.js';
import type { Caller } from '../../../core/access/credential.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import type { Matched } from '../../../core/generation/create-matched.js';
import { type Generation, isTerminal } from '../../../core/generation/generation.js';
import type { Fingerprint, SharedCreate } from '../../../core/idempotency/fingerprint.js';
import type { CoreHarness } from '../../harness/core-harness.js';

/** How long after its end an equal request gets an earlier generation. Written down again on purpose. */
const WINDOW_MS = 600_000;

/** Within this time the end of a connection is stored, in spite of the few faults of a history. */
const STORED_WITHIN_MS = 15_000;

/** For so long a process may count as alive that does not renew its lease. Written down again on purpose. */
const SILENT_MS = 2_000;

/** The process that serves a request. */
export interface Server {
  readonly boot: Boot;
  readonly isDead: boolean;
  readonly diedAt: number | undefined;
}

/** One request of a client, and what became of it. */
export interface SentRequest {
  readonly number: number;
  readonly caller: Caller;
  readonly content: string;
  readonly isRetry: boolean;
  /** Where the client sent one. */
  readonly idempotencyKey: string | undefined;
  readonly server: Server;
  /** The request that this one repeats. */
  readonly before: SentRequest | undefined;
  /** What it must be given one of, unless others take them in the meantime. */
  readonly free: readonly string[];
  /** What a request with the header must not buy beside. */
  readonly repeatable: readonly string[];
  readonly heardBefore: ReadonlySet<string>;
  /** Requests that may take something in the meantime. */
  readonly rivals: Set<SentRequest>;
  /** Whether it may buy: it repeats nothing, or what it repeats is not known to the service yet, or was heard. */
  readonly mayBuy: boolean;
  generationId: string | undefined;
  /** The key of its create. */
  key: string | undefined;
  isNew: boolean;
  /** Whether its create is decided, or was refused. */
  isDecided: boolean;
  /** Whether the connection is open, as the server sees it. */
  isOpen: boolean;
  /** When it was closed. */
  closedAt: number | undefined;
  /** Whether the client has an answer that it does not repeat. */
  isHeard: boolean;
  place: { leave(): void } | undefined;
}

/** What is known of a generation, from what clients and connections did. */
interface Known {
  readonly generationId: string;
  readonly content: string;
  deliveredAt: number | undefined;
  isFailure: boolean;
  isDeleted: boolean;
}

/**
 * A model of who has which generation: from connections alone, and from the stored record no more than whether the end of
 * a connection has arrived there yet.
 */
export class RepetitionChecker {
  private readonly requests: SentRequest[] = [];
  private readonly known = new Map<string, Known>();
  private readonly heardOutputs = new Map<string, number>();
  private deletedOutputs = 0;
  private made = 0;
  /** How often each rule was decisive, so that a history which proves nothing shows. */
  readonly tally = { requests: 0, taken: 0, repeated: 0, bought: 0, excused: 0, heard: 0 };

  constructor(private readonly harness: CoreHarness) {}

  async begin(
    made: Pick<SentRequest, 'caller' | 'content' | 'isRetry' | 'idempotencyKey' | 'server' | 'before'>,
  ): Promise<SentRequest> {
    this.tally.requests += 1;
    const stored = await this.storedOf(made.content);
    const record = await this.recordOf(made.caller, made.content);
    const free = stored.filter((g) => this.isFree(g, record)).map(({ generationId }) => generationId);
    const repeatable = made.isRetry
      ? stored.filter((g) => this.isRepeatable(g, record)).map((g) => g.generationId)
      : [];
    const heardBefore = new Set(
      [...this.known.values()]
        .filter((one) => one.deliveredAt !== undefined && this.isStored(one, record))
        .map((one) => one.generationId),
    );
    const rivals = this.requests.filter(
      (one) => one.content === made.content && !isKeyed(one) && !one.isDecided && !one.server.isDead,
    );
    const sent: SentRequest = {
      ...made,
      number: this.requests.length,
      free,
      repeatable,
      heardBefore,
      rivals: new Set(rivals),
      mayBuy: made.before === undefined || this.isOverOrUnknown(made.before, made.isRetry, record),
      generationId: undefined,
      key: undefined,
      isNew: false,
      isDecided: false,
      isOpen: true,
      closedAt: undefined,
      isHeard: false,
      place: undefined,
    };
    for (const rival of rivals) rival.rivals.add(sent);
    this.requests.push(sent);
    return sent;
  }

  /** A generation was given to a request. */
  async given(sent: SentRequest, { generation, replayed, place }: Matched): Promise<void> {
    const { generationId } = generation;
    sent.isDecided = true;
    sent.generationId = generationId;
    sent.key = place?.key.key;
    sent.isNew = !replayed;
    const known = this.noted(generation, sent.content);
    const about = `request ${sent.number}${sent.isRetry ? ' with the header' : ''} for ${sent.content}`;
    expect(generation.prompt, `the generation of ${about}`).to.equal(sent.content);
    if (isKeyed(sent)) return this.expectKeyed(sent, about);
    if (sent.isNew) {
      this.tally.bought += 1;
      const taken = [...sent.rivals].filter(({ isNew }) => !isNew).length;
      const left = sent.free.filter((id) => this.isStillFree(id, sent));
      if (left.length > 0) expect(left.length, `${about} bought, and nobody has ${left.join()}`).to.be.at.most(taken);
      // It may share the place of a request that has not created yet, or that ended before its create.
      if (sent.isRetry && place?.isNew === true && sent.repeatable.every((id) => this.isStillGiven(id)))
        expect(sent.repeatable, `${about} bought`).to.deep.equal([]);
      return;
    }
    this.tally[sent.isRetry ? 'repeated' : 'taken'] += 1;
    expect(known.isDeleted && this.wasDeletedBefore(sent, known), `${about} got a deleted one`).to.equal(false);
    if (known.isFailure)
      expect(sent.heardBefore.has(generationId), `${about} got a failure that was heard`).to.equal(false);
    if (sent.isRetry) return;
    expect(sent.heardBefore.has(generationId), `${about} got what somebody has`).to.equal(false);
    const others = this.openFor(generationId).filter((one) => one !== sent && !one.isRetry && !isKeyed(one));
    expect(
      others.map(({ number }) => number),
      `${about} got what others wait for`,
    ).to.deep.equal([]);
  }

  refused(sent: SentRequest, error: unknown, expected: string | undefined): void {
    sent.isDecided = true;
    sent.isOpen = false;
    if (error instanceof StoreUnavailable) return;
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'SERVICE_UNAVAILABLE' || error.code === 'IDEMPOTENCY_IN_PROGRESS') return;
    expect(this.refusalsOf(sent, expected), `request ${sent.number} for ${sent.content}`).to.include(error.code);
  }

  private refusalsOf(sent: SentRequest, expected: string | undefined): (string | undefined)[] {
    if (!isKeyed(sent)) return [expected];
    const isForOther = this.requests.some((one) => isEqualKey(one, sent) && one.content !== sent.content);
    return [
      expected,
      ...(isForOther ? ['IDEMPOTENCY_PAYLOAD_MISMATCH'] : []),
      ...(this.deletedBefore.size > 0 ? ['IDEMPOTENCY_REPLAY_EXPIRED'] : []),
    ];
  }

  delivered({ generationId = '' }: SentRequest, isFailure: boolean): void {
    const known = this.known.get(generationId);
    if (known === undefined) return;
    known.deliveredAt = this.harness.clock.now();
    known.isFailure = isFailure;
  }

  heard({ generationId, outputs }: Generation): void {
    this.tally.heard += 1;
    this.heardOutputs.set(generationId, outputs.length);
  }

  deleted(generation: Generation): void {
    const known = this.noted(generation, generation.prompt ?? '');
    known.isDeleted = true;
    this.deletedBefore.set(generation.generationId, this.requests.length);
    this.deletedOutputs += generation.outputs.length;
  }

  isDeleted(generationId: string): boolean {
    return this.known.get(generationId)?.isDeleted === true;
  }

  madeOutputs(stored: number): number {
    return stored + this.deletedOutputs;
  }

  /** Every purchase has somebody who wanted it, and nobody has more than was charged. */
  expectCounts(stored: readonly Generation[]): void {
    for (const content of new Set(this.requests.map((one) => one.content))) {
      const asked = this.requests.filter((one) => one.content === content && !isKeyed(one));
      const keys = new Set(
        this.requests.filter((one) => one.content === content && isKeyed(one)).map((one) => one.idempotencyKey),
      );
      const gone = [...this.known.values()].filter((one) => one.content === content && one.isDeleted);
      const made = new Set([
        ...stored.filter(({ prompt }) => prompt === content).map(({ generationId }) => generationId),
        ...gone.map(({ generationId }) => generationId),
      ]);
      this.made += made.size;
      const allowed = asked.filter(({ mayBuy }) => mayBuy).length + keys.size + gone.length;
      expect(made.size, `generations of ${content}`).to.be.at.most(allowed);
    }
    const charged = new Map(stored.map(({ generationId, chargedCredits }) => [generationId, chargedCredits]));
    for (const [id, outputs] of this.heardOutputs)
      if (!this.isDeleted(id)) expect(charged.get(id), `charged for ${id}`).to.equal(10 * outputs);
  }

  /** How many generations there were, with those that were deleted. */
  get generationCount(): number {
    return this.made;
  }

  async recordOf({ credentialId }: Caller, content: string): Promise<Fingerprint | null> {
    const { digests, fingerprints } = this.harness.ports;
    return fingerprints.read(digests.ofJson({ credentialId, content: { content } }));
  }

  private readonly deletedBefore = new Map<string, number>();

  private wasDeletedBefore({ number }: SentRequest, { generationId }: Known): boolean {
    return (this.deletedBefore.get(generationId) ?? Infinity) <= number;
  }

  private noted({ generationId }: Generation, content: string): Known {
    const known = this.known.get(generationId) ?? {
      generationId,
      content,
      deliveredAt: undefined,
      isFailure: false,
      isDeleted: false,
    };
    this.known.set(generationId, known);
    return known;
  }

  private async storedOf(content: string): Promise<readonly Generation[]> {
    const keyed = new Set(this.requests.flatMap((one) => (isKeyed(one) ? [one.generationId] : [])));
    const isUncertain = this.requests.some(
      (one) => isKeyed(one) && one.content === content && one.generationId === undefined,
    );
    const all = await this.harness.generations();
    return isUncertain ? [] : all.filter((g) => g.prompt === content && !keyed.has(g.generationId));
  }

  /** Whether nobody has it and nobody waits for it, which the stores know too. */
  private isFree(g: Generation, record: Fingerprint | null): boolean {
    return (
      !this.isDeleted(g.generationId) &&
      this.known.get(g.generationId)?.deliveredAt === undefined &&
      this.openFor(g.generationId).length === 0 &&
      this.isWithinWindow(g) &&
      this.hasNoWaitOfLiving(g.generationId, record) &&
      !this.requests.some((one) => one.generationId === g.generationId && this.mayCountAsAlive(one.server))
    );
  }

  private isRepeatable(g: Generation, record: Fingerprint | null): boolean {
    if (this.isDeleted(g.generationId)) return false;
    const known = this.known.get(g.generationId);
    if (this.openFor(g.generationId).some((one) => this.hasWait(one.server, g.generationId, record))) return true;
    if (known?.deliveredAt === undefined || known.isFailure || !this.isWithinWindow(g)) return false;
    const delivered = [...this.known.values()].filter(
      (one) => one.content === known.content && one.deliveredAt !== undefined && !one.isFailure,
    );
    // Which one was the last is decided by the clocks of processes; if that one was deleted, a new one is bought.
    if (delivered.some(({ isDeleted }) => isDeleted)) return false;
    return this.isStored(known, record);
  }

  private isStillFree(generationId: string, sent: SentRequest): boolean {
    const known = this.known.get(generationId);
    return (
      !this.isDeleted(generationId) &&
      known?.deliveredAt === undefined &&
      !this.requests.some((one) => one !== sent && one.generationId === generationId && sent.rivals.has(one))
    );
  }

  /** Who waited for it may have heard a failure in the meantime. */
  private isStillGiven(generationId: string): boolean {
    return !this.isDeleted(generationId) && this.known.get(generationId)?.isFailure !== true;
  }

  private isWithinWindow(g: Generation): boolean {
    // The clocks of processes differ by up to 20 seconds here.
    return !isTerminal(g.status) || this.harness.clock.now() - (g.completedAt ?? 0) < WINDOW_MS - 60_000;
  }

  private openFor(generationId: string): SentRequest[] {
    return this.requests.filter((one) => one.generationId === generationId && one.isOpen && !one.server.isDead);
  }

  /** A process that died may have been seen alive a moment ago, by others. */
  private mayCountAsAlive({ diedAt, boot }: Server): boolean {
    return diedAt !== undefined && !boot.isExclusive && this.harness.clock.now() - diedAt < SILENT_MS;
  }

  /** Whether no process that lives has its wait in the record: the end of a connection takes a while to arrive there. */
  private hasNoWaitOfLiving(generationId: string, record: Fingerprint | null): boolean {
    const servers = new Set(this.requests.map(({ server }) => server));
    return [...servers].every((server) => server.isDead || !this.hasWait(server, generationId, record));
  }

  private hasWait(server: Server, generationId: string, record: Fingerprint | null): boolean {
    const waits = createOf(record, this.keyOf(generationId))?.waits ?? [];
    return waits.some(({ bootId }) => bootId === server.boot.id) && this.mayWaitAt(server, generationId);
  }

  /** Whether a request has the generation there, or has closed so recently that the stores may not know it yet. */
  private mayWaitAt(server: Server, generationId: string): boolean {
    const now = this.harness.clock.now();
    return this.requests.some(
      (one) =>
        one.server === server &&
        one.generationId === generationId &&
        (one.isOpen || now - (one.closedAt ?? 0) < STORED_WITHIN_MS),
    );
  }

  /** Whether the record shows that it was delivered, or has forgotten it for one that was delivered later. */
  private isStored({ generationId }: Known, record: Fingerprint | null): boolean {
    const create = createOf(record, this.keyOf(generationId));
    return create === undefined || create.deliveredAt !== undefined;
  }

  /** Nobody knows the key of one whose process died before its answer. */
  private keyOf(generationId: string): string | undefined {
    return this.requests.find((one) => one.generationId === generationId && one.key !== undefined)?.key;
  }

  private isOverOrUnknown(before: SentRequest, isRetry: boolean, record: Fingerprint | null): boolean {
    const { generationId, server } = before;
    if (!before.isDecided && !server.isDead) return this.excused();
    if (generationId === undefined) return !server.isDead || this.excused();
    const known = this.known.get(generationId);
    if (known === undefined || known.isDeleted || known.isFailure) return true;
    // With the header it is given again, unless it takes the place of another one, which then has to buy.
    if (known.deliveredAt !== undefined) return true;
    if (this.hasWait(server, generationId, record) && !server.isDead) return !isRetry || this.excused();
    return false;
  }

  private excused(): true {
    this.tally.excused += 1;
    return true;
  }

  private expectKeyed(sent: SentRequest, about: string): void {
    const same = this.requests.filter((one) => isEqualKey(one, sent) && one.generationId !== undefined);
    expect(
      new Set(same.map(({ generationId }) => generationId)).size,
      `the generations of the key of ${about}`,
    ).to.equal(1);
  }
}

function isKeyed({ idempotencyKey }: SentRequest): boolean {
  return idempotencyKey !== undefined;
}

function isEqualKey(one: SentRequest, other: SentRequest): boolean {
  return isKeyed(one) && one.idempotencyKey === other.idempotencyKey && one.caller === other.caller;
}

function createOf(record: Fingerprint | null, key: string | undefined): SharedCreate | undefined {
  return record?.creates.find((create) => create.key === key);
}
