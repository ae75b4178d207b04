import type { Context } from '../../context.js';
import type { Entry } from '../../providers/provider-gates.js';
import type { Generation } from '../generation.js';
import { deadlineOf as runDeadlineOf, Lane, type LaneLimits, type PlaceRequest } from './lane.js';
import { deadlineOf } from './overdue.js';
import { providersNeeded } from './unknown-model.js';
import { MAX_WAIT_MS } from './waiting.js';

/** The places of a model that the catalog lacks: a generation that takes one frees it immediately. */
const ONE_AT_A_TIME: LaneLimits = { concurrency: 1, concurrencyPerAccount: 1 };

/** A place of a model. */
export interface Place {
  /** For one that submits: the room that it has at a provider, to be given back as well. */
  readonly entry: Entry | undefined;
  /** Gives the place back. Giving it back again does nothing. */
  release(): void;
}

interface Waiter extends PlaceRequest {
  g: Generation;
  runDeadlineAt: number | undefined;
  providers: readonly string[];
  /** The providers as one text: those with the same one get into the same providers. */
  route: string;
  /** When waiting for a provider is of no use any more. */
  until: number;
  readonly admit: (place: Place) => void;
  readonly refuse: (reason: Error) => void;
}

/**
 * Where the generations of one process wait for a place of their model and room at a provider. Nobody has the one while
 * waiting for the other. Those that submit nothing need a place alone. Where lanes share a provider, take-overs go by their
 * run deadlines, and new starts are taken from the lanes in turn.
 */
export class Lanes {
  private readonly lanes = new Map<string, Lane<Waiter>>();
  private readonly waiters = new Map<string, Waiter>();
  private refusal: Error | undefined;
  private models: unknown;
  private cancelTimer: (() => void) | undefined;

  constructor(private readonly context: Pick<Context, 'catalog' | 'providers' | 'providerGates' | 'clock'>) {
    context.providerGates.onRoom(() => this.admitWhoMay());
  }

  isWaiting(generationId: string): boolean {
    return this.waiters.has(generationId);
  }

  /** Whether a generation that has yet to start would have a place of its model without waiting for one. */
  hasPlaceFor({ modelKey, accountId }: Pick<Generation, 'modelKey' | 'accountId'>): boolean {
    return this.refusal === undefined && this.lane(modelKey).hasPlaceFor(accountId);
  }

  /** A place, once there is one. A generation waits once at most. */
  enter(g: Generation): Promise<Place> {
    return new Promise((admit, refuse) => {
      if (this.refusal !== undefined) return refuse(this.refusal);
      const waiter: Waiter = {
        ...this.situationOf(g),
        generationId: g.generationId,
        accountId: g.accountId,
        admit,
        refuse,
      };
      this.waiters.set(g.generationId, waiter);
      this.lane(g.modelKey).join(waiter);
      this.admitWhoMay();
    });
  }

  /** Has a waiting generation wait by what its newest version says; does nothing when it does not wait. */
  update(g: Generation): void {
    const waiter = this.waiters.get(g.generationId);
    if (waiter === undefined) return;
    this.move(waiter, g);
    this.admitWhoMay();
  }

  /** Nobody gets a place any more. */
  refuseAll(reason: Error): void {
    this.refusal = reason;
    const waiting = [...this.waiters.values()];
    for (const waiter of waiting) this.lane(waiter.g.modelKey).leave(waiter);
    this.waiters.clear();
    this.cancelTimer?.();
    this.context.providerGates.waitFor(new Map());
    for (const { refuse } of waiting) refuse(reason);
  }

  /** Gives places by the newest catalog. */
  admitByCatalog(): void {
    const models = this.context.catalog.models();
    if (models !== this.models) for (const waiter of this.waiters.values()) this.move(waiter, waiter.g);
    this.models = models;
    this.admitWhoMay();
  }

  private situationOf(g: Generation): Pick<Waiter, 'g' | 'runDeadlineAt' | 'providers' | 'route' | 'until'> {
    const providers = providersNeeded(this.context, g);
    return { g, runDeadlineAt: g.runDeadlineAt, providers, route: providers.join(' '), until: deadlineOf(g) };
  }

