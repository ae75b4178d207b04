import type { Files, Machine, Models, Money, Webhooks, Work } from '../../context.js';
import { StoreUnavailable } from '../../errors.js';
import { backoffMs } from '../../settings.js';
import type { WakeableDelay } from '../../waiting.js';
import type { GenerationRefusal, HolderCommand } from '../decide.js';
import { type Generation, isTerminal, runEndsAt, taskError, type TaskError } from '../generation.js';
import { changeGeneration, changeOnce, settleNowOrSoon } from '../settle-generation.js';
import { deadlineOf, type Execution, executionsOf, leaveToOthers, providersNeeded } from './executions.js';

/** Another worker holds a newer fence, or the generation has ended: nothing we write can succeed any more. */
export class LeaseLost extends Error {
  constructor(readonly generation: Generation) {
    super(`The lease of generation ${generation.generationId} is lost.`);
    this.name = 'LeaseLost';
  }
}

export type LeaseNews = 'lease lost' | 'lease lapsed' | 'cancelled';

/**
 * The only writer of a leased generation in this process. Writes are serial, each with the fence. The lease is renewed
 * every third of its time, so that code that waits for a provider need not renew it. `onNews` is called when a renewal
 * finds that the lease is lost or that a cancel was requested elsewhere, and when the lease has lapsed without renewal,
 * because another worker may have it. `leasedAt` is when the write that took the lease started, by the monotonic clock.
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
    private readonly context: Work & Machine,
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

  /** Reads the newest version, so that a cancel requested elsewhere is seen. Throws `LeaseLost`. */
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

  /** Whether it has the lease that this holder requested without learning that it got it. */
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
    const { clock, settings } = this.context;
    const leftMs = (this.current.lease?.expiresAt ?? 0) - clock.now();
    this.cancelLapse = clock.after(Math.min(settings.leaseMs, Math.max(0, leftMs)), () => this.onNews('lease lapsed'));
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

/**
 * Keeps a provider's answer while our own store is unavailable and the answer is of use, because it exists nowhere
 * else.
 */
export class RetryBudget {
  private isOver = false;

  constructor(
    private readonly context: Machine,
    private readonly holder: Pick<LeaseHolder, 'lastKnown'>,
    private readonly rest: WakeableDelay,
  ) {}

  /** This process waits no longer. */
  end(): void {
    this.isOver = true;
    this.rest.wake();
  }

  /** Tries until the store answers. Throws `StoreUnavailable` past the end of the run. */
  async try<T>(work: () => Promise<T>): Promise<T> {
    const { clock, settings, log } = this.context;
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        const { lastKnown } = this.holder;
        const { generationId } = lastKnown;
        if (!(error instanceof StoreUnavailable) || clock.now() > runEndsAt(lastKnown) || this.isOver) throw error;
        log.warn('answer of a provider not recorded yet', { generationId, error });
        await this.rest.sleep(backoffMs(settings, tries));
      }
    }
  }
}

export interface Taken extends Execution {
  readonly generation: Generation;
  /** When the write that took the lease started, by the monotonic clock: the lease holds from then on. */
  readonly leasedAt: number;
  /** Whether taking the lease also started the first attempt. */
  readonly isFresh: boolean;
}

/** The newest version of a generation that has to be looked at anew: it needs room elsewhere, or has just changed. */
export interface NeedsRoom {
  readonly needsRoom: Generation;
}

/**
 * Takes the lease of a generation for this worker, which has room at `provider`, or answers null when there is nothing to
 * take: it has ended, another worker has it, this one does not know its model, or it could no longer be started and was
 * failed.
 */
export async function takeLease(
  context: Money & Work & Files & Models & Webhooks & Machine,
  worker: string,
  generationId: string,
  provider?: string,
): Promise<Taken | NeedsRoom | null> {
  const record = await context.generations.read(generationId);
  if (record?.kind !== 'generation') return null;
  const executions = executionsOf(context, record);
  const execution = executions.find(({ providerName }) => providerName === provider) ?? executions[0];
  if (execution === undefined) return leaveToOthers(context, record);
  const isLate = context.clock.now() > deadlineOf(record);
  const needed = isLate ? [] : providersNeeded(context, record);
  if (needed.length > 0 && (provider === undefined || !needed.includes(provider))) return { needsRoom: record };
  const { leaseMs } = context.settings;
  const leasedAt = context.clock.monotonic();

  if (record.status === 'running') {
    // The execution is valid for this version only: another worker may have started an attempt elsewhere since.
    const generation = await changeOnce(context, record, { event: 'take-over', worker, leaseMs });
    return generation === undefined
      ? changedSince(context, record)
      : { generation, leasedAt, ...execution, isFresh: false };
  }
  if (record.status !== 'queued') return null;

  const obstacle = isLate ? TOO_LATE : await obstacleTo(context, record);
  if (obstacle) return giveUp(context, record, obstacle);
  const startedAt = context.clock.monotonic();
  const { generation, refused } = await changeGeneration(context, record, {
    event: 'start',
    worker,
    leaseMs,
    token: context.ids.uuid(),
    provider: execution.providerName,
  });
  if (refused === 'DEADLINE_PASSED') return giveUp(context, generation, TOO_LATE);
  return refused === undefined ? { generation, leasedAt: startedAt, ...execution, isFresh: true } : null;
}

const TOO_LATE = taskError('TASK_TIMEOUT', 'The generation waited too long for its turn.');

async function obstacleTo(context: Files, g: Generation): Promise<TaskError | undefined> {
  for (const reference of g.references) {
    if (!(await context.objects.stat(reference.objectKey)))
      return taskError('INPUT_INVALID', 'A reference file is no longer kept.');
  }
  return undefined;
}

async function changedSince({ generations }: Work, g: Generation): Promise<NeedsRoom | null> {
  const newest = await generations.read(g.generationId);
  return newest?.kind === 'generation' && newest.version !== g.version ? { needsRoom: newest } : null;
}

async function giveUp(context: Money & Work & Webhooks & Machine, g: Generation, error: TaskError): Promise<null> {
  const { generation, refused } = await changeGeneration(context, g, { event: 'give-up', error });
  if (refused === undefined) await settleNowOrSoon(context, generation);
  return null;
}
