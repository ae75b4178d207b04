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
  return endOrNow(context, generationId.toLowerCase(), read, waiting).finally(leave);
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
  const { accountId, appId, credentialId = appId } = created;
  const leave = context.lastingCalls.tryWait({ accountId, appId, credentialId });
  return leave === undefined ? created : endOrNow(context, created.generationId, read, waiting).finally(leave);
}

/**
 * The same of one that has not ended yet, for calls that have their place among the lasting calls already. They hold no record
 * of it while they wait. Undefined where it has not ended, as far as could be read, when the time or the wait is over. Anything
 * else is for `requireKept`.
 */
export function waitForEndOf(
  context: Work & Machine & Call,
  generationId: string,
  waiting: Waiting,
): Promise<GenerationRecord | null | undefined> {
  if (!isToWait(context, waiting)) return Promise.resolve(undefined);
  const read = () => context.generations.read(generationId, context.call).catch(() => undefined);
  return untilEnded(context, generationId, read, waiting);
}

function isToWait({ call }: Work & Machine & Call, { waitMs, until = call }: Waiting): boolean {
  return waitMs > 0 && until?.isOver !== true;
}

/** A call whose time is over reads the generation again: thousands of waiting calls would hold as many records. */
function endOrNow(
  context: Work & Machine & Call,
  generationId: string,
  read: () => Promise<GenerationRecord | null>,
  waiting: Waiting,
): Promise<Generation> {
  return untilEnded(context, generationId, read, waiting).then((last) =>
    last === undefined ? read().then(requireKept) : requireKept(last),
  );
}

/** Throws GENERATION_JOB_NOT_FOUND for one that is gone. */
export function requireKept(last: GenerationRecord | null): Generation {
  if (last?.kind !== 'generation') throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  return last;
}

/** The record of a generation that has ended or is gone; undefined where that has not happened in time. */
function untilEnded(
  { generationWatch, clock, call }: Work & Machine & Call,
  generationId: string,
  read: () => Promise<GenerationRecord | null | undefined>,
  { waitMs, onLook, until = call }: Waiting,
): Promise<GenerationRecord | null | undefined> {
  return new Promise((resolve, reject) => {
    const wait = new EndWait(resolve, onLook);
    // Followed before it is read, so that nothing is missed in between.
    wait.followNoMore = generationWatch.follow(generationId, wait.note);
    read().then(
      (record) => {
        if (record !== undefined) wait.note(record);
        wait.begin(clock, waitMs, until);
      },
      (error: unknown) => {
        reject(error);
        wait.end();
      },
    );
  });
}

/** A call that waits. It consists of few objects, since thousands of calls wait. */
class EndWait {
  followNoMore: (() => void) | undefined;
  private cancelTimer: (() => void) | undefined;
  private listenNoMore: (() => void) | undefined;
  private hasBegun = false;
  private hasEnded = false;
  /** The newest version that was seen. */
  private version = -Infinity;

  constructor(
    private readonly resolve: (end: GenerationRecord | null | undefined) => void,
    private readonly onLook: Waiting['onLook'],
  ) {}

  /** The record may be older than one that was written in the meantime. */
  readonly note = (record: GenerationRecord | null): void => {
    if (this.hasEnded || (record !== null && record.version < this.version)) return;
    if (record?.kind !== 'generation' || isTerminal(record.status)) return this.end(record);
    this.version = record.version;
    if (this.hasBegun) this.onLook?.(record);
  };

  /** The generation was read. The time begins. */
  begin(clock: Machine['clock'], waitMs: number, until: Waits | undefined): void {
    if (this.hasEnded) return;
    if (until?.isOver === true) return this.end();
    this.hasBegun = true;
    this.cancelTimer = clock.after(waitMs, this.inVain);
    this.listenNoMore = until?.onOver(this.inVain);
  }

  private readonly inVain = (): void => this.end();

  end(last?: GenerationRecord | null): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.followNoMore?.();
    this.cancelTimer?.();
    this.listenNoMore?.();
    this.resolve(last);
  }
}
