import type { Caller } from '../access/credential.js';
import type { Waits } from '../cancellation.js';
import type { Call, Machine, Work } from '../context.js';
import { ServiceError } from '../errors.js';
import { type Generation, type GenerationRecord, isTerminal } from './generation.js';
import { getGeneration } from './read-generations.js';

export interface Waiting {
  /** How long to wait at most, in milliseconds; with 0 the generation is only read. */
  readonly waitMs: number;
  /** Told of the generation each time that it was read or written while it has not ended. Must not throw. */
  readonly onLook?: (generation: Generation) => void;
  /** Ends the wait early; the call that the context is for when absent. */
  readonly until?: Waits | undefined;
  /** The call has its place among the lasting calls already. */
  readonly isCounted?: true;
}

/** Reads the generation, and waits for nothing. */
export const NO_WAIT: Waiting = { waitMs: 0 };

/**
 * Returns the caller's own generation once it has ended, or as it is when the time or the wait is over. Throws
 * TASK_NOT_FOUND and GENERATION_JOB_NOT_FOUND as `getGeneration` does.
 */
export async function waitForGeneration(
  context: Work & Machine & Call,
  caller: Caller,
  generationId: string,
  waiting: Waiting,
): Promise<Generation> {
  if (!isToWait(context, waiting)) return getGeneration(context, caller, generationId);
  const read = () => getGeneration(context, caller, generationId);
  const leave = context.lastingCalls.tryWait(caller);
  // If too many calls are waiting already, this one returns the current state.
  if (leave === undefined) return read();
  return untilEnded(context, generationId.toLowerCase(), read, waiting).finally(leave);
}

/** The same of a generation whose caller may have no right to read others: the one that it has created. */
export async function waitForEnd(
  context: Work & Machine & Call,
  created: Generation,
  waiting: Waiting,
): Promise<Generation> {
  if (isTerminal(created.status) || !isToWait(context, waiting)) return created;
  // It was created, whether it can be read again or not.
  const read = () => context.generations.read(created.generationId, context.call).catch(() => created);
  if (waiting.isCounted === true) return untilEnded(context, created.generationId, read, waiting);
  const { accountId, appId, credentialId = appId } = created;
  const leave = context.lastingCalls.tryWait({ accountId, appId, credentialId });
  return leave === undefined ? created : untilEnded(context, created.generationId, read, waiting).finally(leave);
}

function isToWait({ call }: Work & Machine & Call, { waitMs, until = call }: Waiting): boolean {
  return waitMs > 0 && until?.isOver !== true;
}

async function untilEnded(
  { generationWatch, clock, call }: Work & Machine & Call,
  generationId: string,
  read: () => Promise<GenerationRecord | null>,
  { waitMs, onLook = () => undefined, until = call }: Waiting,
): Promise<Generation> {
  const seen = new Seen(onLook);
  // Followed before it is read, so that nothing is missed in between.
  const followNoMore = generationWatch.follow(generationId, (record) => seen.note(record));
  try {
    seen.note(await read());
    await seen.untilEnded(clock, waitMs, until);
  } finally {
    followNoMore();
  }
  // Whoever waits in vain reads it again: thousands of them would hold as many records meanwhile.
  const last = seen.hasEnded ? seen.end : await read();
  if (last?.kind !== 'generation') throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return last;
}

/** The newest version seen of a generation, and its final record once it has ended or is gone. */
class Seen {
  hasEnded = false;
  end: GenerationRecord | null = null;
  private version = -Infinity;
  private endWait: (() => void) | undefined;

  constructor(private readonly onLook: (generation: Generation) => void) {}

  /** The record may be older than one that was written in the meantime. */
  note(record: GenerationRecord | null): void {
    if (this.hasEnded || (record !== null && record.version < this.version)) return;
    if (record?.kind === 'generation' && !isTerminal(record.status)) {
      this.version = record.version;
      if (this.endWait !== undefined) this.onLook(record);
      return;
    }
    this.hasEnded = true;
    this.end = record;
    this.endWait?.();
  }

  untilEnded(clock: Machine['clock'], waitMs: number, until: Waits | undefined): Promise<void> {
    if (this.hasEnded || until?.isOver === true) return Promise.resolve();
    return new Promise((resolve) => {
      const cancelTimer = clock.after(waitMs, () => this.endWait?.());
      const listenNoMore = until?.onOver(() => this.endWait?.());
      this.endWait = () => {
        this.endWait = undefined;
        cancelTimer();
        listenNoMore?.();
        resolve();
      };
    });
  }
}
