import type { Model } from '../../catalog/model.js';
import type { Machine, Models } from '../../context.js';
import type { Entry } from '../../providers/provider-gates.js';
import { MAX_WAIT_MS } from '../../waiting.js';
import type { Generation } from '../generation.js';
import { deadlineOf, providersNeeded } from './executions.js';

/**
 * Queues the generations of one process for a slot of their model and for room at a provider. No generation holds one
 * while it waits for the other. Those that submit nothing need only a slot. If queues share a provider, take-overs are
 * ordered by run deadline, and new starts are taken from the queues in turn.
 */
export class ModelSlots {
  private readonly queues = new Map<string, SlotQueue<Waiter>>();
  private readonly waiters = new Map<string, Waiter>();
  private refusal: Error | undefined;
  private models: unknown;
  private cancelTimer: (() => void) | undefined;

  constructor(private readonly context: Models & Machine) {
    context.providerGates.onRoom(() => this.admitWhoMay());
  }

  isWaiting(generationId: string): boolean {
    return this.waiters.has(generationId);
  }

  /** Whether a generation that has yet to start would have a slot of its model without waiting for one. */
  hasSlotFor({ modelKey, accountId }: Pick<Generation, 'modelKey' | 'accountId'>): boolean {
    return this.refusal === undefined && this.queue(modelKey).hasSlotFor(accountId);
  }