  /** One that stays in its line keeps its turn. */
  private move(waiter: Waiter, g: Generation): void {
    const situation = this.situationOf(g);
    const needsProvider = situation.providers.length > 0;
    if (situation.runDeadlineAt === waiter.runDeadlineAt && needsProvider === waiter.providers.length > 0) {
      Object.assign(waiter, situation);
      return;
    }
    this.lane(g.modelKey).leave(waiter);
    this.lane(g.modelKey).join(Object.assign(waiter, situation));
  }

  /** Gives places to those who may have them, in order. */
  private admitWhoMay(): void {
    if (this.waiters.size === 0) return this.waitForProviders([]);
    for (const lane of this.lanes.values()) {
      for (let next = lane.nextFinishing(); next !== undefined; next = lane.nextFinishing())
        this.admit(lane, next, undefined);
    }
    const now = this.context.clock.now();
    const full = new Set<string>();
    const isEligible = ({ route, until }: Waiter) => !full.has(route) || until < now;
    for (;;) {
      const next = this.nextTakeOver(isEligible) ?? this.nextStart(isEligible);
      if (next === undefined) break;
      const { lane, waiter } = next;
      const entry = full.has(waiter.route) ? undefined : this.context.providerGates.enter(waiter.providers);
      if (entry === undefined && waiter.until >= now) full.add(waiter.route);
      else this.admit(lane, waiter, entry);
    }
    this.waitForProviders([...this.lanes.values()].flatMap((lane) => lane.heldUp()));
  }

  private nextTakeOver(isEligible: (waiter: Waiter) => boolean): Next | undefined {
    let next: Next | undefined;
    for (const lane of this.lanes.values()) {
      const waiter = lane.nextTakeOver(isEligible);
      if (waiter !== undefined && (next === undefined || runDeadlineOf(waiter) < runDeadlineOf(next.waiter)))
        next = { lane, waiter };
    }
    return next;
  }

  /** Of the lane whose turn it is; that one comes last then. */
  private nextStart(isEligible: (waiter: Waiter) => boolean): Next | undefined {
    for (const lane of this.lanes.values()) {
      const waiter = lane.nextStart(isEligible);
      if (waiter !== undefined) return { lane, waiter };
    }
    return undefined;
  }

  private admit(lane: Lane<Waiter>, waiter: Waiter, entry: Entry | undefined): void {
    const { generationId, g, admit } = waiter;
    const leave = lane.admit(waiter);
    this.waiters.delete(generationId);
    if (entry !== undefined) {
      this.lanes.delete(g.modelKey);
      this.lanes.set(g.modelKey, lane);
    }
    admit({
      entry,
      release: () => {
        leave();
        this.admitWhoMay();
      },
    });
  }

  /** Looks again when somebody has waited in vain. */
  private waitForProviders(waiting: readonly Waiter[]): void {
    const counts = new Map<string, number>();
    for (const { providers } of waiting)
      for (const provider of providers) counts.set(provider, (counts.get(provider) ?? 0) + 1);
    this.context.providerGates.waitFor(counts);
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    const now = this.context.clock.now();
    // One that is late already and not the first of its account was not let in: to look again at once changes nothing.
    const until = Math.min(...waiting.map((waiter) => waiter.until).filter((time) => time >= now));
    if (until === Infinity) return;
    const afterMs = until + 1 - now;
    this.cancelTimer = this.context.clock.after(Math.min(afterMs, MAX_WAIT_MS), () => this.admitWhoMay());
  }

  private lane(modelKey: string): Lane<Waiter> {
    let lane = this.lanes.get(modelKey);
    if (lane === undefined) {
      lane = new Lane(() => this.context.catalog.find(modelKey) ?? ONE_AT_A_TIME);
      this.lanes.set(modelKey, lane);
    }
    return lane;
  }
}

interface Next {
  readonly lane: Lane<Waiter>;
  readonly waiter: Waiter;
}
