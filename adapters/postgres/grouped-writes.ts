import { isWrongData } from './errors.js';

/** How writes of one kind are grouped into statements. */
export interface GroupedWriting<T> {
  /** Two writes of one key are never in one statement, which could apply only one of them. */
  readonly keyOf: (write: T) => string;
  /** Applies the writes by one statement, and returns the keys of those that were applied. */
  readonly write: (writes: readonly T[]) => Promise<ReadonlySet<string>>;
}

/** The most writes of a statement, and statements at a time. */
const MOST = 64;
const AT_ONCE = 2;

interface Waiting<T> {
  readonly write: T;
  readonly resolve: (outcome: 'applied' | 'conflict') => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes records by statements of several at a time, where each has its own condition: a statement has a commit, which costs
 * the server several times as much as one more record in it. What is asked for in one turn of the event loop goes together, and
 * while two statements are under way, what is asked for meanwhile.
 */
export class GroupedWrites<T> {
  private waiting: Waiting<T>[] = [];
  private underWay = 0;
  /** The keys in statements that are under way: two of one key would have no order, and wait for each other's lock. */
  private readonly keysUnderWay = new Set<string>();
  private isPlanned = false;

  constructor(private readonly writing: GroupedWriting<T>) {}

  /** Rejects as the statement does: the write may then have been applied. */
  apply(write: T): Promise<'applied' | 'conflict'> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ write, resolve, reject });
      if (this.isPlanned || this.underWay >= AT_ONCE) return;
      this.isPlanned = true;
      setImmediate(() => {
        this.isPlanned = false;
        this.begin();
      });
    });
  }

  private begin(): void {
    while (this.underWay < AT_ONCE) {
      const group = this.next();
      if (group.size === 0) return;
      this.underWay += 1;
      for (const key of group.keys()) this.keysUnderWay.add(key);
      void this.run([...group.values()]).finally(() => {
        this.underWay -= 1;
        for (const key of group.keys()) this.keysUnderWay.delete(key);
        this.begin();
      });
    }
  }

  /** The first of each key that is not under way, in the order in which they were asked for. */
  private next(): ReadonlyMap<string, Waiting<T>> {
    const group = new Map<string, Waiting<T>>();
    const left: Waiting<T>[] = [];
    for (const one of this.waiting) {
      const key = this.writing.keyOf(one.write);
      if (group.size < MOST && !group.has(key) && !this.keysUnderWay.has(key)) group.set(key, one);
      else left.push(one);
    }
    this.waiting = left;
    return group;
  }

  private async run(group: readonly Waiting<T>[]): Promise<void> {
    try {
      const applied = await this.writing.write(group.map(({ write }) => write));
      for (const { write, resolve } of group) resolve(applied.has(this.writing.keyOf(write)) ? 'applied' : 'conflict');
    } catch (error) {
      // The content of one of them: nothing was written, and each is tried on its own.
      if (isWrongData(error) && group.length > 1) for (const one of group) await this.run([one]);
      else for (const { reject } of group) reject(error);
    }
  }
}
