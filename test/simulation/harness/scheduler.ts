import { settled } from '../../fixtures/manual-clock.js';
import type { Chance } from './chance.js';

/**
 * On whose behalf something happens. What belongs to one who is dead does not happen; what belongs to one asleep waits.
 */
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

/** A minute before a month ends, UTC: what is counted by month goes on in the next one while clients are at work. */
const BEGINNING = Date.UTC(2029, 11, 31, 23, 59);

/**
 * Owns time. Nothing in a run waits for anything but this: each step takes the next happening, lets it and every
 * continuation that follows from it run to where they wait again, and only then goes on. What is due at the same time
 * happens in an order that the seed decides.
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

  /** Has `run` happen after `delayMs`, unless the returned function is called before. */
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

  /** Ends the run with this error: for what goes wrong where nobody waits. */
  fail(error: unknown): void {
    this.failure ??= { error };
  }

  /** Runs until the work is done. Throws what it throws, and what `fail` was given. */
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
