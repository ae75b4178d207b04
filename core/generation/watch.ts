import { itemsOf } from '../paging.js';
import type {
  AcceptanceStore,
  AppGenerations,
  GenerationChanges,
  GenerationStore,
  WrittenGeneration,
} from '../ports/stores.js';
import type { Ports } from '../ports/ports.js';
import { type Generation, type GenerationRecord, isTerminal } from './generation.js';

/** How often followed generations are read, in milliseconds, if other processes may change them. */
export const LOOK_EVERY_MS = 500;
/**
 * The same, if every change is made by this process or reported by the store: reads only find changes that got lost.
 */
export const LOOK_SELDOM_MS = 5_000;

/** Reads that are under way at the same time. */
const READS_AT_ONCE = 8;

type OnRecord = (record: GenerationRecord | null) => void;

/**
 * Notifies calls of this process of changes to the generations they wait for: at once for writes of this process, and
 * for writes of others when the store reports them or a read finds them. All are read in one loop, each once however
 * many calls wait for it. Nothing is read while no call waits.
 */
export class GenerationWatch {
  /** In arrays of their exact number: most generations have one follower, for which a Set takes 150 bytes. */
  private readonly followers = new Map<string, readonly OnRecord[]>();
  private readonly elsewhere: ChangeFeed;
  /** The feed's `told` when the last look started; undefined unless that look found everything. */
  private lookedIn: number | undefined;
  private cancelTimer: (() => void) | undefined;
  private isLooking = false;

  constructor(
    private readonly ports: Pick<Ports, 'generations' | 'clock'>,
    isAlone = false,
    changes?: GenerationChanges,
  ) {
    const watch = {
      written: (change: WrittenGeneration) => {
        const { generationId } = change;
        if (this.followers.has(generationId)) this.tell(generationId, change.record());
      },
      hurry: () => this.hurry(),
    };
    this.elsewhere = new ChangeFeed(watch, changes, isAlone);
  }

  /** How many generations are followed. */
  get followed(): number {
    return this.followers.size;
  }

  /**
   * Notifies the listener each time the generation was written by this process or read, until the returned function is
   * called; an older version may follow a newer one. A failed read is not reported, because the next one may succeed.
   * `tell` must not throw.
   */
  follow(generationId: string, tell: OnRecord): () => void {
    this.followers.set(generationId, (this.followers.get(generationId) ?? []).concat(tell));
    this.elsewhere.begin();
    this.schedule();
    return () => {
      const left = (this.followers.get(generationId) ?? []).filter((one) => one !== tell);
      if (left.length > 0) return void this.followers.set(generationId, left);
      if (!this.followers.delete(generationId)) return;
      if (this.followers.size > 0) return;
      this.elsewhere.end();
      this.cancelTimer?.();
      this.cancelTimer = undefined;
    };
  }

  /** This process has written the record. */
  written(record: GenerationRecord): void {
    this.elsewhere.noteOwn(record);
    this.tell(record.generationId, record);
  }

  private tell(generationId: string, record: GenerationRecord | null): void {
    for (const tell of this.followers.get(generationId) ?? []) tell(record);
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isLooking || this.followers.size === 0) return;
    this.cancelTimer = this.ports.clock.after(this.elsewhere.pauseMs(this.lookedIn), () => void this.look());
  }

  private hurry(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.schedule();
  }

  private async look(): Promise<void> {
    this.cancelTimer = undefined;
    this.isLooking = true;
    const { told } = this.elsewhere;
    let isComplete = true;
    await forEach(this.followers.keys(), async (id) => {
      try {
        this.tell(id, await this.ports.generations.read(id));
      } catch {
        // An outage has its own lines in the log.
        isComplete = false;
      }
    });
    this.lookedIn = isComplete ? told : undefined;
    this.isLooking = false;
    this.schedule();
  }
}

/** Does the work for each id, a bounded number of them at a time. */
async function forEach(ids: Iterable<string>, work: (id: string) => Promise<void>): Promise<void> {
  const left = [...ids].values();
  const takeTurns = async (): Promise<void> => {
    for (const id of left) await work(id);
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, takeTurns));
}

const PAGE = 1_000;

/** In this order, a generation that starts to run in between is in one of both lists. */
const OPEN = ['queued', 'running'] as const;

/**
 * How far before the last look a look lists created generations, in milliseconds, because clocks of other processes may
 * be behind. Usually they are a little behind; now and then a look covers the maximum skew, and a client that resumes
 * its stream requests as much again.
 */
const NARROW_MS = 10_000;
const WIDE_MS = 2 * 60_000;
const WIDE_EVERY = 20;

