// Goal: nothing is submitted that the provider may already have, and nothing after a deadline, a cancel, a lapsed lease
// or a stop order; no wait passes the end. An attempt with a stored reference ends or is submitted again only by the
// provider's statement, or at the end of the run.
// Method: random situations, checked by assertions about submissions and waits that share no code with the table; and
// every combination of the inputs of a decision about a stored reference.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Generation } from '../../../../core/generation/generation.js';
import { nextStep, RUN_ROWS, type RunRules, type RunStep } from '../../../../core/generation/run/next-step.js';
import type { News, RunState, RunTime, Silence } from '../../../../core/generation/run/run-state.js';
import type { ProviderReport, RecoverAnswer } from '../../../../core/ports/provider.js';
import {
  at,
  DELIVERED,
  FAILURE,
  KEPT_OUTPUT,
  newState,
  NOW,
  RULES,
  running,
  SILENT,
  SUBMITTED,
  SUBMITTING,
} from './run-situations.js';
import { forAllSync } from '../../../harness/for-all.js';

/** Both clocks read the same. */
function allowsSubmit(
  { attempt, submissionsMade = 0, terms }: Generation,
  state: RunState,
  { mayResubmit }: RunRules,
  isNotTaken: boolean,
): boolean {
  const { news } = state;
  if (news?.of !== 'recover' || typeof news.answer === 'string')
    return news?.of === 'recover' && mayResubmit && !isNotTaken && submissionsMade < terms.maxAttempts;
  if (!('found' in news.answer) || news.answer.found !== false) return false;
  if (attempt === undefined) return true;
  const isRecorded = attempt.endedAt !== undefined;
  const byLongestCall = Math.max(Math.min(attempt.startedAt + 60_000, state.begunAt + 60_000), state.begunAt + 30_000);
  const overAt =
    state.submissionEndedAt ??
    (state.submittedAt === undefined ? (isRecorded ? state.begunAt : byLongestCall) : state.submittedAt + 60_000);
  const believable = state.notFound.filter(({ askedAt }) => askedAt >= overAt + 5_000);
  const isBelieved = believable.some((one) => believable.some(({ askedAt }) => askedAt - one.at >= 5_000));
  return isNotTaken ? isBelieved : mayResubmit && submissionsMade < terms.maxAttempts;
}

const RECOVER: fc.Arbitrary<RecoverAnswer | Silence> = fc.constantFrom<(RecoverAnswer | Silence)[]>(
  SILENT,
  'unsupported',
  { found: false },
  { found: true, reference: 'r2' },
  { found: 'not-yet' },
  { found: 'not-yet', retryAfterMs: 10_000_000 },
);
const REPORTS: readonly (ProviderReport | Silence)[] = [
  SILENT,
  { state: 'silent', retryAfterMs: 10_000_000 },
  { state: 'running' },
  { state: 'running', pollAfterMs: 10_000_000 },
  { state: 'unknown' },
  { state: 'failed', failure: FAILURE },
  { state: 'succeeded', outputs: [] },
  { state: 'cancelled', outputs: [] },
];
const REPORT = fc.constantFrom(...REPORTS);
const NEWS: fc.Arbitrary<News | undefined> = fc.oneof(
  fc.constant(undefined),
  RECOVER.map((answer): News => ({ of: 'recover', token: 'a', answer, askedAt: NOW - 1, at: NOW })),
  REPORT.map((report): News => ({ of: 'poll', reference: 'r1', report, askedAt: NOW - 1, at: NOW, isLast: false })),
  fc
    .record({ state: fc.constantFrom('succeeded', 'cancelled'), outputs: fc.constantFrom([], KEPT_OUTPUT) })
    .map(({ state, outputs }): News => ({ of: 'collect', report: { state }, outputs })),
  fc.boolean().map((isStoreAway): News => ({ of: 'failed-collect', isStoreAway })),
  fc
    .record({ mayRetry: fc.boolean(), retryAfterMs: fc.oneof(fc.nat(), fc.double({ noNaN: true })) })
    .map((more): News => ({ of: 'ended-attempt', failure: { ...FAILURE, ...more } })),
);
const COUNT = fc.nat({ max: 12 });
const AROUND = fc.option(fc.integer({ min: NOW - 100_000, max: NOW + 100_000 }), { nil: undefined });
const TOKEN = fc.constantFrom('a', 'b', undefined);

