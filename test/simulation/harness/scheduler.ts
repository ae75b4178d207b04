import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { settled } from '../../fixtures/clocks.js';

/** Prints every event, one line each, for a replayed seed. Without a listener it prints nothing and costs nothing. */
export class Timeline {
  private startedAt: number | undefined;

  constructor(private readonly print?: (line: string) => void) {}

  note(at: number, who: string, tell: () => string): void {
    if (this.print === undefined) return;
    this.startedAt ??= at;
    const seconds = ((at - this.startedAt) / 1_000).toFixed(3).padStart(10);
    this.print(`${seconds}  ${who.padEnd(12)} ${tell()}`);
  }
}

/** A value in few words: ids by their end, bytes by their count, records by their characteristic members. */
export function brief(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value.length > 30 ? `…${value.slice(-14)}` : value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (Symbol.asyncIterator in value) return 'stream';
  if (Array.isArray(value))
    return depth > 1 ? `[${value.length}]` : `[${value.map((item) => brief(item, depth + 1)).join(', ')}]`;
  if (value instanceof Map) return `${value.size} of them`;
  const fields = Object.entries(value).filter(
    ([name, field]) => field !== undefined && typeof field !== 'function' && !DULL.has(name),
  );
  return depth > 2 ? '{…}' : `{${fields.map(([name, field]) => `${name}: ${brief(field, depth + 1)}`).join(', ')}}`;
}

const DULL = new Set([
  'accountId',
  'appId',
  'modality',
  'operation',
  'prompt',
  'terms',
  'modelKey',
  'createdAt',
  'updatedAt',
  'estimatedCredits',
  'kind',
  'name',
  'created_at',
  'updated_at',
  'estimated_credits',
  'model_key',
  'currency',
  'negativePrompt',
  'sha256',
  'contentType',
  'inputSchema',
]);

type Generator = ReturnType<typeof xoroshiro128plus>;

/** The source of all randomness in a run: the same seed draws the same. */
export class Chance {
  private constructor(private readonly generator: Generator) {}

  static from(seed: number): Chance {
    // Neighbouring seeds start alike; a jump separates them.
    const generator = xoroshiro128plus(seed * 7_919 + 1);
    generator.jump();
    return new Chance(generator);
  }

  /** A separate stream, so that an additional draw here does not change the draws there. */
  fork(): Chance {
    const copy = this.generator.clone();
    this.generator.jump();
    return new Chance(copy);
  }

  /** An integer, both ends included. */
  between(least: number, most: number): number {
    return uniformInt(this.generator, least, most);
  }

  /** True this many times in a thousand. */
  happens(perMille: number): boolean {
    return perMille > 0 && this.between(1, 1_000) <= perMille;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.between(0, from.length - 1)] as T;
  }

  /** Mostly small numbers, and sometimes one near `most`. */
  skewed(most: number): number {
    return this.between(0, this.between(0, this.between(0, most)));
  }
}

/** The process on whose behalf something happens. Events of a dead one do not happen; events of a sleeping one wait. */
export interface Owner {
  readonly isAlive: boolean;
  readonly asleepUntil: number;
}

interface Happening {
  at: number;
  readonly tie: number;
  readonly owner: Owner | undefined;
  run: (() => void) | undefined;
}

/** A minute before a month ends, UTC: monthly counts enter a new month while clients are active. */
const BEGINNING = Date.UTC(2029, 11, 31, 23, 59);

/**
 * Owns time. A run waits for nothing else: each step takes the next event, runs it and every continuation that follows
 * from it until they wait again, and only then continues. Events due at the same time happen in an order that the seed
 * decides.
 */
export class Scheduler {
  private readonly heap: Happening[] = [];
  private time = BEGINNING;
  private failure: { readonly error: unknown } | undefined;
  steps = 0;

  constructor(private readonly chance: Chance) {}

  /** True time, in milliseconds. */
  get now(): number {
    return this.time;
  }

  /** Schedules `run` after `delayMs`, unless the returned function is called before. */
  after(delayMs: number, run: () => void, owner?: Owner): () => void {
    const happening: Happening = {
      at: this.time + Math.ceil(delayMs),
      tie: this.chance.between(0, 0x7fffffff),
      owner,
      run,
    };
    this.push(happening);
    return () => {
      happening.run = undefined;
    };
  }

  /** For actors that are part of the run themselves. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  /** Ends the run with this error: for failures where no caller awaits. */
  fail(error: unknown): void {
    this.failure ??= { error };
  }

  /** Runs until the work is done. Throws its error, and any error given to `fail`. */
  async run<T>(work: Promise<T>): Promise<T> {
    const outcomes: T[] = [];
    work.then(
      (value) => outcomes.push(value),
      (error: unknown) => this.fail(error),
    );
    await settled();
    while (outcomes.length === 0) {
      if (this.failure === undefined && !(await this.step()))
        throw new Error('Nothing is left to happen, and the run is not over.');
      if (this.failure !== undefined) throw this.failure.error;
    }
    return outcomes[0] as T;
  }

  private async step(): Promise<boolean> {
    const happening = this.pop();
    if (happening === undefined) return false;
    const { owner, run } = happening;
    if (run === undefined || owner?.isAlive === false) return true;
    if (owner !== undefined && owner.asleepUntil > happening.at) {
      happening.at = owner.asleepUntil;
      this.push(happening);
      return true;
    }
    this.time = Math.max(this.time, happening.at);
    this.steps += 1;
    run();
    await settled();
    return true;
  }

  private push(happening: Happening): void {
    const { heap } = this;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(happening, heap[parent] as Happening)) break;
      heap[index] = heap[parent] as Happening;
      index = parent;
    }
    heap[index] = happening;
  }

  private pop(): Happening | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Happening, heap[child] as Happening)) child += 1;
      if (child >= heap.length || !isBefore(heap[child] as Happening, last)) break;
      heap[index] = heap[child] as Happening;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.tie < b.tie);
}