  /** A slot, once there is one. A generation waits once at most. */
  enter(g: Generation): Promise<Slot> {
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
      this.queue(g.modelKey).join(waiter);
      this.admitWhoMay();
    });
  }

  /** Updates a waiting generation to its newest version; does nothing if it does not wait. */
  update(g: Generation): void {
    const waiter = this.waiters.get(g.generationId);
    if (waiter === undefined) return;
    this.move(waiter, g);
    this.admitWhoMay();
  }

  /** Rejects all waiters and all later requests. */
  refuseAll(reason: Error): void {
    this.refusal = reason;
    const waiting = [...this.waiters.values()];
    for (const waiter of waiting) this.queue(waiter.g.modelKey).leave(waiter);
    this.waiters.clear();
    this.cancelTimer?.();
    this.context.providerGates.waitFor(new Map());
    for (const { refuse } of waiting) refuse(reason);
  }

  /** Gives slots by the newest catalog. */
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
    this.queue(g.modelKey).leave(waiter);
    this.queue(g.modelKey).join(Object.assign(waiter, situation));
  }

  /** Gives slots to those who may have them, in order. */
  private admitWhoMay(): void {
    if (this.waiters.size === 0) return this.waitForProviders([]);
    for (const queue of this.queues.values()) {
      for (let next = queue.earliest('finishing'); next !== undefined; next = queue.earliest('finishing'))
        this.admit(queue, next, undefined);
    }
    const now = this.context.clock.now();
    const full = new Set<string>();
    const isEligible = ({ route, until }: Waiter) => !full.has(route) || until < now;
    for (;;) {
      const next = this.next(isEligible);
      if (next === undefined) break;
      const { queue, waiter } = next;
      const entry = full.has(waiter.route) ? undefined : this.context.providerGates.enter(waiter.providers);
      if (entry === undefined && waiter.until >= now) full.add(waiter.route);
      else this.admit(queue, waiter, entry);
    }
    this.waitForProviders([...this.queues.values()].flatMap((queue) => queue.heldUp()));
  }

  /**
   * The take-over with the earliest run deadline; if there is none, the next start, from the queue whose turn it is.
   * Admitting it moves that queue to the end.
   */
  private next(isEligible: Eligible<Waiter>): Next | undefined {
    let next: Next | undefined;
    for (const queue of this.queues.values()) {
      const waiter = queue.earliest('takeOvers', isEligible);
      if (waiter !== undefined && (next === undefined || runDeadlineOf(waiter) < runDeadlineOf(next.waiter)))
        next = { queue, waiter };
    }
    if (next !== undefined) return next;
    for (const queue of this.queues.values()) {
      const waiter = queue.nextStart(isEligible);
      if (waiter !== undefined) return { queue, waiter };
    }
    return undefined;
  }

  private admit(queue: SlotQueue<Waiter>, waiter: Waiter, entry: Entry | undefined): void {
    const { generationId, g, admit } = waiter;
    const leave = queue.admit(waiter);
    this.waiters.delete(generationId);
    if (entry !== undefined) {
      this.queues.delete(g.modelKey);
      this.queues.set(g.modelKey, queue);
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

  private queue(modelKey: string): SlotQueue<Waiter> {
    let queue = this.queues.get(modelKey);
    if (queue === undefined) {
      queue = new SlotQueue(() => this.context.catalog.find(modelKey) ?? ONE_AT_A_TIME);
      this.queues.set(modelKey, queue);
    }
    return queue;
  }
}

interface Next {
  readonly queue: SlotQueue<Waiter>;
  readonly waiter: Waiter;
}

/** A slot of a model. */
export interface Slot {
  /** For one that submits: the room that it has at a provider, to be given back as well. */
  readonly entry: Entry | undefined;
  /** Gives the slot back. Giving it back again does nothing. */
  release(): void;
}

interface Waiter extends SlotRequest {
  g: Generation;
  runDeadlineAt: number | undefined;
  providers: readonly string[];
  /** The providers as one text: those with the same one get into the same providers. */
  route: string;
  /** When waiting for a provider is of no use any more. */
  until: number;
  readonly admit: (slot: Slot) => void;
  readonly refuse: (reason: Error) => void;
}

/** A request for a slot of a model. */
export interface SlotRequest {
  readonly generationId: string;
  readonly accountId: string;
  /** Run deadline of a generation that is running already and lost its worker; absent for one that has yet to start. */
  readonly runDeadlineAt?: number | undefined;
  /** Names of connected providers, one of which it needs; empty for a generation that submits nothing. */
  readonly providers: readonly string[];
}

export type SlotLimits = Pick<Model, 'concurrency' | 'concurrencyPerAccount'>;

/** The slots of a model that the catalog lacks: a generation that takes one frees it immediately. */
const ONE_AT_A_TIME: SlotLimits = { concurrency: 1, concurrencyPerAccount: 1 };

/** Whether a waiter may have a slot, apart from the limits of the queue. */
export type Eligible<W> = (waiter: W) => boolean;

/** The waiters of each account, in order of whose turn is next. No list is empty. */
type Line<W> = Map<string, W[]>;

/** How many accounts whose first generation cannot go on are skipped before the line waits for them. */
const MAX_SKIPPED = 100;

/**
 * The slots that one model has in this process, and the waiters for them. Generations that submit nothing come first,
 * because their result may be there already. Take-overs come before new starts, because their run deadline keeps
 * running while they wait. Among take-overs the earliest run deadline comes first, and accounts with equal deadlines
 * take turns. New starts are taken from the accounts in turn, so that an account with a thousand queued generations
 * does not delay another account's first. An account that has its share is skipped, and delays no other.
 */
export class SlotQueue<W extends SlotRequest> {
  private running = 0;
  private readonly runningByAccount = new Map<string, number>();
  /** Those that submit nothing, each account's by run deadline. */
  private readonly finishing: Line<W> = new Map();
  /** Each account's by run deadline, the earliest first. */
  private readonly takeOvers: Line<W> = new Map();
  /** Each account's in order of arrival. */
  private readonly starts: Line<W> = new Map();

  /** The limits are read whenever a slot is given: a new catalog may have changed them. */
  constructor(private readonly limits: () => SlotLimits) {}

  join(waiter: W): void {
    const { accountId, runDeadlineAt } = waiter;
    const line = this.lineOf(waiter);
    const waiting = line.get(accountId);
    if (!waiting) line.set(accountId, [waiter]);
    else if (line === this.starts) waiting.push(waiter);
    else waiting.splice(indexAfter(waiting, runDeadlineAt), 0, waiter);
  }

  /** Removes one that waits. */
  leave(waiter: W): void {
    const line = this.lineOf(waiter);
    const waiting = line.get(waiter.accountId);
    const index = waiting?.indexOf(waiter) ?? -1;
    if (waiting === undefined || index < 0) return;
    waiting.splice(index, 1);
    if (waiting.length === 0) line.delete(waiter.accountId);
  }

  /** Whether no generation waits to start, and the account could have one more slot. */
  hasSlotFor(accountId: string): boolean {
    return this.starts.size === 0 && this.hasSlot() && this.hasSlotToSpare(accountId);
  }

  /**
   * Among those that submit nothing, or among the take-overs: the earliest run deadline of the accounts with a slot to
   * spare; of equal ones, the account whose turn is first.
   */
  earliest(line: 'finishing' | 'takeOvers', isEligible?: Eligible<W>): W | undefined {
    let next: W | undefined;
    if (this[line].size === 0 || !this.hasSlot()) return undefined;
    for (const [accountId, [first]] of this[line]) {
      if (first === undefined || !this.hasSlotToSpare(accountId) || isEligible?.(first) === false) continue;
      if (next === undefined || runDeadlineOf(first) < runDeadlineOf(next)) next = first;
    }
    return next;
  }

  /** The first account in turn with a slot to spare. */
  nextStart(isEligible: Eligible<W>): W | undefined {
    if (!this.hasSlot()) return undefined;
    let skipped = 0;
    for (const [accountId, [first]] of this.starts) {
      if (first === undefined || !this.hasSlotToSpare(accountId)) continue;
      if (isEligible(first)) return first;
      if ((skipped += 1) === MAX_SKIPPED) return undefined;
    }
    return undefined;
  }

  /**
   * Gives a slot to the next waiter, whose account moves to the end of the queue. Returns a function that gives the
   * slot back.
   */
  admit(waiter: W): () => void {
    const { accountId } = waiter;
    const line = this.lineOf(waiter);
    const waiting = line.get(accountId) ?? [];
    waiting.shift();
    line.delete(accountId);
    if (waiting.length > 0) line.set(accountId, waiting);
    this.running += 1;
    this.count(accountId, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.running -= 1;
      this.count(accountId, -1);
    };
  }

  /** Those for which there are slots: they wait for a provider alone. In no particular order. */
  heldUp(): readonly W[] {
    const held: W[] = [];
    const left = this.limits().concurrency - this.running;
    const spare = new Map<string, number>();
    for (const line of [this.takeOvers, this.starts]) {
      for (const [accountId, waiting] of line) {
        if (held.length >= left) return held;
        const share = spare.get(accountId) ?? this.limits().concurrencyPerAccount - this.runningBy(accountId);
        const those = waiting.slice(0, Math.max(0, Math.min(share, left - held.length)));
        spare.set(accountId, share - those.length);
        held.push(...those);
      }
    }
    return held;
  }

  private lineOf({ providers, runDeadlineAt }: W): Line<W> {
    if (providers.length === 0) return this.finishing;
    return runDeadlineAt === undefined ? this.starts : this.takeOvers;
  }

  private hasSlot(): boolean {
    return this.running < this.limits().concurrency;
  }

  private hasSlotToSpare(accountId: string): boolean {
    return this.runningBy(accountId) < this.limits().concurrencyPerAccount;
  }

  private runningBy(accountId: string): number {
    return this.runningByAccount.get(accountId) ?? 0;
  }

  private count(accountId: string, by: 1 | -1): void {
    const next = this.runningBy(accountId) + by;
    if (next === 0) this.runningByAccount.delete(accountId);
    else this.runningByAccount.set(accountId, next);
  }
}

function runDeadlineOf({ runDeadlineAt = Infinity }: Pick<SlotRequest, 'runDeadlineAt'>): number {
  return runDeadlineAt;
}

/** The position of one with this deadline: after those that are not later. */
function indexAfter(waiting: readonly SlotRequest[], runDeadlineAt = Infinity): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (runDeadlineOf(waiting[middle] as SlotRequest) <= runDeadlineAt) low = middle + 1;
    else high = middle;
  }
  return low;
}
