import { isWrongData } from './errors.js';

/** How writes of one kind are grouped into statements. */
export interface GroupedWriting<T, R> {
  /** Two writes of one key are never in one statement, which could apply only one of them. */
  readonly keyOf: (write: T) => string;
  /** How many rows a write has; 1 if absent. */
  readonly weightOf?: (write: T) => number;
  /** Applies the writes by one statement, and returns the outcome of each. */
  readonly write: (writes: readonly T[]) => Promise<readonly R[]>;
}

/** The most rows of a statement with several writes, and statements at a time. */
const MOST = 64;
const AT_ONCE = 1;

interface Waiting<T, R> {
  readonly write: T;
  readonly resolve: (outcome: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes records by statements of several at a time, where each has its own condition: a statement has a commit, which costs
 * the server several times as much as one more record in it. What is asked for in one turn of the event loop goes together, and
 * while a statement is under way, what is asked for meanwhile: with two at a time each has half as many, and
 * together they cost a quarter more.
 */
export class GroupedWrites<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private underWay = 0;
  /** The keys in statements that are under way: two of one key would have no order, and wait for each other's lock. */
  private readonly keysUnderWay = new Set<string>();
  private isPlanned = false;

  constructor(private readonly writing: GroupedWriting<T, R>) {}

  /** Rejects as the statement does: the write may then have been applied. */
  apply(write: T): Promise<R> {
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
  private next(): ReadonlyMap<string, Waiting<T, R>> {
    const { keyOf, weightOf = () => 1 } = this.writing;
    const group = new Map<string, Waiting<T, R>>();
    const left: Waiting<T, R>[] = [];
    /** Of writes that are left: a later one of the same key must not overtake them. */
    const passedOver = new Set(this.keysUnderWay);
    let rows = 0;
    for (const one of this.waiting) {
      const key = keyOf(one.write);
      const added = Math.max(1, weightOf(one.write));
      if (!passedOver.has(key) && !group.has(key) && (rows === 0 || rows + added <= MOST)) {
        group.set(key, one);
        rows += added;
      } else {
        left.push(one);
        passedOver.add(key);
      }
    }
    this.waiting = left;
    return group;
  }

  private async run(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const outcomes = await this.writing.write(group.map(({ write }) => write));
      group.forEach(({ resolve }, index) => resolve(outcomes[index] as R));
    } catch (error) {
      // The content of one of them: nothing was written, and each is tried on its own.
      if (isWrongData(error) && group.length > 1) for (const one of group) await this.run([one]);
      else for (const { reject } of group) reject(error);
    }
  }
}
