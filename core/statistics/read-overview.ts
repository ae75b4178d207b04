import type { Call, Machine, Money, Work } from '../context.js';
import type { AccountNearZero, AccountTotals, NearZero } from '../credits/account.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { type Generation, isTerminal, openStateOf, type TaskErrorCode } from '../generation/generation.js';
import { openWork } from '../generation/read-generations.js';
import { itemsOf } from '../paging.js';
import type { OpenCount } from '../ports/stores.js';
import { projectUsage } from '../usage/project-usage.js';
import { utcDay } from '../usage/usage.js';
import {
  added,
  addedPairs,
  type Counts,
  countIn,
  HALF_HOUR_MS,
  halfHourOf,
  type Histogram,
  type ModelOutcomes,
  NO_COUNTS,
  percentileOf,
} from './half-hour.js';

const DAY_MS = 86_400_000;
/** The longest range of an overview, in milliseconds. */
const MAX_RANGE_MS = 7 * DAY_MS;
const MAX_LISTED = 10;

/** Half hours from the one that starts at `from` to the one that ends at `to`, in milliseconds since the epoch. */
export interface OverviewRange {
  readonly from: number;
  readonly to: number;
}

/** Durations in milliseconds; see `percentileOf` for their error. */
export interface Times {
  readonly count: number;
  readonly medianMs: number | undefined;
  readonly p95Ms: number | undefined;
}

export interface Outcomes {
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** The most frequent first. */
  readonly failures: readonly (readonly [code: TaskErrorCode, count: number])[];
  readonly accept: Times;
  readonly result: Times;
}

export interface ModelQueue {
  readonly modelKey: string;
  readonly queued: number;
  readonly requeued: number;
  readonly running: number;
  /** Time since the oldest waiting one was accepted, in milliseconds; absent if none waits. */
  readonly oldestWaitMs?: number;
}

export interface WaitingGeneration {
  readonly generation: Generation;
  readonly accountName: string | undefined;
  readonly waitMs: number;
}

export interface Overview extends OverviewRange {
  readonly now: number;
  readonly total: Outcomes;
  readonly halfHours: readonly { readonly startsAt: number; readonly outcomes: Outcomes }[];
  readonly queue: readonly ModelQueue[];
  readonly longestWaiting: readonly WaitingGeneration[];
  readonly nearZero: NearZero;
}

/** The range that contains two times; the last 24 hours if they are absent. Throws FIELD_INVALID. */
export function readOverviewRange(
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  now: number,
): OverviewRange {
  const end = Math.ceil((to ?? now + 1) / HALF_HOUR_MS) * HALF_HOUR_MS;
  const start = from === undefined ? end - DAY_MS : halfHourOf(from);
  if (start >= end) throw fieldInvalid('/from', 'from must be before to.');
  if (end - start > MAX_RANGE_MS) throw fieldInvalid('/from', 'from must be at most 7 days before to.');
  return { from: start, to: end };
}

/**
 * How generations of all accounts ended in a range, and what is open now. Reads one small record for each half hour, the
 * index of open generations, and at most once a minute some of the accounts. Throws `StoreUnavailable`.
 */
export async function readOverview(
  context: Money & Work & Machine & Call,
  { from, to }: OverviewRange,
): Promise<Overview> {
  const { outcomeCounts, generations, nearZeroAccounts, clock, call } = context;
  const now = clock.now();
  const [counted, open, longestWaiting, nearZero] = await Promise.all([
    outcomeCounts.between(from, to),
    generations.countOpen(call),
    findLongestWaiting(context, now),
    // Other calls may wait for the same accounts: they do not end with this call.
    nearZeroAccounts.get(() => findNearZero({ ...context, call: undefined }, now)),
  ]);
  const halfHours: Overview['halfHours'][number][] = [];
  let total: Counts = NO_COUNTS;
  for (let startsAt = from; startsAt < to; startsAt += HALF_HOUR_MS) {
    const counts = counted.get(startsAt) ?? NO_COUNTS;
    total = added(total, counts);
    halfHours.push({ startsAt, outcomes: outcomesOf(counts) });
  }
  return { now, from, to, total: outcomesOf(total), halfHours, queue: queueOf(open, now), longestWaiting, nearZero };
}

function outcomesOf({ acceptMs, models }: Counts): Outcomes {
  let results: Histogram = [];
  let failures: ModelOutcomes['failed'] = [];
  let cancelled = 0;
  for (const model of models) {
    results = addedPairs(results, model.resultMs);
    failures = addedPairs(failures, model.failed);
    cancelled += model.cancelled;
  }
  return {
    succeeded: countIn(results),
    failed: failures.reduce((sum, [, count]) => sum + count, 0),
    cancelled,
    failures: failures.toSorted(([, a], [, b]) => b - a),
    accept: timesOf(acceptMs),
    result: timesOf(results),
  };
}

