import type { Context } from '../../context.js';
import { changeGeneration } from '../change-generation.js';
import type { GenerationCommand } from '../commands.js';
import type { GenerationRefusal } from '../decision.js';
import { isTerminal, type Generation } from '../generation.js';

/** Another worker holds a newer fence, or the generation has ended: nothing we write can succeed any more. */
export class LeaseLost extends Error {
  constructor(readonly generation: Generation) {
    super(`The lease of generation ${generation.generationId} is lost.`);
    this.name = 'LeaseLost';
  }
}

type Fenced = Extract<GenerationCommand, { fence: number }>;
type Unfenced<C> = C extends unknown ? Omit<C, 'fence'> : never;
export type HolderCommand = Unfenced<Fenced>;

export type LeaseNews = 'lease lost' | 'lease lapsed' | 'cancelled';

/**
 * The one writer of a leased generation in this process. Writes are serial, each with the fence. The lease is renewed
 * every third of its time, so that code that waits for a provider need not renew it. `onNews` is called when a renewal
 * finds that the lease is lost or that a cancel was requested elsewhere, and when the lease has lapsed without renewal:
 * another worker may have it. `leasedAt` is when the write began that took the lease, by the monotonic clock.
 */
export class LeaseHolder {
  private tail: Promise<unknown> = Promise.resolve();
  private cancelBeat: (() => void) | undefined;
  private cancelLapse: (() => void) | undefined;
  private ended = false;
  private progress: number | undefined;
  private fence: number;
  private heldUntil: number;
  private readonly worker: string | undefined;
  /** Whether the answer to a re-lease was lost: then nothing but another re-lease is written. */
  private isUnsure = false;

  constructor(
    private readonly context: Context,
    private current: Generation,
    leasedAt: number,
    private readonly onNews: (news: LeaseNews) => void,
  ) {
    this.fence = current.fence;
    this.worker = current.lease?.worker;
    this.heldUntil = leasedAt + context.settings.leaseMs;
    this.watchLapse();
    this.beatLater();
  }

  /**
   * The newest version this holder knows. Throws `LeaseLost` when that is another holder's: its fence names the keys of
   * delivered outputs, and nothing may be done under it.
   */
  get generation(): Generation {
    this.throwIfLost();
    return this.current;
  }

  /** The newest version this holder knows, whoever holds it. */
  get lastKnown(): Generation {
    return this.current;
  }

  /**
   * Until when the lease is held by the monotonic clock: counted from before the write that renewed it last, so that a
   * process that was paused, or whose wall clock was set back, does not take a lapsed lease for its own.
   */
  get leaseHeldUntil(): number {
    return this.heldUntil;
  }

  /** Kept for the next renewal; not worth a separate write. */
  noteProgress(progress: number): void {
    this.progress = progress;
  }

  /** Writes as the holder. Throws `LeaseLost`; another refusal is answered, with the newest version. */
  write(command: HolderCommand): Promise<{ readonly generation: Generation; readonly refused?: GenerationRefusal }> {
    return this.inTurn(async () => {
      const from = this.context.clock.monotonic();
      const changed = await changeGeneration(this.context, this.current, { ...command, fence: this.fence });
      this.current = changed.generation;
      if (changed.refused !== undefined) this.throwIfLost();
      if (command.event === 'renew') this.renewed(from);
      return changed;
    });
  }

  /**
   * Continues under a new fence. Throws `LeaseLost`. After `StoreUnavailable` it is unknown which fence is valid, and
   * the run is over, unless this is called again and succeeds.
   */
  reLease(): Promise<Generation> {
    return this.inTurn(async () => {
      const { leaseMs } = this.context.settings;
      const from = this.context.clock.monotonic();
      const wasUnsure = this.isUnsure;
      this.isUnsure = true;
      const { generation, refused } = await changeGeneration(this.context, this.current, {
        event: 're-lease',
        leaseMs,
        fence: this.fence,
      });
      const isTakenBefore = wasUnsure && this.isNextOfOurs(generation);
      this.isUnsure = false;
      this.current = generation;
      if (refused !== undefined && !isTakenBefore) throw new LeaseLost(generation);
      this.fence = generation.fence;
      this.renewed(from);
      return generation;
    });
  }

  /** Reads the newest version, so that a cancel asked for elsewhere is seen. Throws `LeaseLost`. */
  refresh(): Promise<Generation> {
    return this.inTurn(async () => {
      const record = await this.context.generations.read(this.current.generationId);
      if (record?.kind !== 'generation') throw new LeaseLost(this.current);
      this.current = record;
      this.throwIfLost();
      return record;
    });
  }

  /** No renewal from here on. */
  end(): void {
    this.ended = true;
    this.cancelBeat?.();
    this.cancelLapse?.();
  }

  /** Whether it has the lease that this holder asked for without learning that it got it. */
  private isNextOfOurs({ lease }: Generation): boolean {
    const { boot } = this.context;
    return lease?.fence === this.fence + 1 && lease.worker === this.worker && lease.bootId === boot.id;
  }

  private renewed(from: number): void {
    this.heldUntil = from + this.context.settings.leaseMs;
    this.watchLapse();
  }

  private throwIfLost(): void {
    if (isTerminal(this.current.status) || this.current.lease?.fence !== this.fence) throw new LeaseLost(this.current);
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  private beatLater(): void {
    if (this.ended) return;
    this.cancelBeat = this.context.clock.after(Math.floor(this.context.settings.leaseMs / 3), () => void this.beat());
  }

  /** The clock may have jumped since the lease was written; its whole time is the maximum wait. */
  private watchLapse(): void {
    this.cancelLapse?.();
    if (this.ended) return;
    const {
      clock,
      settings: { leaseMs },
    } = this.context;
    const leftMs = (this.current.lease?.expiresAt ?? 0) - clock.now();
    this.cancelLapse = clock.after(Math.min(leaseMs, Math.max(0, leftMs)), () => this.onNews('lease lapsed'));
  }

  private async beat(): Promise<void> {
    if (this.ended) return;
    if (this.isUnsure) return this.beatLater();
    const wasCancelled = this.current.cancelRequestedAt !== undefined;
    try {
      await this.write({
        event: 'renew',
        leaseMs: this.context.settings.leaseMs,
        ...(this.progress === undefined ? {} : { progress: this.progress }),
      });
      if (!wasCancelled && this.current.cancelRequestedAt !== undefined) this.onNews('cancelled');
    } catch (error) {
      if (error instanceof LeaseLost) return this.onNews('lease lost');
      this.context.log.warn('lease not renewed', { generationId: this.current.generationId, error });
    }
    this.beatLater();
  }
}
