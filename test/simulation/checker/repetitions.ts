import type { ErrorCode } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Fingerprint, SharedCreate } from '../../../core/idempotency/fingerprint.js';
import { canonical, textOf } from '../../history/values.js';
import { type Asked, type CompatibleCreate, type Premises, violation } from '../observed.js';
import type { Handlers } from './calls.js';
import type { Claims } from './claims.js';
import type { GenerationListener, Generations } from './generations.js';
import { isOfService } from './keys.js';
import { MAX_SKEW_MS } from './process-clocks.js';

/** How long after its end an equal request is given an earlier generation. Written down again on purpose. */
const WINDOW_MS = 600_000;
/** Without faults the end of a connection is stored within this time. */
const STORED_WITHIN_MS = 15_000;
/** A process that has renewed its lease so late may be taken for dead, which takes five seconds. */
const SILENT_FOR_MS = 3_500;
const LEASE_MS = 5_000;
/** For so long a process may count as alive that no longer renews its lease. */
const ALIVE_FOR_MS = 2_000;

/** Refusals of the create itself; others have nothing to do with what was asked for before. */
const OF_CREATES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CREDITS_INSUFFICIENT', 'QUEUE_FULL', 'FIELD_INVALID']);
/** After these a generation may exist, or come to be. */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
  'IDEMPOTENCY_IN_PROGRESS',
]);

/** The process that serves a request. */
interface Server {
  readonly isAlive: boolean;
  readonly context: { readonly boot: { readonly id: string } };
}

/** A create over `/v1` without a key that has arrived at a process, and what became of it. */
export interface SentRequest {
  readonly number: number;
  readonly fingerprint: string;
  /** A text of what is asked for, and with which credential. */
  readonly wanted: string;
  readonly isRetry: boolean;
  readonly server: Server;
  readonly arrivedAt: number;
  readonly record: Fingerprint | null;
  /** It must be given one of these, unless others take them in the meantime. */
  readonly free: readonly Bought[];
  /** A request with the header must not buy beside them. */
  readonly repeatable: readonly Bought[];
  /** Somebody has these, which the stores know. */
  readonly delivered: ReadonlySet<Bought>;
  readonly deleted: ReadonlySet<Bought>;
  /** How many creates on record have no generation. */
  readonly unbegun: number;
  /** Equal requests that are decided in the meantime. */
  readonly rivals: Set<SentRequest>;
  bought: Bought | undefined;
  isNew: boolean;
  /** Whether it has a generation or was refused. */
  isDecided: boolean;
  /** Whether it ended without anybody knowing what was created. */
  isUnclear: boolean;
  /** When the process saw its connection end; absent while it is open. */
  closedAt: number | undefined;
}

/** A generation that was created without a client's key, and who has it, from what connections did. */
interface Bought {
  readonly generationId: string;
  readonly key: string;
  /** When its create was put on record, by the clock of that process. */
  readonly begunAt: number;
  isDelivered: boolean;
  isFailure: boolean;
}

interface Given {
  readonly generationId: string;
  /** Whether this request has created it. */
  readonly isNew: boolean;
  /** Whether no earlier request had its create. */
  readonly hasOwnPlace: boolean;
}

interface Arrival {
  readonly process: Server;
  readonly fingerprint: string;
  readonly at: number;
}

/**
 * Invariant 11 for creates over `/v1` without a key: an equal request gets what nobody has and nobody waits for, and buys
 * otherwise. It is judged by connections alone, and by the stored record no more than whether the end of a connection has
 * arrived there yet. The checks of charges prove that nobody receives more than was paid for.
 */
export class Repetitions implements GenerationListener {
  private readonly requests = new Map<string, SentRequest[]>();
  private readonly bought = new Map<string, Bought[]>();
  /** When each create was put on record, by the clock of its process and by its key. */
  private readonly begunAt = new Map<string, number>();
  /** When each boot has renewed its lease, and when an older renewal took the place of a newer one. */
  private readonly renewed = new Map<string, { readonly at: number[]; readonly staleAt: number[]; newest: number }>();
  private quietAt = Infinity;

  constructor(
    private readonly premises: Pick<Premises, 'durable' | 'settings' | 'isExclusive'>,
    private readonly claims: Claims,
    private readonly generations: Generations,
  ) {}

