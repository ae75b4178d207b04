import { setTimeout as pause } from 'node:timers/promises';
import { CallOver, type Cancellation } from '../../../../core/cancellation.js';
import type { Context } from '../../../../core/context.js';
import { verifyCredits, type Verification, type VerifyProgress } from '../../../../core/credits/verify.js';
import { ServiceError } from '../../../../core/errors.js';

/** How long one may take, in milliseconds. */
const LONGEST_MS = 3_600_000;
/** The longest that it rests at a time. */
const LONGEST_REST_MS = 1_000;

/** The stores of this process whose books are being checked: each check reads everything. */
const checked = new WeakSet<Context['accounts']>();

/**
 * One check of the books of all accounts, from its making on. After each page that it has read, and every 500 items that
 * it has compared, it rests as long as that took, so that it takes half of a processor at most, and the requests of others
 * go on in between.
 */
export class BooksCheck implements Cancellation {
  readonly deadline = Infinity;
  /** What was examined so far. */
  progress: VerifyProgress = { accounts: 0, entries: 0, generations: 0 };
  /** The result; null for a check that was stopped. Rejects as stores do. */
  readonly result: Promise<Verification | null>;
  private readonly told = new Set<() => void>();
  private isStopped = false;

  /** Throws CONFLICT while another one runs over the same stores in this process. */
  constructor(private readonly context: Context) {
    if (checked.has(context.accounts))
      throw new ServiceError('CONFLICT', 'This process checks the books already; wait until that check has ended.');
    checked.add(context.accounts);
    this.result = this.run();
    // Who asked for it may be gone.
    this.result.catch(() => undefined);
  }

  get isOver(): boolean {
    return this.isStopped;
  }

  onOver(tell: () => void): () => void {
    this.told.add(tell);
    return () => this.told.delete(tell);
  }

  /** It ends with the page that it reads or compares. */
  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    for (const tell of this.told) tell();
  }

  private async run(): Promise<Verification | null> {
    const startedAt = performance.now();
    let resumedAt = startedAt;
    const rest = async (progress: VerifyProgress): Promise<void> => {
      this.progress = progress;
      await pause(Math.min(LONGEST_REST_MS, Math.ceil(performance.now() - resumedAt)));
      resumedAt = performance.now();
      if (resumedAt - startedAt > LONGEST_MS) this.stop();
      if (this.isStopped) throw new CallOver();
    };
    try {
      return await verifyCredits({ ...this.context, call: this }, rest);
    } catch (error) {
      if (error instanceof CallOver) return null;
      throw error;
    } finally {
      checked.delete(this.context.accounts);
    }
  }
}