interface Followed {
  readonly followers: Set<(record: GenerationRecord) => void>;
  /** Ids of the generations that were open at the last look. */
  open: ReadonlySet<string>;
  cancelTimer?: (() => void) | undefined;
  /** The feed's `told` when the last look started; undefined unless that look found everything. */
  lookedIn?: number | undefined;
  /** When the last look that found everything started. */
  lookedAt: number;
  looks: number;
}

/**
 * Notifies calls of this process of every change to an App's generations: at once for writes of this process, and for
 * writes of others when the store reports them or when the open generations are listed, which happens once per App
 * however many follow it. A generation that is not open any more is read once again. Nothing is listed while nobody
 * follows.
 */
export class AppWatch {
  private readonly apps = new Map<string, Followed>();
  private readonly elsewhere: ChangeFeed;
  /** The last work in turn, by App. */
  private readonly turns = new Map<string, Promise<unknown>>();

  constructor(
    private readonly ports: Pick<Ports, 'generations' | 'clock'>,
    isAlone = false,
    changes?: GenerationChanges,
  ) {
    const watch = {
      written: (change: WrittenGeneration) => this.writtenElsewhere(change),
      hurry: () => this.hurry(),
    };
    this.elsewhere = new ChangeFeed(watch, changes, isAlone);
  }

  /** How many Apps are followed. */
  get followed(): number {
    return this.apps.size;
  }

  /**
   * Notifies the listener of each generation of the App that was written by this process or found open or ended, until
   * the returned function is called; an older version may follow a newer one, and an unchanged one may be repeated. A
   * look that fails is repeated. `tell` must not throw.
   */
  follow(appId: string, tell: (record: GenerationRecord) => void): () => void {
    const known = this.apps.get(appId);
    const app: Followed = known ?? {
      followers: new Set(),
      open: new Set(),
      lookedAt: this.ports.clock.now(),
      looks: 1,
    };
    app.followers.add(tell);
    if (known === undefined) {
      this.apps.set(appId, app);
      this.elsewhere.begin();
      this.schedule(appId, app);
    }
    return () => {
      app.followers.delete(tell);
      if (app.followers.size > 0 || this.apps.get(appId) !== app) return;
      this.apps.delete(appId);
      app.cancelTimer?.();
      if (this.apps.size === 0) this.elsewhere.end();
    };
  }

  /** This process has written the record. */
  written(record: GenerationRecord): void {
    const app = this.apps.get(record.appId);
    if (app === undefined) return;
    this.elsewhere.noteOwn(record);
    tellAll(app, record);
  }

  private writtenElsewhere(change: WrittenGeneration): void {
    const app = this.apps.get(change.appId ?? '');
    if (app !== undefined) tellAll(app, change.record());
  }

  private hurry(): void {
    for (const [appId, app] of this.apps) {
      // One that is being looked at is looked at again soon after.
      if (app.cancelTimer === undefined) continue;
      app.cancelTimer();
      this.schedule(appId, app);
    }
  }

  /** The time before which every change has been reported, apart from the clock skew of other processes. */
  completeTo(appId: string): number {
    return this.apps.get(appId)?.lookedAt ?? 0;
  }

  /** Runs the work once all earlier work for the same App is done. */
  async inTurn<T>(appId: string, work: () => Promise<T>): Promise<T> {
    const before = this.turns.get(appId);
    const done = before === undefined ? work() : before.then(work, work);
    this.turns.set(appId, done);
    try {
      return await done;
    } finally {
      if (this.turns.get(appId) === done) this.turns.delete(appId);
    }
  }

  /** Lists all open generations of an App. If the App is followed, they are tracked from now on. */
  async open(appId: string): Promise<Generation[]> {
    const found = await this.listOpen(appId);
    const app = this.apps.get(appId);
    if (app !== undefined) app.open = new Set([...app.open, ...found.map(({ generationId }) => generationId)]);
    return found;
  }

  private async listOpen(appId: string): Promise<Generation[]> {
    const found: Generation[] = [];
    for (const value of OPEN) {
      const wanted = { of: 'app', appId, only: { field: 'status', value } } as const;
      for await (const generation of this.listed(wanted)) found.push(generation);
    }
    return found;
  }

  private listed(wanted: AppGenerations): AsyncGenerator<Generation> {
    return itemsOf((page) => this.ports.generations.list(wanted, page), PAGE);
  }

  private schedule(appId: string, app: Followed): void {
    if (this.apps.get(appId) !== app) return;
    app.cancelTimer = this.ports.clock.after(this.elsewhere.pauseMs(app.lookedIn), () => void this.look(appId, app));
  }