  readonly handlers: Handlers = {
    'fingerprints.replace': ({ args: [{ creates }], result }) => {
      if (result === 'applied') for (const { key, createdAt } of creates) this.begunAt.set(key, createdAt);
    },
    'fingerprints.renewLease': ({ args: [{ bootId, renewals }], at }) => {
      const known = this.renewed.get(bootId) ?? { at: [], staleAt: [], newest: 0 };
      this.renewed.set(bootId, known);
      (renewals < known.newest ? known.staleAt : known.at).push(at);
      known.newest = Math.max(known.newest, renewals);
    },
  };

  quiet(at: number): void {
    this.quietAt = at;
  }

  inserted({ generationId, credentialId = '', prompt }: Generation): void {
    const key = this.claims.keyOfGeneration(generationId);
    if (key === undefined || !isOfService(key)) return;
    const wanted = wantedBy(credentialId, prompt);
    const begunAt = this.begunAt.get(key.key);
    if (begunAt === undefined)
      throw violation`11: generation ${generationId} was created for no create on record, under ${key.key}`;
    const bought: Bought = { generationId, key: key.key, begunAt, isDelivered: false, isFailure: false };
    this.bought.set(wanted, [...(this.bought.get(wanted) ?? []), bought]);
  }

  /** A request arrives at a process. */
  async begin(
    { number, party }: Asked,
    { body, isRetry }: CompatibleCreate,
    { process: server, fingerprint, at }: Arrival,
  ): Promise<SentRequest> {
    const wanted = wantedBy(party?.keyId ?? '', body['prompt']);
    const record = await this.premises.durable.fingerprints.read(fingerprint);
    const all = this.boughtOf(wanted);
    const equal = this.requestsOf(wanted);
    const sent: SentRequest = {
      number,
      fingerprint,
      wanted,
      isRetry,
      server,
      arrivedAt: at,
      record,
      free: all.filter((one) => this.isFree(one, wanted, record, at)),
      repeatable: isRetry ? this.repeatable(wanted, record, at) : [],
      delivered: new Set(all.filter((one) => one.isDelivered && isStored(one, record))),
      deleted: new Set(all.filter((one) => this.isDeleted(one))),
      unbegun: record?.creates.filter(({ key }) => !all.some((one) => one.key === key)).length ?? 0,
      rivals: new Set(equal.filter((one) => !one.isDecided && one.server.isAlive)),
      bought: undefined,
      isNew: false,
      isDecided: false,
      isUnclear: false,
      closedAt: undefined,
    };
    for (const rival of sent.rivals) rival.rivals.add(sent);
    this.requests.set(wanted, [...equal, sent]);
    return sent;
  }

  /** The process has decided which generation the request is for. */
  given(sent: SentRequest, { generationId, isNew, hasOwnPlace }: Given, at: number): void {
    const bought = this.boughtOf(sent.wanted).find((one) => one.generationId === generationId);
    if (bought === undefined)
      throw violation`11: request ${sent.number} was given generation ${generationId}, which is not what it asks for`;
    Object.assign(sent, { bought, isNew, isDecided: true });
    if (isNew) this.requireNoneFree(sent, `bought generation ${generationId}`, at, hasOwnPlace);
    else this.requireFree(sent, bought, at);
  }

  refused(sent: SentRequest, code: ErrorCode, at: number): void {
    Object.assign(sent, { isDecided: true, isUnclear: UNDECIDED.has(code), closedAt: at });
    const hasOwnPlace = sent.unbegun === 0 && sent.rivals.size === 0;
    if (OF_CREATES.has(code)) this.requireNoneFree(sent, `was refused with ${code}`, at, hasOwnPlace);
    if (code === 'IDEMPOTENCY_PAYLOAD_MISMATCH')
      throw violation`11: request ${sent.number} was refused as another one than its key was used with, and has no key`;
    const wasDeleted = this.boughtOf(sent.wanted).some((one) => this.isDeleted(one) && !sent.deleted.has(one));
    if (code === 'IDEMPOTENCY_REPLAY_EXPIRED' && !wasDeleted)
      throw violation`11: request ${sent.number} was refused for a deleted generation, and none was deleted meanwhile`;
  }

  /** The whole answer was written. */
  delivered(sent: SentRequest, isFailure: boolean, at: number): void {
    sent.closedAt = at;
    if (sent.bought) Object.assign(sent.bought, { isDelivered: true, isFailure });
  }

