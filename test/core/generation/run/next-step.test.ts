// Goal: each step of a run follows from its generation, the state of the run and the time.
// Method: the tables line by line, each line where the ones before it do not apply.
import { expect } from 'chai';
import type { Generation } from '../../../../core/generation/generation.js';
import type { RunRules, RunStep } from '../../../../core/generation/run/next-step.js';
import type { ProviderFailure } from '../../../../core/providers/provider-report.js';
import type { RunState, RunTime } from '../../../../core/generation/run/run-state.js';
import { aGeneration } from '../../../fixtures/stored-records.js';
import {
  asked,
  CANCELLED,
  DELIVERED,
  ENDED_LONG_AGO,
  FAILURE,
  fresh,
  KEPT_OUTPUT,
  LATE,
  NOW,
  on,
  polled,
  recovered,
  RULES,
  running,
  SILENT,
  step,
  STOP,
  SUBMITTED,
  SUBMITTING,
  without,
} from './run-situations.js';

const UNKNOWN_OUTCOME = 'It is not known whether the provider took the task.';

const MESSAGES = {
  TASK_TIMEOUT: 'The generation did not finish before its deadline.',
  OUTPUT_STORE_FAILED: 'The result could not be stored.',
};
const MOST = aGeneration(1).terms.maxAttempts;
const RESUBMIT = { ...RULES, mayResubmit: true };
const ELSEWHERE = { ...RULES, hasOtherProvider: true };
const LAST_POLL = running({ ...LATE, lastPollBy: NOW + 9_000, attempt: SUBMITTED });
/** An answer a settle time ago. */
const EARLIER = [{ askedAt: NOW - 6_002, at: NOW - 6_001 }];
const FAILED = on({ of: 'ended-attempt', failure: FAILURE });
const COLLECT: RunStep = { do: 'collect', reference: 'r1', report: { state: 'succeeded', outputs: [] } };
const TIMED_OUT: RunStep = { ...finishing('TASK_TIMEOUT'), stopping: 'r1' };

const rest = (ms: number): RunStep => ({ do: 'rest', ms });
const submitAgain = (afterMs: number, isNotTaken: boolean): RunStep => ({
  do: 'allow-submit',
  token: 'a',
  afterMs,
  isNotTaken,
});
const retry = (retryAt: number, isRefused: boolean): RunStep => ({ do: 'retry', retryAt, isRefused });
const undo = (retryAt: number, isNotHere: boolean): RunStep => ({ do: 'undo', retryAt, isNotHere });
const ending = (failure: ProviderFailure): RunStep => ({ do: 'end-attempt', failure });
const unusable = (mayRetry: boolean) =>
  ending({ code: 'OUTPUT_INVALID', mayRetry, message: 'The provider delivered something that cannot be used.' });
const unknown = (mayRetry: boolean) => ending({ code: 'PROVIDER_UNAVAILABLE', mayRetry, message: UNKNOWN_OUTCOME });
const FORGOTTEN = ending({
  code: 'PROVIDER_UNAVAILABLE',
  mayRetry: false,
  message: 'The provider no longer knows the task.',
});
const notFetched = (state: RunState = asked) => on({ of: 'failed-collect', isStoreAway: false }, state);
const failing = (message: string): RunStep => ({
  do: 'finish',
  command: { event: 'fail', error: { code: 'PROVIDER_UNAVAILABLE', message, retryable: true } },
});

function finishing(code: keyof typeof MESSAGES, message = MESSAGES[code]): Extract<RunStep, { do: 'finish' }> {
  return { do: 'finish', command: { event: 'fail', error: { code, message, retryable: true } } };
}

/** The step that follows is the expected one. */
function goes(g: Generation, state: RunState, expected: RunStep, rules?: RunRules, time?: RunTime): void {
  expect(step(g, state, rules, time)).to.deep.equal(expected);
}