/** "Not found" statements in the order of their requests, one after another. */
const NOT_FOUND = fc
  .array(fc.record({ after: fc.nat({ max: 20_000 }), took: fc.nat({ max: 3_000 }) }), { maxLength: 5 })
  .map((drawn) => {
    let time = NOW - 60_000;
    return drawn.map(({ after, took }) => {
      const askedAt = time + after;
      time = askedAt + took;
      return { askedAt, at: time };
    });
  });

const SITUATION = fc
  .record({
    attempt: fc.oneof(
      fc.constantFrom(undefined, SUBMITTED),
      fc
        .record({ endedAt: AROUND, bootId: fc.constantFrom('boot', 'other') })
        .map(({ endedAt, bootId }) => ({ ...SUBMITTING, bootId, ...(endedAt === undefined ? {} : { endedAt }) })),
    ),
    begunAt: fc.integer({ min: NOW - 100_000, max: NOW }),
    notFound: NOT_FOUND,
    runDeadlineAt: AROUND,
    cancelRequestedAt: AROUND,
    expiresAt: AROUND,
    attemptsMade: COUNT,
    isStopping: fc.boolean(),
    unsentToken: TOKEN,
    neverSentToken: TOKEN,
    silentPolls: COUNT,
    unknownRounds: COUNT,
    submissions: COUNT,
    notYetAnswers: COUNT,
    failedCollections: COUNT,
    forgotten: NOT_FOUND,
    submittedAt: fc.option(fc.integer({ min: NOW - 100_000, max: NOW }), { nil: undefined }),
    submissionEndedAt: fc.option(fc.integer({ min: NOW - 100_000, max: NOW }), { nil: undefined }),
    hasPolledLast: fc.boolean(),
    lastPollBy: AROUND,
    submissionsMade: fc.nat({ max: 4 }),
    leaseHeldUntil: fc.integer({ min: NOW - 9, max: NOW + 9 }),
    cancelSeenAt: AROUND,
    isStoreAway: fc.boolean(),
    news: NEWS,
    mayResubmit: fc.boolean(),
  })
  .map(
    ({ attempt, runDeadlineAt, cancelRequestedAt, expiresAt, attemptsMade, submissionsMade, mayResubmit, ...rest }) => {
      const { lastPollBy, leaseHeldUntil, ...state } = rest;
      const { lease: _, attempt: _attempt, runDeadlineAt: _runDeadlineAt, ...bare } = running();
      const g: Generation = {
        ...bare,
        attemptsMade,
        submissionsMade,
        ...(attempt ? { attempt } : {}),
        ...(lastPollBy === undefined || NOW <= (runDeadlineAt ?? Infinity) ? {} : { lastPollBy }),
        ...(runDeadlineAt === undefined ? {} : { runDeadlineAt }),
        ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
        ...(expiresAt === undefined ? {} : { lease: { worker: 'w', fence: 1, renewedAt: NOW, expiresAt } }),
      };
      const time: RunTime = { now: NOW, monotonic: NOW, leaseHeldUntil };
      return { g, state: { ...state, finished: undefined, cost: undefined }, time, rules: { ...RULES, mayResubmit } };
    },
  );

describe('the next step of any run', () => {
  it('always exists, submits only tasks that no provider can have, and never waits past the end', () => {
    forAllSync(5_000, [SITUATION], ({ g, state, time, rules }) => {
      const next = nextStep(g, state, time, rules).step;
      const isOver = state.isStopping || NOW > (g.runDeadlineAt ?? Infinity) || g.cancelRequestedAt !== undefined;
      if (next.do === 'submit') {
        expect(isOver || state.news !== undefined, 'submitted although it is over').to.equal(false);
        expect([next.attempt.token, next.attempt.phase], 'submitted without asking').to.deep.equal([
          state.unsentToken,
          'submitting',
        ]);
        expect(g.lease?.expiresAt ?? 0, 'submitted under a lapsed lease').to.be.above(NOW);
        expect(time.leaseHeldUntil, 'submitted though the monotonic clock says the lease has lapsed').to.be.above(NOW);
      }
      if (next.do === 'allow-submit')
        expect(
          (next.isNotTaken && state.news === undefined) || allowsSubmit(g, state, rules, next.isNotTaken),
          'allowed although the provider may have it',
        ).to.equal(true);
      const leastEnd = Math.min(
        g.lastPollBy ?? g.runDeadlineAt ?? Infinity,
        (state.cancelSeenAt ?? Infinity) + rules.settings.cancelGraceMs,
      );
      const longestMs = Math.max(0, leastEnd - NOW) + 1;
      if (next.do === 'rest') expect(next.ms).to.be.within(1, longestMs);
      if (next.do === 'allow-submit') expect(next.afterMs).to.be.within(0, longestMs);
      if (next.do === 'retry' || next.do === 'undo') {
        expect(next.retryAt).to.be.below(g.runDeadlineAt ?? Infinity);
        expect(next.retryAt, 'whole milliseconds, as stores keep times').to.satisfy(Number.isSafeInteger);
      }
    });
  });

  it('has rows with different names, each of which serves an invariant', () => {
    expect(new Set(RUN_ROWS.map(({ name }) => name)).size).to.equal(RUN_ROWS.length);
    for (const { name, serves } of RUN_ROWS) expect(serves, name).to.not.deep.equal([]);
  });
});