  private async look(appId: string, app: Followed): Promise<void> {
    app.cancelTimer = undefined;
    app.lookedIn = undefined;
    const { told } = this.elsewhere;
    const lookedAt = this.ports.clock.now();
    try {
      const now = new Set<string>();
      const seen = (generation: Generation): void => {
        tellAll(app, generation);
        if (!isTerminal(generation.status)) now.add(generation.generationId);
      };
      for (const generation of await this.listOpen(appId)) seen(generation);
      // A generation that was created and has ended between two looks was in neither.
      const createdFrom = Math.max(0, app.lookedAt - (app.looks % WIDE_EVERY === 0 ? WIDE_MS : NARROW_MS));
      for await (const generation of this.listed({ of: 'app', appId, createdFrom })) seen(generation);
      const gone = [...app.open].filter((id) => !now.has(id));
      await forEach(gone, async (id) => {
        const record = await this.ports.generations.read(id);
        if (record === null) return;
        tellAll(app, record);
        if (record.kind === 'generation' && !isTerminal(record.status)) now.add(id);
      });
      app.open = now;
      app.lookedAt = lookedAt;
      app.lookedIn = told;
      app.looks += 1;
    } catch {
      // An outage has its own lines in the log.
    }
    this.schedule(appId, app);
  }
}

function tellAll({ followers }: Followed, record: GenerationRecord): void {
  for (const tell of followers) tell(record);
}

interface Watch {
  written(record: GenerationRecord): void;
}

/** Wraps a store so that the watches of this process are notified of writes through it. */
export function watchedGenerations(store: GenerationStore, ...watches: readonly Watch[]): GenerationStore {
  const written = (record: GenerationRecord): void => {
    for (const watch of watches) watch.written(record);
  };
  return {
    async insert(record) {
      const outcome = await store.insert(record);
      if (outcome.inserted) written(record);
      return outcome;
    },
    async replace(next, expectedVersion) {
      const outcome = await store.replace(next, expectedVersion);
      if (outcome === 'applied') written(next);
      return outcome;
    },
    read: store.read.bind(store),
    remove: store.remove.bind(store),
    due: store.due.bind(store),
    list: store.list.bind(store),
    stored: store.stored.bind(store),
    countOpen: store.countOpen.bind(store),
  };
}

/** The same for generations that are accepted through the store. */
export function watchedAcceptances(store: AcceptanceStore, ...watches: readonly Watch[]): AcceptanceStore {
  return {
    async accept(batch) {
      const outcome = await store.accept(batch);
      if (outcome.outcome !== 'accepted') return outcome;
      const others = new Set(outcome.existing.map(({ generationId }) => generationId));
      for (const generation of batch.generations)
        if (!others.has(generation.generationId)) for (const watch of watches) watch.written(generation);
      return outcome;
    },
  };
}

/** How many writes of this process are remembered, because the store reports them too. */
const MAX_OWN = 1_000;

export interface WatchOfWrites {
  /** Another process has written. */
  written(change: WrittenGeneration): void;
  /** The next look must happen sooner. */
  hurry(): void;
}

/**
 * Delivers writes of other processes to a watch: from the store, if it reports them, and by looking. Looks become
 * infrequent once one has found everything that was written before the store started to report.
 */
class ChangeFeed {
  private readonly own = new Map<string, number>();
  private followNoMore: (() => void) | undefined;
  private openings = 0;
  private isOpen = false;

  constructor(
    private readonly watch: WatchOfWrites,
    private readonly changes: GenerationChanges | undefined,
    private readonly isAlone: boolean,
  ) {}

  /**
   * Identifies the period in which the store has reported every write; undefined while it does not. Read it before a
   * look.
   */
  get told(): number | undefined {
    return this.isOpen ? this.openings : undefined;
  }

  /**
   * The delay before the next look, in milliseconds. `told` is the value before the last look, if that found
   * everything.
   */
  pauseMs(told: number | undefined): number {
    return this.isAlone || (told !== undefined && told === this.told) ? LOOK_SELDOM_MS : LOOK_EVERY_MS;
  }

  begin(): void {
    this.followNoMore ??= this.changes?.follow({
      opened: () => {
        this.openings += 1;
        this.isOpen = true;
      },
      interrupted: () => {
        this.isOpen = false;
        this.watch.hurry();
      },
      written: (change) => {
        if ((this.own.get(change.generationId) ?? -1) < change.version) this.watch.written(change);
      },
    });
  }

  end(): void {
    this.followNoMore?.();
    this.followNoMore = undefined;
    this.isOpen = false;
    this.own.clear();
  }

  /** This process has written the record, so the store's report of it is ignored. */
  noteOwn({ generationId, version }: GenerationRecord): void {
    if (this.followNoMore === undefined) return;
    this.own.delete(generationId);
    this.own.set(generationId, version);
    const [oldest] = this.own.keys();
    if (this.own.size > MAX_OWN && oldest !== undefined) this.own.delete(oldest);
  }
}
