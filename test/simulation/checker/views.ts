import type { EventType } from '../../../core/generation/events.js';
import type { JsonObject } from '../../../core/json.js';
import { checkDenial, checkOrigin, checkSubject } from '../../history/access.js';
import { checkBalance } from '../../history/ledger.js';
import { checkHeldAtRest } from '../../history/prices.js';
import { checkEventOrder, type EventTold } from '../../history/notifications.js';
import {
  checkEnd,
  checkShown,
  ENDED_RANK,
  KnownViews,
  type Shown,
  shownRecord,
  shownTask,
  taskFault,
} from '../../history/task.js';
import { textOf } from '../../history/values.js';
import { type Answer, type Asked, type Heard, type Premises, violation } from '../observed.js';
import type { Accepted } from './accepted.js';
import type { Books } from './books.js';
import type { Claims } from './claims.js';
import { demandNone, type EventOrder } from './event-order.js';
import { type Generations, type Life, shownAs } from './generations.js';
import type { GuardedObjects } from './guarded-objects.js';
import { isCreate, type Keys } from './keys.js';
import type { Prices } from './prices.js';
import { MAX_SKEW_MS, type ProcessClocks } from './process-clocks.js';
import { hasEnded } from './record-events.js';

/** The view of a generation that is gone, which outranks every status. */
const GONE: Shown = { rank: ENDED_RANK + 1, charged: 0, updatedAt: 0, end: 'gone' };

/** Invariants 8, 9 and 15: the views that clients get of a generation, which never go back. */
export class Views {
  /** The knowledge of clients, by generation. */
  private readonly known = new Map<string, KnownViews>();

  constructor(
    private readonly generations: Generations,
    private readonly books: Books,
    private readonly prices: Prices,
    private readonly order: EventOrder,
  ) {}

  /** Checks an answer as it leaves, and so also answers that never arrive. */
  served(asked: Asked, answer: Answer): void {
    const { request, party } = asked;
    if (answer.outcome === 'refused') this.refused(asked, answer.code);
    if (answer.outcome !== 'success' || !party) return;
    const { data } = answer;
    if (isAboutTask(request)) this.task(asked, data);
    if (request.operation === 'credits') this.balance(asked, party.accountId, data);
    if (request.operation === 'estimate') this.estimate(asked, data);
  }

  /** From here on no client may see an older view. */
  answered({ request, number }: Asked, answer: Answer): void {
    const { position } = this.order;
    const isGone =
      (answer.outcome === 'refused' && answer.code === 'GENERATION_JOB_NOT_FOUND' && request.operation === 'get') ||
      (answer.outcome === 'success' && request.operation === 'delete');
    if (isGone) this.of(request.generationId.toLowerCase()).learn(`request ${number}`, GONE, position);
    else if (answer.outcome === 'success' && isAboutTask(request))
      this.of(textOf(answer.data['generation_id'])).learn(`request ${number}`, viewOf(answer.data), position);
  }

  private of(generationId: string): KnownViews {
    const known = this.known.get(generationId) ?? new KnownViews();
    this.known.set(generationId, known);
    return known;
  }

  private task(asked: Asked, data: JsonObject): void {
    const id = textOf(data['generation_id']);
    const fault = taskFault(data);
    if (fault !== undefined)
      throw violation`9: request ${asked.number} was answered with generation ${id}, ${textOf(data['status'])}, whose ${fault}`;
    const { request, party } = asked;
    const wanted =
      request.operation === 'get' || request.operation === 'cancel' ? request.generationId.toLowerCase() : id;
    demandNone(checkSubject(`request ${asked.number}`, wanted, id));
    const life = this.generations.lives.get(id);
    if (life === undefined)
      throw violation`12: request ${asked.number} was answered with generation ${id}, which never was`;
    if (life.accountId !== party?.accountId || life.appId !== party.appId)
      throw violation`17: request ${asked.number} of App ${party?.appId} was answered with generation ${id} of ${life.appId}`;
    const view = viewOf(data);
    const status = textOf(data['status']);
    if (!life.shown.has(shownAs({ status, chargedCredits: view.charged, updatedAt: view.updatedAt })))
      throw violation`8: request ${asked.number} was shown generation ${id} as ${status}, charged ${view.charged}, updated at ${view.updatedAt}; it never was`;
    demandNone(checkShown(`request ${asked.number}`, view, shownRecord(life.newest)));
    demandNone(this.of(id).check(`request ${asked.number}`, view, this.order.askedOrder(asked)));
  }