  /** The connection ended before the whole answer was written. */
  left(sent: SentRequest, at: number): void {
    sent.closedAt = at;
  }

  /** Every purchase has a request that wanted it; no wait is left, and no create that was refused. */
  async atRest(): Promise<void> {
    for (const [wanted, requests] of this.requests) {
      const unclear = requests.filter((one) => one.isUnclear || !one.isDecided);
      const all = this.boughtOf(wanted);
      const buyers = requests.filter(({ isNew }) => isNew).length + unclear.length;
      if (all.length > buyers)
        throw violation`11: ${all.length} generations were bought by ${buyers} requests for ${wanted}`;
      const [{ fingerprint }] = requests as [SentRequest];
      const record = await this.premises.durable.fingerprints.read(fingerprint);
      for (const create of record?.creates ?? []) {
        const isWaitedFor = create.waits.some(({ bootId }) => this.isIdle(bootId, requests));
        if (isWaitedFor) throw violation`11: at rest a request for ${wanted} is on record as waiting, and none waits`;
        // One that several requests had in common is kept for the next.
        const isOfRefused =
          unclear.length === 0 &&
          requests.filter(({ bought }) => bought === undefined).length === 1 &&
          !all.some(({ key }) => key === create.key) &&
          requests.every(({ server }) => server.isAlive);
        if (isOfRefused) throw violation`11: at rest a create for ${wanted} is on record, and was refused`;
      }
    }
  }

  /** Whether this boot is alive, and none of the requests is open there. */
  private isIdle(bootId: string, requests: readonly SentRequest[]): boolean {
    const there = requests.filter(({ server }) => server.context.boot.id === bootId);
    return there.some(({ server }) => server.isAlive) && !there.some(isOpen);
  }

  private requireNoneFree(sent: SentRequest, what: string, at: number, hasOwnPlace: boolean): void {
    const rivals = [...sent.rivals];
    const left = sent.free.filter(
      (one) =>
        !one.isDelivered &&
        this.isMatched(one, at) &&
        !rivals.some(({ bought }) => bought === one) &&
        !this.maySeemWaitedFor(one, sent, at),
    );
    const taken = rivals.filter(({ isNew }) => !isNew).length;
    if (left.length > taken)
      throw violation`11: request ${sent.number} ${what}, and nobody has ${left.map(({ generationId }) => generationId).join()}`;
    // It may share the place of a request that has not created yet, or that ended before its create.
    if (!sent.isRetry || !hasOwnPlace) return;
    const [repeatable] = sent.repeatable;
    if (repeatable && sent.repeatable.every((one) => this.isRepeatable(one, at)))
      throw violation`11: request ${sent.number}, which says that it is repeated, ${what} beside ${repeatable.generationId}`;
  }

  private requireFree(sent: SentRequest, bought: Bought, at: number): void {
    const what = `request ${sent.number} was given generation ${bought.generationId}`;
    if (sent.deleted.has(bought)) throw violation`11: ${what}, which was deleted before`;
    const isDelivered = sent.delivered.has(bought);
    if (isDelivered && bought.isFailure) throw violation`11: ${what}, whose failure somebody has`;
    if (sent.isRetry) return;
    if (isDelivered) throw violation`11: ${what}, which somebody has`;
    // So long it may have looked at leases in vain, or have slept.
    if (sent.arrivedAt < this.quietAt && at - sent.arrivedAt >= LEASE_MS) return;
    const other = this.requestsOf(sent.wanted).find(
      (one) => one !== sent && one.bought === bought && isOpen(one) && !one.isRetry && !this.mayHaveSeemedDead(one, at),
    );
    if (other) throw violation`11: ${what}, which request ${other.number} waits for`;
  }

  /** Whether nobody has it and nobody waits for it, which the stores know too. */
  private isFree(one: Bought, wanted: string, record: Fingerprint | null, at: number): boolean {
    const isOpenFor = this.requestsOf(wanted).some((request) => request.bought === one && isOpen(request));
    return !one.isDelivered && !isOpenFor && this.isMatched(one, at) && !this.hasWaitOfLiving(one, wanted, record, at);
  }

