import type { WebhookMessage } from '../../../core/ports/outside.js';
import type { Submission } from '../../../core/ports/provider.js';
import { type Answer, type Asked, type Effect, type Heard, type Premises, type Told, violation } from '../observed.js';
import { Accepted } from './accepted.js';
import { Books } from './books.js';
import { CallTable, type Part } from './calls.js';
import { Caps } from './caps.js';
import { Charges } from './charges.js';
import { Claims } from './claims.js';
import { EventOrder } from './event-order.js';
import { Deletions, Generations, Outputs } from './generations.js';
import { GuardedObjects } from './guarded-objects.js';
import { Access, ForeignIds, Keys, Secrets, Suspensions } from './keys.js';
import { Leases } from './leases.js';
import { Operations } from './operations.js';
import { Prices } from './prices.js';
import { ProcessClocks } from './process-clocks.js';
import { ProviderCalls, SharesOfProviders } from './provider-calls.js';
import { Repetitions } from './repetitions.js';
import { Uploads } from './uploads.js';
import { Usage } from './usage.js';
import { EventStreams, Rest, Views } from './views.js';
import { Webhooks } from './webhooks.js';

const WRITES =
  /^(?:accounts\.(?:create|apply)|(?:generations|claims|uploads|deliveries)\.(?:insert|replace)|credentials\.(?:insert|replace)|fingerprints\.replace)/;
const OURS = ['TypeError', 'RangeError', 'ReferenceError'];

/**
 * The independent check of `docs/correctness.md`. It shares no code with core: it has its own books, its own prices and
 * its own transition table, and compares them with the stored data after every call.
 *
 * Two invariants are not here. 19 compares adapters and fronts, of which a simulation has one set. The rule of 20 that
 * no account starves another cannot be checked by the order of starts, since every worker has its own queue and runs
 * take as long as their provider needs; the workload checks it.
 *
 * Checks that fault runs can make as well are rules of `test/history`, which receive the observations here in the exact
 * order of events. All other checks need calls on ports, which only a simulation sees.
 *
 * The checker relies on effects being shown one at a time, each before the next takes place. Every method throws a
 * `Violation` when something is wrong.
 */
export class SimulationChecker {
  private readonly order = new EventOrder();
  private readonly clocks = new ProcessClocks();
  private readonly calls = new CallTable();
  private readonly generations: Generations;
  private readonly objects: GuardedObjects;
  private readonly uploads: Uploads;
  private readonly secrets: Secrets;
  private readonly webhooks: Webhooks;
  private readonly eventStreams: EventStreams;
  /** Is shown what becomes of creates over `/v1` as well. */
  readonly repetitions: Repetitions;
  /** All parts that observe calls and requests, in the order in which they are shown each. */
  private readonly parts: readonly Part[];

  constructor(premises: Premises) {
    const { durable, settings, isExclusive } = premises;
    const { order, clocks } = this;
    const [keys, prices] = [new Keys(), new Prices(premises.models)];
    const books = new Books(durable, order);
    const caps = new Caps(order);
    const operations = new Operations(books, order);
    const generations = new Generations(durable, settings);
    const objects = new GuardedObjects(durable.objects);
    const deletions = new Deletions(generations, objects);
    const claims = new Claims(
      settings,
      clocks,
      order,
      (operation, id) =>
        (operation === 'create' || operation === 'create-compatible' ? generations : this.uploads).standingAt(id),
      (id) => {
        const money = books.moneyOf(id);
        return money !== undefined && money.endedAt === undefined;
      },
      isExclusive,
    );
    const accepted = new Accepted({ durable, settings, order, books, caps, claims, keys, prices, generations });
    const uploads = new Uploads(settings, clocks, objects, (upload) => accepted.prepared(upload));
    const provider = new ProviderCalls(generations, prices);
    const shares = new SharesOfProviders(premises.providerLimits, settings, isExclusive);
    const leases = new Leases(settings, clocks, isExclusive);
    const charges = new Charges({ settings, books, claims, keys, prices, provider, generations, clocks });
    const usage = new Usage(order);
    const outputs = new Outputs(settings, objects, prices, deletions);
    const repetitions = new Repetitions(premises, claims, generations);
    this.repetitions = repetitions;
    this.generations = generations;
    this.objects = objects;
    this.uploads = uploads;
    this.secrets = new Secrets(() => premises.secrets());
    this.webhooks = new Webhooks(generations, clocks);
    this.eventStreams = new EventStreams(generations, clocks);
    this.parts = [
      order,
      keys,
      caps,
      operations,
      books,
      claims,
      generations,
      new Access(order),
      new Suspensions(order),
      new ForeignIds(generations, uploads),
      new Views(generations, books, prices, order),
      usage,
      uploads,
      objects,
      provider,
      leases,
      shares,
      accepted,
      new Rest({ premises, books, claims, keys, generations, objects, accepted }),
      deletions,
      this.webhooks,
      this.eventStreams,
      repetitions,
    ];
    for (const { handlers = {} } of this.parts) this.calls.add(handlers);
    for (const listener of [operations, caps, usage, charges]) books.listen(listener);
    const listeners = [
      leases,
      provider,
      shares,
      accepted,
      charges,
      uploads,
      deletions,
      this.webhooks,
      outputs,
      repetitions,
    ];
    for (const listener of listeners) generations.listen(listener);
  }

