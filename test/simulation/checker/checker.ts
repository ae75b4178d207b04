import type { WebhookMessage } from '../../../core/ports/outside.js';
import type { Submission } from '../../../core/ports/provider.js';
import {
  type Answer,
  type Asked,
  type Effect,
  type Heard,
  type Observer,
  type Premises,
  type Told,
  violation,
} from '../observed.js';
import { Accepted } from './accepted.js';
import { Books } from './books.js';
import { CallTable } from './calls.js';
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
import { Uploads } from './uploads.js';
import { Usage } from './usage.js';
import { EventStreams, Rest, Views } from './views.js';
import { Webhooks } from './webhooks.js';

const WRITES =
  /^(?:accounts\.(?:create|apply)|(?:generations|claims|uploads|deliveries)\.(?:insert|replace)|credentials\.(?:insert|replace))/;
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
 * The checker relies on effects being shown one at a time, each before the next takes place.
 */
export class SimulationChecker implements Observer {
  private readonly order = new EventOrder();
  private readonly clocks = new ProcessClocks();
  private readonly leases: Leases;
  private readonly calls = new CallTable();
  private readonly books: Books;
  private readonly operations: Operations;
  private readonly generations: Generations;
  private readonly objects: GuardedObjects;
  private readonly deletions: Deletions;
  private readonly uploads: Uploads;
  private readonly provider: ProviderCalls;
  private readonly shares: SharesOfProviders;
  private readonly keys = new Keys();
  private readonly caps: Caps;
  private readonly accepted: Accepted;
  private readonly views: Views;
  private readonly foreignIds: ForeignIds;
  private readonly access: Access;
  private readonly suspensions: Suspensions;
  private readonly secrets: Secrets;
  private readonly webhooks: Webhooks;
  private readonly eventStreams: EventStreams;
  private readonly usage: Usage;
  private readonly rest: Rest;
  private quietAt: number | undefined;

  constructor(premises: Premises) {
    const { durable, settings, isExclusive } = premises;
    const { order, clocks, keys } = this;
    const prices = new Prices(premises.models);
    this.books = new Books(durable, order);
    this.caps = new Caps(order);
    this.operations = new Operations(this.books, order);
    this.generations = new Generations(durable, settings);
    this.objects = new GuardedObjects(durable.objects);
    this.deletions = new Deletions(this.generations, this.objects);
    const { books, generations, objects } = this;
    const claims = new Claims(
      settings,
      clocks,
      order,
      (operation, id) => (operation === 'create' ? generations : this.uploads).standingAt(id),
      (id) => {
        const money = books.moneyOf(id);
        return money !== undefined && money.endedAt === undefined;
      },
      isExclusive,
    );
    this.accepted = new Accepted({
      durable,
      settings,
      order,
      books,
      caps: this.caps,
      claims,
      keys,
      prices,
      generations,
    });
    this.uploads = new Uploads(settings, clocks, objects, (upload) => this.accepted.prepared(upload));
    this.provider = new ProviderCalls(generations, prices);
    this.shares = new SharesOfProviders(premises.providerLimits, settings, isExclusive);
    this.views = new Views(generations, books, prices, order);
    this.foreignIds = new ForeignIds(generations, this.uploads);
    this.access = new Access(order);
    this.suspensions = new Suspensions(order);
    this.secrets = new Secrets(() => premises.secrets());
    this.webhooks = new Webhooks(generations, clocks);
    this.eventStreams = new EventStreams(generations, clocks);
    this.usage = new Usage(order);
    this.rest = new Rest({ premises, books, claims, keys, generations, objects, accepted: this.accepted });

    books.listen(this.caps);
    books.listen(this.usage);
    const charges = new Charges({
      settings,
      books,
      claims,
      keys,
      prices,
      provider: this.provider,
      generations,
      clocks,
    });
    books.listen(charges);
    this.leases = new Leases(settings, clocks, isExclusive);
    const listeners = [
      this.leases,
      this.provider,
      this.shares,
      this.accepted,
      charges,
      this.uploads,
      this.deletions,
      this.webhooks,
      new Outputs(settings, objects, prices, this.deletions),
    ];
    for (const listener of listeners) generations.listen(listener);
    const watching = [
      books,
      claims,
      generations,
      this.uploads,
      objects,
      this.provider,
      this.shares,
      this.suspensions,
      this.deletions,
      this.webhooks,
    ];
    for (const { handlers } of watching) this.calls.add(handlers);
  }

