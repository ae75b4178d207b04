import type { ProviderFault, ProviderHealth, ProviderLimits } from './provider-use.js';

/** States of a provider as operators see them. */
export const PROVIDER_STATES = ['healthy', 'idle', 'slowed', 'paused', 'trying', 'unreachable'] as const;
export type ProviderState = (typeof PROVIDER_STATES)[number];

/** A provider as one worker that reports now sees it. */
export interface SeenByWorker {
  readonly health: ProviderHealth;
  /** Its tasks at the provider, and those that wait in it. */
  readonly tasks: number;
  readonly waiting: number;
}

/** A provider's state, and why it is that. Times are in milliseconds since the epoch. */
export interface ProviderCondition {
  readonly state: ProviderState;
  /** One sentence or two, without addresses and times. */
  readonly reason: string;
  /** When the first paused worker submits again. */
  readonly pausedUntil?: number;
  /** When the calls began to fail, for the worker in which they fail longest. */
  readonly failingSince?: number;
  /** When a worker last called it; absent if that is not known. */
  readonly lastCallAt?: number;
}

/** A provider without tasks is idle if it was not called for this long, in milliseconds. */
const IDLE_AFTER_MS = 60_000;
/** With so many calls in a row unanswered, the pauses are the longest: the provider is unreachable. */
const UNREACHABLE_AFTER = 11;

/**
 * The state of a provider, from what its current workers see. `slowed`: tasks are made, but fewer than wanted. `earlier` is
 * when a worker was seen that does not report any more.
 */
export function conditionOf(
  workers: readonly SeenByWorker[],
  {
    limits,
    earlier,
    now,
  }: { readonly limits: ProviderLimits; readonly earlier: number | undefined; readonly now: number },
): ProviderCondition {
  const lastCallAt = highest(workers.flatMap(({ health }) => health.lastCallAt ?? [])) ?? earlier;
  const called = lastCallAt === undefined ? {} : { lastCallAt };
  const failing = workers.filter(({ health }) => health.circuit !== 'closed');
  if (failing.length > 0) return { ...failingCondition(failing, workers.length), ...called };
  const tasks = sum(workers, ({ tasks: own }) => own);
  const waiting = sum(workers, ({ waiting: own }) => own);
  const held = waiting === 0 ? undefined : limitReached(limits, tasks, waiting);
  if (held !== undefined) return { state: 'slowed', reason: held, ...called };
  if (tasks + waiting > 0 || (workers.length > 0 && now - (lastCallAt ?? -Infinity) < IDLE_AFTER_MS))
    return { state: 'healthy', reason: 'Ready.', ...called };
  return {
    state: 'idle',
    reason: lastCallAt === undefined ? 'Ready. Not used in the last hour.' : 'Ready.',
    ...called,
  };
}

function failingCondition(failing: readonly SeenByWorker[], all: number): Omit<ProviderCondition, 'lastCallAt'> {
  const paused = failing.filter(({ health }) => health.circuit === 'paused');
  const worst = (paused.length > 0 ? paused : failing).toSorted((one, other) => countOf(other) - countOf(one))[0];
  const { fault, lastError } = worst?.health ?? { circuit: 'closed' };
  const pausedUntil = lowest(paused.flatMap(({ health }) => health.pausedUntil ?? []));
  const failingSince = lowest(failing.flatMap(({ health }) => health.fault?.since ?? []));
  const times = {
    ...(pausedUntil === undefined ? {} : { pausedUntil }),
    ...(failingSince === undefined ? {} : { failingSince }),
  };
  const why = whyOf(fault, lastError?.message);
  if (failing.length < all)
    return {
      state: 'slowed',
      reason: `${paused.length > 0 ? 'Paused' : 'Trying again'} in ${failing.length} of ${all} workers. ${why}`,
      ...times,
    };
  if (fault?.kind === 'silent' && fault.count >= UNREACHABLE_AFTER)
    return { state: 'unreachable', reason: why, ...times };
  if (paused.length > 0) return { state: 'paused', reason: why, ...times };
  return { state: 'trying', reason: `One task is submitted at a time until one is accepted. ${why}`, ...times };
}

function countOf({ health }: SeenByWorker): number {
  return health.fault?.count ?? 0;
}

/** Workers of an earlier release do not say what the fault is. */
function whyOf(fault: ProviderFault | undefined, message: string | undefined): string {
  const error = message === undefined || message.trim() === '' ? undefined : shownError(message);
  if (fault === undefined) return error === undefined ? 'Its last calls failed.' : `The last error: ${error}`;
  const { kind, count } = fault;
  const what =
    kind === 'full'
      ? `${count === 1 ? 'A task was' : `${count} tasks in a row were`} refused for lack of capacity`
      : `${count} calls in a row had no usable answer`;
  return error === undefined ? `${what}.` : `${what}: ${error}`;
}

function limitReached(
  { maxConcurrent = Infinity, maxSubmissionsPerMinute }: ProviderLimits,
  tasks: number,
  waiting: number,
): string | undefined {
  const wait = waiting === 1 ? '1 generation waits' : `${waiting} generations wait`;
  if (tasks >= maxConcurrent) return `All ${maxConcurrent} places are in use, and ${wait}.`;
  if (maxSubmissionsPerMinute === undefined) return undefined;
  return `At most ${maxSubmissionsPerMinute} tasks are submitted in a minute, and ${wait}.`;
}

const MAX_ERROR = 200;
/** An address with everything behind its host, which may have a user, a path or a key. */
const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/(?:[^\s/?#@"'<>]*@)?([^\s/?#"'<>]*)[^\s"'<>]*/giu;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]+/gu;

/** The text of an error as one sentence, with each address reduced to its host. */
export function shownError(message: string): string {
  const text = message.replaceAll(CONTROLS, ' ').replaceAll(ADDRESS, '$1').trim();
  const short = text.length > MAX_ERROR ? `${text.slice(0, MAX_ERROR - 1)}…` : text;
  return /[.!?…]$/u.test(short) ? short : `${short}.`;
}

function sum(workers: readonly SeenByWorker[], of: (worker: SeenByWorker) => number): number {
  return workers.reduce((total, worker) => total + of(worker), 0);
}

function highest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.max(...times);
}

function lowest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.min(...times);
}