  /** Those that somebody waits for or has received. The clocks that decide which one was delivered last differ. */
  private repeatable(wanted: string, record: Fingerprint | null, at: number): readonly Bought[] {
    const all = this.boughtOf(wanted).filter(({ isFailure }) => !isFailure);
    if (all.some((one) => one.isDelivered && !this.isRepeatable(one, at))) return [];
    return all.filter((one) => {
      if (!this.isRepeatable(one, at)) return false;
      if (one.isDelivered) return isStored(one, record);
      const waits = createOf(record, one)?.waits ?? [];
      return this.requestsOf(wanted).some(
        (other) =>
          other.bought === one && isOpen(other) && waits.some(({ bootId }) => bootId === other.server.context.boot.id),
      );
    });
  }

  /** Whether the record has a wait of a living process, which may be right: that a connection has ended is stored later. */
  private hasWaitOfLiving(one: Bought, wanted: string, record: Fingerprint | null, at: number): boolean {
    const boots = new Set(createOf(record, one)?.waits.map(({ bootId }) => bootId));
    return this.requestsOf(wanted).some(
      ({ server, bought = one, closedAt }) =>
        server.isAlive &&
        boots.has(server.context.boot.id) &&
        bought === one &&
        (closedAt === undefined ||
          this.quietAt === Infinity ||
          closedAt > Math.max(this.quietAt, at - STORED_WITHIN_MS)),
    );
  }

  /** A video is answered before its end, so that its failure is known later. */
  private isRepeatable(one: Bought, at: number): boolean {
    const { status } = this.generations.lives.get(one.generationId)?.newest ?? {};
    return !one.isFailure && status !== 'failed' && status !== 'cancelled' && this.isMatched(one, at);
  }

  /** Whether a process that died was seen alive shortly before, and counts as waiting for it. */
  private maySeemWaitedFor(one: Bought, { record, wanted, arrivedAt }: SentRequest, at: number): boolean {
    const boots = createOf(record, one)?.waits.map(({ bootId }) => bootId) ?? [];
    const isDead = (bootId: string) =>
      this.requestsOf(wanted).every(({ server }) => server.context.boot.id !== bootId || !server.isAlive);
    return boots.some(
      (bootId) =>
        isDead(bootId) &&
        this.renewed.get(bootId)?.at.some((time) => time >= arrivedAt - ALIVE_FOR_MS && time <= at) === true,
    );
  }

  /** Whether no clock says that it can no longer be matched. */
  private isMatched(one: Bought, at: number): boolean {
    const { completedAt = at } = this.generations.lives.get(one.generationId)?.newest ?? {};
    const { replayWindowMs } = this.premises.settings;
    return !this.isDeleted(one) && at < Math.min(completedAt + WINDOW_MS, one.begunAt + replayWindowMs) - MAX_SKEW_MS;
  }

  private isDeleted({ generationId }: Bought): boolean {
    const record = this.generations.record(generationId);
    return record?.kind !== 'generation' || record.deletedAt !== undefined;
  }

  /** Whether the process of a request has been silent since, for so long that others may take it for dead. */
  private mayHaveSeemedDead({ server, arrivedAt }: SentRequest, at: number): boolean {
    if (this.premises.isExclusive) return false;
    const until = Math.min(at, this.quietAt);
    const { at: renewedAt = [], staleAt = [] } = this.renewed.get(server.context.boot.id) ?? {};
    const isDuring = (time: number) => time >= arrivedAt && time <= until;
    const times = [arrivedAt, ...renewedAt.filter(isDuring), until];
    return staleAt.some(isDuring) || times.some((time, index) => time - (times[index - 1] ?? time) >= SILENT_FOR_MS);
  }

  private requestsOf(wanted: string): readonly SentRequest[] {
    return this.requests.get(wanted) ?? [];
  }

  private boughtOf(wanted: string): readonly Bought[] {
    return this.bought.get(wanted) ?? [];
  }
}

function wantedBy(credentialId: string, prompt: unknown): string {
  return canonical([credentialId, textOf(prompt)]);
}

function isOpen({ server, closedAt }: SentRequest): boolean {
  return server.isAlive && closedAt === undefined;
}

function createOf(record: Fingerprint | null, { key }: Bought): SharedCreate | undefined {
  return record?.creates.find((create) => create.key === key);
}

/** Whether the record shows that it was delivered, or has forgotten it for one that was delivered later. */
function isStored(one: Bought, record: Fingerprint | null): boolean {
  const create = createOf(record, one);
  return create === undefined || create.deliveredAt !== undefined;
}