  /** How often each step of a generation was seen, as `running cancel running`. */
  get transitions(): Map<string, number> {
    return this.generations.transitions;
  }

  /** Called right after a call did its work, before its answer leaves. */
  async effect(effect: Effect): Promise<void> {
    this.order.tick();
    this.clocks.note(effect);
    if (WRITES.test(effect.call)) this.secrets.requireNone(effect.args, () => `${effect.call} by ${effect.process}`);
    await this.calls.pass(effect);
  }

  /** Called before a provider call, before any of it arrives. */
  calling(call: Omit<Effect, 'result'>): void {
    this.order.tick();
    this.clocks.note(call);
    for (const part of this.parts) part.calling?.(call);
  }

  /**
   * The provider has a task from now on, which may have been on its way for a while. `isUsable`: whether a part at least of
   * what it will deliver, if it does, can be used.
   */
  taken(submission: Submission, reference: string, isUsable: boolean): void {
    for (const part of this.parts) part.taken?.(submission, reference, isUsable);
  }

  /** A receiver of a client has got a message, and accepts it or not. */
  told(message: WebhookMessage, told: Told): void {
    this.order.tick();
    this.webhooks.told(message, told);
  }

  /** A follower has got an event of its App. */
  heard(heard: Heard): void {
    this.order.tick();
    this.eventStreams.heard(heard);
  }

  /** A follower has left for good. */
  left(follower: string): void {
    this.eventStreams.left(follower);
  }

  /** The object store lost or damaged this object by itself. */
  spoiled(objectKey: string): void {
    this.objects.spoiled(objectKey);
  }

  /** Bytes were PUT by a client to the address of an upload. `status` is the store's answer. */
  async sent(uploadId: string, bytes: Uint8Array, status: number): Promise<void> {
    this.uploads.sent(uploadId, bytes, status);
    await this.objects.requireAllOf(`upload ${uploadId}`);
  }

  asked(asked: Asked): void {
    this.order.tick();
    for (const part of this.parts) part.asked?.(asked);
  }

  /** The request reached a process, which starts to work on it now. */
  arrived(asked: Asked, at: number): void {
    this.order.tick();
    for (const part of this.parts) part.arrived?.(asked, at);
  }

  /** A process has decided; the answer may still be lost in transit. */
  async served(asked: Asked, answer: Answer, at: number): Promise<void> {
    this.order.tick();
    if (answer.outcome !== 'lost') this.secrets.requireNone(answer, () => `the answer to request ${asked.number}`);
    for (const part of this.parts) await part.served?.(asked, answer, at);
  }

  /** The answer that the client received, and when. */
  answered(asked: Asked, answer: Answer, at: number): void {
    this.order.tick();
    for (const part of this.parts) part.answered?.(asked, answer, at);
  }

  /** A line core logged. */
  logged(process: string, event: string, about: Readonly<Record<string, unknown>>): void {
    this.secrets.requireNone(about, () => `"${event}", logged by ${process},`);
    const { error } = about;
    if (!(error instanceof Error)) return;
    const isBug = error.message.startsWith('Broken invariant') || OURS.includes(error.name);
    if (isBug) throw violation`12: ${process} logged "${event}": ${error.stack ?? error.message}`;
  }

  /** Faults have stopped: from `at` on nothing fails. */
  quiet(at: number): void {
    this.order.tick();
    for (const part of this.parts) part.quiet?.(at);
  }

  /** Everything that can end has had the time to end. */
  async atRest(at: number): Promise<void> {
    this.order.tick();
    for (const part of this.parts) await part.atRest?.(at);
  }
}
