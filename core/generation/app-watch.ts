import type { AppGenerations } from '../ports/generation-store.js';
import type { GenerationChanges, WrittenGeneration } from '../ports/generation-changes.js';
import type { Ports } from '../ports/tokens.js';
import { isTerminal, type Generation, type GenerationRecord } from './generation.js';
import { WritesElsewhere } from './writes-elsewhere.js';

const PAGE = 1_000;
/** Reads that are under way at the same time for one App. */
const READS_AT_ONCE = 8;
/** In this order one that begins to run in between is in one of both lists. */
const OPEN = ['queued', 'running'] as const;

/**
 * How long before the last look what was created since is listed, in milliseconds: clocks of other processes may be behind.
 * Mostly by a little; now and then as far as they may be, and a client that resumes its stream asks for as much again.
 */
const NARROW_MS = 10_000;
const WIDE_MS = 2 * 60_000;
const WIDE_EVERY = 20;

type Told = (record: GenerationRecord) => void;

interface Followed {
  readonly followers: Set<Told>;
  /** What was open when it was last looked, by id. */
  open: ReadonlySet<string>;
  cancelTimer?: (() => void) | undefined;
  /** Since when everything was told as the last look began, if that found everything. */
  lookedIn?: number | undefined;
  /** When the last look began that found everything. */
  lookedAt: number;
  looks: number;
}

/**
 * Tells calls of this process of every change of an App's generations: at once of what this process writes, and of what
 * others write when the store tells of it, or when the open ones are listed, which happens once an App however many
 * follow it. What is not open any more is read once again. Nothing is listed while nobody follows.
 */
export class AppWatch {
  private readonly apps = new Map<string, Followed>();
  private readonly elsewhere: WritesElsewhere;
  /** By App: the last of those that take turns. */
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
    this.elsewhere = new WritesElsewhere(watch, changes, isAlone);
  }

  /** How many Apps are followed. */
  get followed(): number {
    return this.apps.size;
  }

  /**
   * Tells of each generation of the App that was written by this process or found to be open or ended, until the returned
   * function is called; an older version may come after a newer one, and one that did not change again. A look that fails
   * is repeated. `tell` must not throw.
   */
  follow(appId: string, tell: Told): () => void {
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

  /** Every change of before this time has been told of, but for what clocks of other processes are behind. */
  completeTo(appId: string): number {
    return this.apps.get(appId)?.lookedAt ?? 0;
  }

  /** Does the work once all that was asked for the same App before is done. */
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

  /** All open generations of an App. Where it is followed, they are looked after from now on. */
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

  private async *listed(wanted: AppGenerations): AsyncGenerator<Generation> {
    let cursor: string | undefined;
    do {
      const page = await this.ports.generations.list(wanted, {
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      });
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
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
      // What was created and has ended between two looks was in neither.
      const createdFrom = Math.max(0, app.lookedAt - (app.looks % WIDE_EVERY === 0 ? WIDE_MS : NARROW_MS));
      for await (const generation of this.listed({ of: 'app', appId, createdFrom })) seen(generation);
      const gone = [...app.open].filter((id) => !now.has(id)).values();
      await Promise.all(Array.from({ length: READS_AT_ONCE }, () => this.readAll(app, gone, now)));
      app.open = now;
      app.lookedAt = lookedAt;
      app.lookedIn = told;
      app.looks += 1;
    } catch {
      // An outage has its own lines in the log.
    }
    this.schedule(appId, app);
  }

  /** One of several that take ids from the same list. */
  private async readAll(app: Followed, ids: Iterator<string, undefined>, open: Set<string>): Promise<void> {
    for (let next = ids.next(); next.done !== true; next = ids.next()) {
      const record = await this.ports.generations.read(next.value);
      if (record === null) continue;
      tellAll(app, record);
      if (record.kind === 'generation' && !isTerminal(record.status)) open.add(record.generationId);
    }
  }
}

function tellAll({ followers }: Followed, record: GenerationRecord): void {
  for (const tell of followers) tell(record);
}