/** All combinations of one value of each list. */
function* combinations<T extends object>(of: { readonly [K in keyof T]: readonly T[K][] }): Generator<T> {
  const lists = Object.entries<readonly unknown[]>(of as Record<string, readonly unknown[]>);
  const count = lists.reduce((product, [, values]) => product * values.length, 1);
  for (let number = 0; number < count; number += 1) {
    let left = number;
    const one: Record<string, unknown> = {};
    for (const [name, values] of lists) {
      one[name] = values[left % values.length];
      left = Math.floor(left / values.length);
    }
    yield one as T;
  }
}

interface Stored {
  readonly attempt: typeof SUBMITTED | typeof DELIVERED;
  readonly deadline: 'ahead' | 'passed' | 'last period' | 'last period over';
  readonly isCancelled: boolean;
  readonly isGraceOver: boolean;
  readonly isStopping: boolean;
  readonly hasPolledLast: boolean;
  readonly isFinished: boolean;
  readonly isLeased: boolean;
  readonly mayResubmit: boolean;
  readonly mayReplaceOutputs: boolean;
  readonly count: 0 | 1_000;
  readonly submissionsMade: 1 | 3;
  readonly forgottenAgoMs: undefined | 1 | 6_000;
  readonly unsentToken: 'a' | undefined;
  readonly news: News | undefined;
}

const poll = (report: ProviderReport | Silence): News => ({
  of: 'poll',
  reference: 'r1',
  report,
  askedAt: NOW - 1,
  at: NOW,
  isLast: false,
});

/** The news that a run can receive while its attempt has a stored reference, including deliveries. */
const NEWS_OF_STORED: readonly (News | undefined)[] = [
  undefined,
  ...REPORTS.map(poll),
  { of: 'collect', report: { state: 'succeeded' }, outputs: [] },
  { of: 'collect', report: { state: 'succeeded' }, outputs: KEPT_OUTPUT },
  { of: 'collect', report: { state: 'cancelled' }, outputs: [] },
  { of: 'collect', report: { state: 'cancelled' }, outputs: KEPT_OUTPUT },
  { of: 'failed-collect', isStoreAway: true },
  { of: 'failed-collect', isStoreAway: false, retryAfterMs: 10_000_000 },
];

const DEADLINES = { 'ahead': NOW + 100_000, 'passed': NOW - 1, 'last period': NOW - 50, 'last period over': NOW - 50 };

const LEASED = running();
const { lease: _lease, ...UNLEASED } = LEASED;

const isUnknown = ({ news }: Stored) => news?.of === 'poll' && news.report.state === 'unknown';

/** Whether another combination makes the same situation: a value is varied that `situationOf` does not use there. */
function isRepeated(one: Stored): boolean {
  return (!isUnknown(one) && one.forgottenAgoMs !== undefined) || (!one.isCancelled && one.isGraceOver);
}