  /** An existing generation of the client's own App is not reported as missing. */
  private refused(asked: Asked, code: string): void {
    const { request, party } = asked;
    if (request.operation !== 'get' && request.operation !== 'cancel' && request.operation !== 'delete') return;
    if (code !== 'TASK_NOT_FOUND' && code !== 'GENERATION_JOB_NOT_FOUND') return;
    const id = request.generationId.toLowerCase();
    const record = this.generations.record(id);
    const isOwn =
      record?.kind === 'generation' &&
      record.deletedAt === undefined &&
      record.accountId === party?.accountId &&
      record.appId === party.appId;
    // If it was inserted while the request was in flight, the lookup may have come first.
    const stoodBefore = (this.generations.lives.get(id)?.insertedAt ?? Infinity) < this.order.arrivedAt(asked);
    demandNone(checkDenial(`request ${asked.number}`, code, id, isOwn && stoodBefore));
  }

  private balance(asked: Asked, accountId: string, data: JsonObject): void {
    const available = this.books.availableOf(accountId)?.valuesSince(this.order.arrivedOrder(asked)) ?? [];
    demandNone(checkBalance({ told: `request ${asked.number}`, accountId, available }, data));
  }

  private estimate({ number, request }: Asked, data: JsonObject): void {
    if (request.operation !== 'estimate') return;
    const price = this.prices.ofBody(request.body);
    if (data['estimated_credits'] !== price)
      throw violation`3: request ${number} was estimated at ${textOf(data['estimated_credits'])}, and its price is ${price}`;
  }
}

function isAboutTask(request: Asked['request']): boolean {
  return isCreate(request) || request.operation === 'get' || request.operation === 'cancel';
}

/** Outputs disappear with their retention. */
function viewOf(data: JsonObject): Shown {
  const { delivered: _, ...shown } = shownTask(data);
  return shown;
}

interface Knowledge {
  readonly premises: Premises;
  readonly books: Books;
  readonly claims: Claims;
  readonly keys: Keys;
  readonly generations: Generations;
  readonly objects: GuardedObjects;
  readonly accepted: Accepted;
}

/** The most outputs of a simulated model. */
const MAX_OUTPUTS = 4;

/** Invariants 6, 12, 13 and 20, once everything that can end has had the time to. */
export class Rest {
  private quietAt: number | undefined;

  constructor(private readonly known: Knowledge) {}

  quiet(at: number): void {
    this.quietAt = at;
  }

  async atRest(): Promise<void> {
    const { books, generations, objects, accepted } = this.known;
    await books.compareAll();
    for (const id of books.openHolds()) demandNone(checkHeldAtRest(id, generations.record(id)));
    for (const life of generations.lives.values()) await this.requireEnded(life);
    for (const id of accepted.acknowledged)
      if (!generations.lives.has(id)) throw violation`12: generation ${id} was accepted, and never was`;
    this.requireRefusedLeftNothing();
    await objects.requireAllStanding();
  }

  private async requireEnded(life: Life): Promise<void> {
    const { generationId, newest, endedAt, settledAt } = life;
    const record = this.known.generations.record(generationId);
    const stored = await this.known.premises.durable.generations.read(generationId);
    if (stored?.kind !== record?.kind || stored?.version !== record?.version)
      throw violation`12: at rest generation ${generationId} is stored as ${stored?.kind} ${stored?.version}, and was written as ${record?.kind} ${record?.version}`;
    const calm = this.quietAt === undefined ? undefined : { from: this.quietAt, slackMs: this.slackMs() };
    demandNone(checkEnd(newest, { endedAt, settledAt }, calm));
  }