describe('the next step of a run', () => {
  it('hands the lease back when it is to stop, though it is late', () =>
    goes(running({ ...LATE, ...CANCELLED }), { ...asked, isStopping: true }, { do: 'hand-back', isUnsent: false }));
  it('hands back an attempt that was never submitted as such', () =>
    goes(running(), { ...fresh, isStopping: true }, { do: 'hand-back', isUnsent: true }));
  it('hands back nothing unsent where there is no attempt', () =>
    goes(without('attempt'), { ...asked, isStopping: true }, { do: 'hand-back', isUnsent: false }));
  it('fails past the deadline, though a cancel is asked for', () =>
    goes(running({ ...LATE, ...CANCELLED }), fresh, finishing('TASK_TIMEOUT')));
  it('allows one more poll past the deadline for a task that the provider accepted', () =>
    goes(running({ ...LATE, attempt: SUBMITTED }), fresh, { do: 'allow-last-poll' }));
  it('allows time past the deadline to check what was delivered with the answer', () =>
    goes(running({ ...LATE, attempt: DELIVERED }), fresh, { do: 'allow-last-poll' }));
  it('polls once more in the period after the deadline', () => goes(LAST_POLL, fresh, { do: 'poll', reference: 'r1' }));
  it('fails, and asks the provider to stop, once the poll after the deadline was made', () =>
    goes(LAST_POLL, { ...fresh, hasPolledLast: true }, TIMED_OUT));
  it('fails when the poll after the deadline finds no result', () =>
    goes(LAST_POLL, polled({ state: 'running' }, asked, true), TIMED_OUT));
  it('collects what the poll after the deadline found, though no further poll is made', () =>
    goes(
      LAST_POLL,
      { ...asked, hasPolledLast: true, finished: { reference: 'r1', report: { state: 'succeeded', outputs: [] } } },
      COLLECT,
    ));
  it('fetches outputs again no longer than the period after the deadline lasts', () =>
    goes(
      running({ ...LATE, lastPollBy: NOW + 1_500, attempt: SUBMITTED }),
      notFetched({ ...asked, failedCollections: 5 }),
      rest(1_501),
    ));
  it('reports that the result could not be fetched once the period after the deadline has passed', () =>
    goes(
      running({ ...LATE, lastPollBy: NOW - 1, attempt: SUBMITTED }),
      { ...asked, failedCollections: 5 },
      {
        ...finishing('TASK_TIMEOUT', 'The result of the provider could not be fetched before the deadline.'),
        stopping: 'r1',
      },
    ));
  it('fails past the deadline for our own store where that was away', () =>
    goes(running(LATE), { ...fresh, isStoreAway: true }, finishing('OUTPUT_STORE_FAILED')));
  it('stops before an attempt when a cancel is asked for', () => goes(without('attempt', CANCELLED), asked, STOP));
  it('begins an attempt', () => goes(without('attempt'), asked, { do: 'begin-attempt' }));
  it('stops once the provider has had its grace after a cancel', () =>
    goes(running({ ...CANCELLED, attempt: SUBMITTED }), { ...asked, cancelSeenAt: NOW - 60_001 }, STOP));
  it('polls what was accepted', () => goes(running({ attempt: SUBMITTED }), asked, { do: 'poll', reference: 'r1' }));
  it('asks to stop, and polls, what was accepted and is cancelled', () =>
    goes(
      running({ ...CANCELLED, attempt: SUBMITTED }),
      { ...asked, cancelSeenAt: NOW },
      { do: 'poll', reference: 'r1', stopping: 'r1' },
    ));
  it('asks about an attempt until the deadline where the model does not allow another submission', () =>
    goes(running(), { ...asked, unknownRounds: 10 }, { do: 'recover', token: 'a' }));
  it('has it tried again where the model allows that', () =>
    goes(running(), { ...asked, unknownRounds: 10 }, unknown(true), RESUBMIT));
  it('asks first about an attempt that may have been submitted', () =>
    goes(running(), asked, { do: 'recover', token: 'a' }));
  it('asks first though a cancel is asked for', () => goes(running(CANCELLED), asked, { do: 'recover', token: 'a' }));
  it('does not submit what is cancelled', () => goes(running(CANCELLED), fresh, STOP));
  it('does not submit under a lease that has lapsed', () =>
    goes(running({ lease: { worker: 'w', fence: 1, renewedAt: NOW - 9, expiresAt: NOW } }), fresh, rest(1_000)));
  it('does not submit without a lease', () => goes(without('lease'), fresh, rest(1_000)));
  it('does not submit under a lease that has lapsed by the monotonic clock alone', () =>
    goes(running(), fresh, rest(1_000), RULES, { now: NOW, monotonic: NOW, leaseHeldUntil: NOW }));
  it('begins no attempt where as many submissions as allowed may have been taken', () =>
    goes(without('attempt', { attemptsMade: 1, submissionsMade: MOST }), asked, failing(UNKNOWN_OUTCOME)));
  it('submits', () => goes(running(), fresh, { do: 'submit', attempt: SUBMITTING }));

  it('asks again later when the provider did not say', () =>
    goes(running(), recovered(SILENT, { ...asked, unknownRounds: 2 }), rest(4_000)));
  it('asks again later when the provider does not know yet', () =>
    goes(running(), recovered({ found: 'not-yet' }, { ...asked, notYetAnswers: 1 }), rest(2_000)));
  it('asks again when the provider says to', () =>
    goes(running(), recovered({ found: 'not-yet', retryAfterMs: 5_000 }), rest(5_000)));
  it('asks again though a cancel is asked for', () =>
    goes(running(CANCELLED), recovered({ found: 'not-yet', retryAfterMs: 5_000 }), rest(5_000)));
  it('waits no longer than the deadline', () =>
    goes(running({ runDeadlineAt: NOW + 3_000 }), recovered({ found: 'not-yet', retryAfterMs: 500_000 }), rest(3_001)));
  it('continues with the task that the provider has', () =>
    goes(running(CANCELLED), recovered({ found: true, reference: 'r9' }), { do: 'accept', reference: 'r9' }));
  it('stops when the provider has nothing and a cancel is asked for', () =>
    goes(running(CANCELLED), recovered({ found: false }), STOP));
  it('ends an attempt for good that cannot be asked about', () =>
    goes(running(), recovered('unsupported'), unknown(false)));
  it('submits again what cannot be asked about where the model allows that', () =>
    goes(running(), recovered('unsupported'), submitAgain(0, false), RESUBMIT));
  it('submits again what the provider does not have where the model allows that', () =>
    goes(running(), recovered({ found: false }), submitAgain(0, false), RESUBMIT));
  it('waits before it submits a second time', () =>
    goes(running(), recovered({ found: false }, { ...asked, submissions: 3 }), submitAgain(2_000, false), RESUBMIT));
  it('gives an attempt up that was lost too often, once the provider does not have the last submission either', () =>
    goes(running(), recovered({ found: false }, { ...asked, submissions: 10 }), unknown(true), RESUBMIT));
  it('ends an attempt that was submitted as often as a provider may have taken it', () =>
    goes(running({ submissionsMade: MOST }), recovered('unsupported'), unknown(true), RESUBMIT));
  it('submits again what was certainly not taken, however many submissions were', () =>
    goes(
      running({ attempt: ENDED_LONG_AGO, submissionsMade: MOST }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 50_000, notFound: EARLIER }),
      submitAgain(0, true),
    ));
  it('does not believe "not found" before a submission that ended can have settled', () =>
    goes(
      running({ attempt: { ...SUBMITTING, endedAt: NOW - 3_000 } }),
      recovered({ found: false }, { ...asked, submissionEndedAt: NOW - 3_000 }),
      rest(2_000),
    ));
  it('counts the end of a submission that another process has recorded from when its own run began', () =>
    goes(
      running({ attempt: { ...ENDED_LONG_AGO, bootId: 'other' } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 1_000 }),
      rest(4_000),
    ));
  it('takes a submission whose end nobody knows for over after the longest call', () =>
    goes(
      running({ attempt: { ...SUBMITTING, startedAt: NOW - 40_000 } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 30_000 }),
      rest(25_000),
    ));
  it('takes it for over no sooner than the lease of its worker can end', () =>
    goes(
      running({ attempt: { ...SUBMITTING, startedAt: NOW - 90_000 } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 10_000 }),
      rest(25_000),
    ));
  it('takes it for over when its process is known to have ended', () =>
    goes(
      running({ attempt: { ...SUBMITTING, bootId: 'other' } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 1_000 }),
      rest(4_000),
      { ...RULES, boot: { id: 'boot', isExclusive: true } },
    ));
  it('asks a second time, a settle time after the first believable answer', () =>
    goes(
      running({ attempt: ENDED_LONG_AGO }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 50_000 }),
      rest(5_000),
    ));
  it('ignores an answer that came too early', () =>
    goes(
      running({ attempt: { ...SUBMITTING, endedAt: NOW - 9_000 } }),
      recovered(
        { found: false },
        { ...asked, submissionEndedAt: NOW - 9_000, notFound: [{ askedAt: NOW - 8_000, at: NOW - 8_000 }] },
      ),
      rest(5_000),
    ));
  it('counts one of two answers that are too close', () =>
    goes(
      running({ attempt: ENDED_LONG_AGO }),
      recovered(
        { found: false },
        { ...asked, begunAt: NOW - 50_000, notFound: [{ askedAt: NOW - 4_000, at: NOW - 4_000 }] },
      ),
      rest(1_000),
    ));
  it('submits again what the provider twice does not have, whatever the model allows', () =>
    goes(
      running({ attempt: ENDED_LONG_AGO }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 50_000, notFound: EARLIER }),
      submitAgain(0, true),
    ));
  it('records a new beginning for a submission that comes too late for its own', () =>
    goes(running({ attempt: { ...SUBMITTING, startedAt: NOW - 60_000 } }), fresh, {
      do: 'allow-submit',
      token: 'a',
      afterMs: 0,
      isNotTaken: true,
    }));
  it('checks what was delivered with the answer to the submission, also after a cancel', () =>
    goes(
      running({ ...CANCELLED, attempt: DELIVERED }),
      { ...asked, cancelSeenAt: NOW - 90_000 },
      { do: 'inspect', delivered: DELIVERED.delivered },
    ));

  it('polls again as often as the model says', () => goes(running(), polled({ state: 'running' }), rest(700)));
  it('polls again when the provider says to', () =>
    goes(running(), polled({ state: 'running', pollAfterMs: 9 }), rest(9)));
  it('polls again later after polls without a report, however many there were', () =>
    goes(running(), polled(SILENT, { ...asked, silentPolls: 800 }), rest(60_000)));
  it('waits as long as the response to a poll asks', () =>
    goes(running(), polled({ state: 'silent', retryAfterMs: 7_000 }), rest(7_000)));
  it('waits a minute at most, whatever the response to a poll asks', () =>
    goes(running(), polled({ state: 'silent', retryAfterMs: 3_600_000 }), rest(60_000)));
  it('waits no less than its own back-off, whatever the response to a poll asks', () =>
    goes(running(), polled({ state: 'silent', retryAfterMs: 1 }, { ...asked, silentPolls: 3 }), rest(8_000)));
  it('polls a task with an unknown status again', () =>
    goes(running(), polled({ state: 'running', unknownStatus: 'NOT_START' }), rest(700)));
  it('ends an attempt that the provider failed', () =>
    goes(running(), polled({ state: 'failed', failure: FAILURE }), ending(FAILURE)));
  it('asks again about a task that the provider forgot', () =>
    goes(running(), polled({ state: 'unknown' }), rest(5_000)));
  it('does not believe statements that follow each other too closely, however many there are', () =>
    goes(
      running(),
      polled(
        { state: 'unknown' },
        { ...asked, forgotten: [1, 2, 3, 4].map((ago) => ({ askedAt: NOW - ago, at: NOW - ago })).toReversed() },
      ),
      rest(4_996),
    ));
  it('fails a task that the provider stated twice not to know, a settle time apart', () =>
    goes(
      running(),
      polled({ state: 'unknown' }, { ...asked, forgotten: [{ askedAt: NOW - 5_002, at: NOW - 5_001 }] }),
      FORGOTTEN,
    ));
  it('ignores a statement from before the provider knew the task again', () =>
    goes(
      running(),
      polled(
        { state: 'unknown' },
        polled({ state: 'running' }, { ...asked, forgotten: [{ askedAt: NOW - 5_002, at: NOW - 5_001 }] }),
      ),
      rest(5_000),
    ));
  it('gives up at once what is cancelled and no longer known', () =>
    goes(running(CANCELLED), polled({ state: 'unknown' }), FORGOTTEN));
  it('collects what is done', () =>
    goes(running(), polled({ state: 'succeeded', outputs: [] }), {
      do: 'collect',
      reference: 'r1',
      report: { state: 'succeeded', outputs: [] },
    }));

  it('succeeds with what was collected', () =>
    goes(running(), on({ of: 'collect', report: { state: 'succeeded' }, outputs: KEPT_OUTPUT }), {
      do: 'finish',
      command: { event: 'succeed', outputs: KEPT_OUTPUT },
    }));
  it('fails for good when nothing that was delivered is usable', () =>
    goes(running(), on({ of: 'collect', report: { state: 'succeeded' }, outputs: [] }), unusable(false)));
  it('makes it again when nothing that was delivered is usable and the model allows that', () =>
    goes(running(), on({ of: 'collect', report: { state: 'succeeded' }, outputs: [] }), unusable(true), {
      ...RULES,
      mayReplaceOutputs: true,
    }));
  it('delivers what was made before the provider stopped by itself', () =>
    goes(running(), on({ of: 'collect', report: { state: 'cancelled' }, outputs: KEPT_OUTPUT }), {
      do: 'finish',
      command: { event: 'succeed', outputs: KEPT_OUTPUT },
    }));
  it('delivers what was made before a cancel', () =>
    goes(running(CANCELLED), on({ of: 'collect', report: { state: 'cancelled' }, outputs: KEPT_OUTPUT }), {
      do: 'finish',
      command: { event: 'stop', outputs: KEPT_OUTPUT },
    }));
  it('ends an attempt that the provider stopped by itself', () =>
    goes(
      running(),
      on({ of: 'collect', report: { state: 'cancelled' }, outputs: [] }),
      ending({ code: 'PROVIDER_REJECTED', mayRetry: true, message: 'The provider stopped the task.' }),
    ));
  it('collects again later', () => goes(running(), notFetched({ ...asked, failedCollections: 1 }), rest(2_000)));
  it('fetches again what did not arrive, however often that was', () =>
    goes(running(), notFetched({ ...asked, failedCollections: 300 }), rest(60_000)));
  it('waits as long as the response to a download asks, a minute at most', () =>
    goes(running(), on({ of: 'failed-collect', isStoreAway: false, retryAfterMs: 90_000 }), rest(60_000)));
  it('waits as long before it checks what is delivered again when the grace after a cancel is over', () =>
    goes(
      running({ ...CANCELLED, attempt: DELIVERED }),
      on(
        { of: 'failed-collect', isStoreAway: true },
        { ...asked, failedCollections: 1, cancelSeenAt: NOW - RULES.settings.cancelGraceMs - 1 },
      ),
      rest(2_000),
    ));
  it('waits for our own store as long as it is away', () =>
    goes(
      running(),
      on({ of: 'failed-collect', isStoreAway: true }, { ...asked, failedCollections: 30 }),
      rest(60_000),
    ));

  it('stops when an attempt failed and a cancel is asked for', () =>
    goes(running(CANCELLED), FAILED, { do: 'finish', command: { event: 'stop', outputs: [], hasFailed: true } }));
  it('tries again later', () => goes(running(), FAILED, { do: 'retry', retryAt: NOW + 1_000, isRefused: false }));
  it('tries again when the provider says to', () =>
    goes(running(), on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 7_000 } }), {
      do: 'retry',
      retryAt: NOW + 7_000,
      isRefused: false,
    }));
  it('rounds the wait that the provider asks for up to whole milliseconds', () =>
    goes(running(), on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 7_000.2 } }), {
      do: 'retry',
      retryAt: NOW + 7_001,
      isRefused: false,
    }));
  it('does not count a submission that was certainly refused', () =>
    goes(
      running({ submissionsMade: MOST }),
      on({ of: 'ended-attempt', failure: FAILURE, isRefused: true }),
      retry(NOW + 1_000, true),
    ));
  it('fails once as many submissions as allowed may have been taken', () =>
    goes(running({ submissionsMade: MOST }), FAILED, failing('It is full.')));
  it('fails for good', () =>
    goes(running(), on({ of: 'ended-attempt', failure: { ...FAILURE, mayRetry: false } }), failing('It is full.')));
  it('fails after the last attempt', () => goes(running({ attemptsMade: 99 }), FAILED, failing('It is full.')));
  it('waits for capacity as long as the run has lasted, and counts no attempt', () =>
    goes(
      running({
        attemptsMade: 99,
        runDeadlineAt: NOW + 597_000,
        terms: { ...aGeneration(1).terms, runTimeoutMs: 600_000 },
      }),
      on({ of: 'ended-attempt', failure: FAILURE, because: 'capacity' }),
      undo(NOW + 3_000, false),
    ));
  it('waits for capacity as long as the provider says', () =>
    goes(running(), on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 70_000 }, because: 'capacity' }), {
      do: 'undo',
      retryAt: NOW + 70_000,
      isNotHere: false,
    }));
  it('continues at another provider immediately', () =>
    goes(
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 70_000 }, because: 'capacity' }),
      undo(NOW, false),
      ELSEWHERE,
    ));
  it('fails when there is no capacity before the deadline', () =>
    goes(
      running({ runDeadlineAt: NOW + 70_000 }),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 70_000 }, because: 'capacity' }),
      failing('It is full.'),
    ));
  it('continues at another provider when this one cannot make it', () =>
    goes(
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, mayRetry: false }, because: 'not-here' }),
      undo(NOW, true),
      ELSEWHERE,
    ));
  it('fails when no other provider can make it', () =>
    goes(running(), on({ of: 'ended-attempt', failure: FAILURE, because: 'not-here' }), failing('It is full.')));
  it('fails when the next attempt would come too late', () =>
    goes(running({ runDeadlineAt: NOW + 1_000 }), FAILED, failing('It is full.')));
});
