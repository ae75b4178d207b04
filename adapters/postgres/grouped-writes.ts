import { isWrongData } from './errors.js';

/** How writes of one kind are grouped into statements. */
export interface GroupedWriting<T, R> {
  /** Two writes of one key are never in one statement, which could apply only one of them. */
  readonly keyOf: (write: T) => string;
  /** How many rows a write has; 1 if absent. */
  readonly weightOf?: (write: T) => number;
  /** Bounds the time of one write, the wait for its statement included; no bound if absent. */
  readonly bounded?: <O>(operation: () => Promise<O>) => Promise<O>;
  /** Applies the writes by one statement, and returns the outcome of each. */
  readonly write: (writes: readonly T[]) => Promise<readonly R[]>;
}

/** The most rows of a statement with several writes. */
const MOST = 64;

interface Waiting<T, R> {
  readonly write: T;
  readonly resolve: (outcome: R) => void;
  readonly reject: (error: unknown) => void;
  /** Whether its caller has given up. The next statement then leaves it out. */
  isOver: boolean;
}

/**
 * Writes several records by one statement, each with its own condition: a commit costs the server several times as much as one
 * more record. A statement has the writes that were requested in one turn of the event loop, or during the previous statement.
 * One statement runs at a time: two at a time have half as many writes each, and cost a quarter more together.
 */
export class GroupedWrites<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private isBusy = false;

  constructor(private readonly writing: GroupedWriting<T, R>) {}

  /** Rejects as the statement does, or when the time is over: the write may then have been applied. */
  async apply(write: T): Promise<R> {
    const { bounded = (operation) => operation() } = this.writing;
    let waiting: Waiting<T, R> | undefined;
    try {
      return await bounded(
        () =>
          new Promise<R>((resolve, reject) => {
            waiting = { write, resolve, reject, isOver: false };
            this.add(waiting);
          }),
      );
    } catch (error) {
      if (waiting !== undefined) waiting.isOver = true;
      throw error;
    }
  }

  private add(waiting: Waiting<T, R>): void {
    this.waiting.push(waiting);
    if (this.isBusy) return;
    this.isBusy = true;
    setImmediate(() => void this.writeWaiting());
  }

  private async writeWaiting(): Promise<void> {
    while (this.waiting.length > 0) await this.run(this.nextGroup());
    this.isBusy = false;
  }

  /** Takes the first write of each key, in the order of the requests. */
  private nextGroup(): readonly Waiting<T, R>[] {
    const { keyOf, weightOf = () => 1 } = this.writing;
    const group: Waiting<T, R>[] = [];
    const left: Waiting<T, R>[] = [];
    /** Also the keys of writes that are left: a later write of the same key must not overtake them. */
    const seen = new Set<string>();
    let rows = 0;
    for (const one of this.waiting.filter(({ isOver }) => !isOver)) {
      const key = keyOf(one.write);
      const added = Math.max(1, weightOf(one.write));
      if (!seen.has(key) && (rows === 0 || rows + added <= MOST)) {
        group.push(one);
        rows += added;
      } else left.push(one);
      seen.add(key);
    }
    this.waiting = left;
    return group;
  }

  private async run(group: readonly Waiting<T, R>[]): Promise<void> {
    if (group.length === 0) return;
    try {
      const outcomes = await this.writing.write(group.map(({ write }) => write));
      group.forEach(({ resolve }, index) => resolve(outcomes[index] as R));
    } catch (error) {
      // The content of one write is invalid, so nothing was written: each write is repeated on its own.
      if (isWrongData(error) && group.length > 1) for (const one of group) await this.run([one]);
      else for (const { reject } of group) reject(error);
    }
  }
}