  /**
   * How late an end may be once nothing fails: a lease lapses, recovery runs a pass, a worker waits for its provider to
   * answer and to stop, polls it once more and downloads, and all clocks may differ. A time written by a clock far
   * ahead is believed until true time reaches it.
   */
  private slackMs(): number {
    const {
      premises: { settings, recoveryIntervalMs },
    } = this.known;
    const waitedFor =
      settings.leaseMs +
      settings.recoveryGraceMs +
      settings.cancelGraceMs +
      3 * recoveryIntervalMs +
      (3 + 1 + MAX_OUTPUTS) * settings.providerCallMs;
    return waitedFor + MAX_SKEW_MS;
  }

  /** A key under which every request was refused has no effect: nothing inserted, nothing held. */
  private requireRefusedLeftNothing(): void {
    const { keys, claims, generations } = this.known;
    for (const { generationId } of generations.lives.values()) {
      const key = claims.keyOfGeneration(generationId);
      if (key) demandNone(checkOrigin(`generation ${generationId}`, key.key, keys.origins(key)));
    }
  }
}

interface Follower {
  readonly appId: string;
  /** When it got its first id: from then on it can resume after any disconnect. */
  readonly since: number;
  readonly ended: Set<string>;
  stream: number;
  /** The last event of each generation in the current stream. */
  told: Map<string, EventTold>;
}

/** Invariant 23: the events that followers of an App receive. */
export class EventStreams {
  private readonly followers = new Map<string, Follower>();

  constructor(
    private readonly generations: Pick<Generations, 'lives' | 'record'>,
    private readonly clocks: ProcessClocks,
  ) {}

  heard({ at, follower: name, appId, stream, event }: Heard): void {
    const follower = this.followers.get(name) ?? { appId, since: at, ended: new Set(), stream, told: new Map() };
    this.followers.set(name, follower);
    if (follower.stream !== stream) Object.assign(follower, { stream, told: new Map() });
    if (event.type === 'beat') return;
    const { type, generation } = event;
    const { generationId, version } = generation;
    const life = this.generations.lives.get(generationId);
    const says = (): string => `${name} hears ${type} of generation ${generationId}`;
    if (life?.appId !== appId) throw violation`23: ${says()}, which is of App ${life?.appId}`;
    if (!hasHappened(life, type)) throw violation`23: ${says()}, which is ${life.newest.status}`;
    const next = { type, changed: version };
    demandNone(checkEventOrder(says(), follower.told.get(generationId), next));
    follower.told.set(generationId, next);
    if (type === 'ended') follower.ended.add(generationId);
  }

  left(follower: string): void {
    this.followers.delete(follower);
  }

  /** All followers have received every end, except of generations that were deleted or whose retention is over. */
  atRest(): void {
    // A clock that leaps may mark a stream as complete up to a time in the future.
    if (this.clocks.spreadMs > MAX_SKEW_MS) return;
    for (const [name, { appId, since, ended }] of this.followers)
      for (const { generationId, endedAt = 0, appId: owner } of this.generations.lives.values()) {
        if (owner !== appId || endedAt <= since || ended.has(generationId)) continue;
        const record = this.generations.record(generationId);
        const isKept = record?.kind === 'generation' && record.deletedAt === undefined;
        if (isKept) throw violation`23: ${name} follows since ${since}, and never heard that ${generationId} ended`;
      }
  }
}

function hasHappened({ newest, endedAt }: Life, type: EventType): boolean {
  if (type === 'ended') return endedAt !== undefined && hasEnded(newest);
  if (type === 'cancel_requested') return newest.cancelRequestedAt !== undefined;
  return type === 'queued' || newest.runDeadlineAt !== undefined;
}