  /** How often each step of a generation was seen, as `running cancel running`. */
  get transitions(): Map<string, number> {
    return this.generations.transitions;
  }

  async effect(effect: Effect): Promise<void> {
    this.order.tick();
    this.clocks.note(effect);
    if (WRITES.test(effect.call)) this.secrets.requireNone(effect.args, () => `${effect.call} by ${effect.process}`);
    await this.calls.pass(effect);
  }

  calling(call: Pick<Effect, 'at' | 'process' | 'processNow' | 'call' | 'args'>): void {
    this.order.tick();
    this.clocks.note(call);
    this.provider.calling(call);
    this.leases.calling(call);
    this.shares.calling(call);
  }

  taken(submission: Submission, reference: string, isUsable: boolean): void {
    this.provider.taken(submission, reference, isUsable);
    this.shares.taken(submission, reference);
  }

  told(message: WebhookMessage, told: Told): void {
    this.order.tick();
    this.webhooks.told(message, told);
  }

  heard(heard: Heard): void {
    this.order.tick();
    this.eventStreams.heard(heard);
  }

  left(follower: string): void {
    this.eventStreams.left(follower);
  }

  spoiled(objectKey: string): void {
    this.objects.spoiled(objectKey);
  }

  async sent(uploadId: string, bytes: Uint8Array, status: number): Promise<void> {
    this.uploads.sent(uploadId, bytes, status);
    await this.objects.requireAllOf(`upload ${uploadId}`);
  }

  asked(asked: Asked): void {
    this.order.tick();
    this.order.noteAsked(asked);
    this.keys.noteAsked(asked);
    this.caps.noteAsked(asked);
    this.operations.noteAsked(asked);
    this.suspensions.noteAsked(asked);
    this.deletions.noteAsked(asked);
    this.uploads.noteAsked(asked);
    this.access.noteAsked(asked);
  }

  arrived(asked: Asked, at: number): void {
    this.order.tick();
    this.order.noteArrived(asked, at);
    this.keys.noteArrived(asked);
  }

  async served(asked: Asked, answer: Answer, at: number): Promise<void> {
    this.order.tick();
    if (answer.outcome !== 'lost') this.secrets.requireNone(answer, () => `the answer to request ${asked.number}`);
    this.keys.noteServed(asked, answer);
    this.operations.served(asked, answer);
    this.access.served(asked, answer, at);
    this.suspensions.served(asked, answer, at);
    this.foreignIds.served(asked, answer);
    this.views.served(asked, answer);
    this.usage.served(asked, answer);
    this.uploads.served(asked, answer);
    await this.deletions.served(asked, answer);
    await this.uploads.servedDeletion(asked, answer);
    await this.accepted.served(asked, answer);
  }

  answered(asked: Asked, answer: Answer, at: number): void {
    this.order.tick();
    this.keys.noteAnswered(asked, answer);
    this.access.answered(asked, answer, at);
    this.accepted.answered(asked, answer);
    this.views.answered(asked, answer);
  }

  logged(process: string, event: string, about: Readonly<Record<string, unknown>>): void {
    this.secrets.requireNone(about, () => `"${event}", logged by ${process},`);
    const { error } = about;
    if (!(error instanceof Error)) return;
    const isBug = error.message.startsWith('Broken invariant') || OURS.includes(error.name);
    if (isBug) throw violation`12: ${process} logged "${event}": ${error.stack ?? error.message}`;
  }

  quiet(at: number): void {
    this.order.tick();
    this.quietAt = at;
    this.rest.quiet(at);
    this.uploads.quiet();
  }

  async atRest(at: number): Promise<void> {
    this.order.tick();
    await this.rest.check();
    await this.deletions.checkAtRest();
    this.webhooks.checkAtRest(at, this.quietAt);
    this.eventStreams.checkAtRest();
  }
}