function timesOf(histogram: Histogram): Times {
  return {
    count: countIn(histogram),
    medianMs: percentileOf(histogram, 0.5),
    p95Ms: percentileOf(histogram, 0.95),
  };
}

function queueOf(open: readonly OpenCount[], now: number): readonly ModelQueue[] {
  const queues = new Map<string, ModelQueue>();
  for (const { state, modelKey, generations, oldestCreatedAt } of open) {
    const queue = queues.get(modelKey) ?? { modelKey, queued: 0, requeued: 0, running: 0 };
    // Two machines may have set the two times.
    const oldestWaitMs = Math.max(queue.oldestWaitMs ?? 0, now - oldestCreatedAt, 0);
    const waits = state === 'running' ? {} : { oldestWaitMs };
    queues.set(modelKey, { ...queue, [state]: queue[state] + generations, ...waits });
  }
  return [...queues.values()].toSorted((a, b) => (a.modelKey < b.modelKey ? -1 : 1));
}

/** Holds that are looked at: the oldest, among which may be running generations and some that have just ended. */
const MAX_HOLDS = 50;

async function findLongestWaiting(
  context: Money & Work & Machine & Call,
  now: number,
): Promise<readonly WaitingGeneration[]> {
  const { items } = await openWork(context, { limit: MAX_HOLDS });
  const open = items.flatMap(({ generation }) =>
    generation === null || isTerminal(generation.status) ? [] : [generation],
  );
  const isRunning = (generation: Generation): boolean => openStateOf(generation) === 'running';
  const waiting = open.filter((generation) => !isRunning(generation));
  const listed = [...waiting, ...open.filter(isRunning)].slice(0, MAX_LISTED);
  const ids = [...new Set(listed.map(({ accountId }) => accountId))];
  const accounts = await Promise.all(ids.map((id) => context.accounts.read(id, context.call, 'totals')));
  const names = new Map(accounts.flatMap((account) => (account === null ? [] : [[account.accountId, account.name]])));
  return listed.map((generation) => ({
    generation,
    accountName: names.get(generation.accountId),
    waitMs: Math.max(0, now - generation.createdAt),
  }));
}

/** Accounts that are looked at, and those of them whose use is read. */
const MAX_ACCOUNTS = 2_000;
const MAX_USES = 100;
const PAGE = 200;
const ROWS = 1_000;
const WEEK_DAYS = 7;

/** Accounts whose available credits are less than they were charged in the last seven days. */
async function findNearZero(context: Money & Call, now: number): Promise<NearZero> {
  const { accounts, call } = context;
  const found: AccountNearZero[] = [];
  let [seen, used] = [0, 0];
  for await (const account of itemsOf((page) => accounts.list(page, call), PAGE)) {
    seen += 1;
    if (seen > MAX_ACCOUNTS || used >= MAX_USES) return { accounts: shortest(found), isComplete: false };
    // No week has more charges than all time.
    if (account.suspendedAt !== undefined || account.available >= account.spent) continue;
    used += 1;
    const weekChargedCredits = await weekCharged(context, account, now);
    if (account.available >= weekChargedCredits) continue;
    const { accountId, name, available, reserved } = account;
    found.push({ account: { accountId, name, available, reserved }, weekChargedCredits });
  }
  return { accounts: shortest(found), isComplete: true };
}

function shortest(found: readonly AccountNearZero[]): readonly AccountNearZero[] {
  const weeksLeft = ({ account, weekChargedCredits }: AccountNearZero) => account.available / weekChargedCredits;
  return found.toSorted((one, other) => weeksLeft(one) - weeksLeft(other)).slice(0, MAX_LISTED);
}

/** 0 for an account whose use is not computed yet. */
async function weekCharged(
  context: Money & Call,
  { accountId, lastSequence }: Pick<AccountTotals, 'accountId' | 'lastSequence'>,
  now: number,
): Promise<number> {
  try {
    await projectUsage(context, { accountId, list: 'uses', through: lastSequence, maxConflicts: 1 });
  } catch (error) {
    // Another process computes it.
    if (!(error instanceof ServiceError)) throw error;
  }
  const range = { from: utcDay(now - (WEEK_DAYS - 1) * DAY_MS), to: utcDay(now) };
  let sum = 0;
  for await (const { chargedCredits } of itemsOf(
    (page) => context.usage.list(accountId, range, page, context.call),
    ROWS,
  ))
    sum += chargedCredits;
  return sum;
}