function situationOf(one: Stored): { readonly g: Generation; readonly state: RunState; readonly rules: RunRules } {
  const { deadline, count, forgottenAgoMs, news, isCancelled, mayResubmit, mayReplaceOutputs } = one;
  const g: Generation = {
    ...(one.isLeased ? LEASED : UNLEASED),
    attempt: one.attempt,
    submissionsMade: one.submissionsMade,
    runDeadlineAt: DEADLINES[deadline],
    ...(deadline === 'last period' ? { lastPollBy: NOW + 50 } : {}),
    ...(deadline === 'last period over' ? { lastPollBy: NOW - 1 } : {}),
    ...(isCancelled ? { cancelRequestedAt: NOW - 100_000 } : {}),
  };
  const statement = (ago: number) => ({ askedAt: NOW - ago, at: NOW - ago });
  const state: RunState = {
    ...newState,
    isStopping: one.isStopping,
    hasPolledLast: one.hasPolledLast,
    unsentToken: one.unsentToken,
    silentPolls: count,
    failedCollections: count,
    unknownRounds: count,
    submissions: count,
    forgotten: isUnknown(one)
      ? [...(forgottenAgoMs === undefined ? [] : [statement(forgottenAgoMs)]), statement(0)]
      : [],
    finished: one.isFinished ? { reference: 'r1', report: { state: 'succeeded', outputs: [] } } : undefined,
    cancelSeenAt: isCancelled ? (one.isGraceOver ? NOW - 60_001 : NOW) : undefined,
    news,
  };
  return { g, state, rules: { ...RULES, mayResubmit, mayReplaceOutputs } };
}

/** Whether the provider has stated the end of the task; ends that the run itself decides are not counted. */
function statedEnd({ news, forgottenAgoMs, isCancelled }: Stored): boolean {
  if (news?.of === 'collect') return true;
  if (news?.of !== 'poll') return false;
  const { state } = news.report;
  return state === 'failed' || (state === 'unknown' && (isCancelled || forgottenAgoMs === 6_000));
}

/** Whether the provider stated the failure, or the policy for what it stated allows another submission. */
function mayBeMadeAgain({ news, mayResubmit, mayReplaceOutputs }: Stored): boolean {
  if (news?.of === 'poll') return news.report.state === 'failed' || mayResubmit;
  return news?.of === 'collect' && (news.report.state === 'cancelled' || mayReplaceOutputs);
}

const ENDS: readonly RunStep['do'][] = ['end-attempt', 'finish', 'retry', 'undo'];
const SUBMITS: readonly RunStep['do'][] = ['submit', 'allow-submit', 'begin-attempt', 'recover', 'accept'];

describe('an attempt with a stored reference, or with delivered outputs', () => {
  const all = combinations<Stored>({
    attempt: [SUBMITTED, DELIVERED],
    deadline: ['ahead', 'passed', 'last period', 'last period over'],
    isCancelled: [false, true],
    isGraceOver: [false, true],
    isStopping: [false, true],
    hasPolledLast: [false, true],
    isFinished: [false, true],
    isLeased: [false, true],
    mayResubmit: [false, true],
    mayReplaceOutputs: [false, true],
    count: [0, 1_000],
    submissionsMade: [1, 3],
    forgottenAgoMs: [undefined, 1, 6_000],
    unsentToken: ['a', undefined],
    news: NEWS_OF_STORED,
  });

  it('is never submitted again, and ends only by a statement of the provider, a cancel or the end of the run', () => {
    const taken = new Set<string>();
    for (const one of all) {
      if (isRepeated(one)) continue;
      const { g, state, rules } = situationOf(one);
      const { row, step } = nextStep(g, state, at(NOW), rules);
      taken.add(row);
      const about = () => `${row}: ${JSON.stringify({ ...one, attempt: one.attempt.phase })}`;
      if (SUBMITS.includes(step.do)) expect.fail(`It is submitted again by ${about()}`);
      if (!ENDS.includes(step.do)) continue;
      if (step.do === 'end-attempt' && step.failure.mayRetry && !mayBeMadeAgain(one))
        expect.fail(`It may be made again by ${about()}`);
      const isRunOver =
        one.deadline === 'last period over' ||
        (one.deadline === 'last period' && (one.hasPolledLast || one.news?.of === 'poll'));
      const isCancelOver = one.isCancelled && one.isGraceOver && one.attempt === SUBMITTED;
      if (!statedEnd(one) && !isRunOver && !isCancelOver) expect.fail(`It ends without a statement by ${about()}`);
      // A task that ends without the provider's statement is not replaced.
      if (!statedEnd(one) && step.do === 'end-attempt') expect.fail(`It may be made again by ${about()}`);
    }
    expect([...taken]).to.include.members([
      'accepted task is polled',
      'deadline with a task at the provider',
      'last poll found no result',
      'task is forgotten, stated twice',
      'no output is usable',
    ]);
  });
});
