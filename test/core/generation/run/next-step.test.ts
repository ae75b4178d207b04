// Goal: each step of a run follows from its generation, the state of the run and the time.
// Method: the tables line by line, each line where the ones before it do not apply.
import { expect } from 'chai';
import type { Generation, TaskErrorCode } from '../../../../core/generation/generation.js';
import type { RunRules, RunStep } from '../../../../core/generation/run/next-step.js';
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

function own(code: TaskErrorCode, mayRetry: boolean, message: string) {
  return { code, mayRetry, message };
}

const UNKNOWN_OUTCOME = 'It is not known whether the provider took the task.';
const FORGOTTEN = 'The provider no longer knows the task.';

const MESSAGES = {
  OUTPUT_INVALID: 'The provider delivered something that cannot be used.',
  TASK_TIMEOUT: 'The generation did not finish before its deadline.',
  OUTPUT_STORE_FAILED: 'The result could not be stored.',
};

function finishing(code: 'TASK_TIMEOUT' | 'OUTPUT_STORE_FAILED'): Extract<RunStep, { do: 'finish' }> {
  return { do: 'finish', command: { event: 'fail', error: { code, message: MESSAGES[code], retryable: true } } };
}

function failing(message: string): RunStep {
  return {
    do: 'finish',
    command: { event: 'fail', error: { code: 'PROVIDER_UNAVAILABLE', message, retryable: true } },
  };
}

describe('the next step of a run', () => {
  const LINES: readonly (readonly [
    name: string,
    g: Generation,
    state: RunState,
    expected: RunStep,
    rules?: RunRules,
    time?: RunTime,
  ])[] = [
    [
      'hands the lease back when it is to stop, though it is late',
      running({ ...LATE, ...CANCELLED }),
      { ...asked, isStopping: true },
      { do: 'hand-back', isUnsent: false },
    ],
    [
      'hands back an attempt that was never submitted as such',
      running(),
      { ...fresh, isStopping: true },
      { do: 'hand-back', isUnsent: true },
    ],
    [
      'hands back nothing unsent where there is no attempt',
      without('attempt'),
      { ...asked, isStopping: true },
      { do: 'hand-back', isUnsent: false },
    ],
    [
      'fails past the deadline, though a cancel is asked for',
      running({ ...LATE, ...CANCELLED }),
      fresh,
      finishing('TASK_TIMEOUT'),
    ],
    [
      'allows one more poll past the deadline for a task that the provider accepted',
      running({ ...LATE, attempt: SUBMITTED }),
      fresh,
      { do: 'allow-last-poll' },
    ],
    [
      'allows time past the deadline to check what was delivered with the answer',
      running({ ...LATE, attempt: DELIVERED }),
      fresh,
      { do: 'allow-last-poll' },
    ],
    [
      'polls once more in the period after the deadline',
      running({ ...LATE, lastPollBy: NOW + 9_000, attempt: SUBMITTED }),
      fresh,
      { do: 'poll', reference: 'r1' },
    ],
    [
      'fails, and asks the provider to stop, once the poll after the deadline was made',
      running({ ...LATE, lastPollBy: NOW + 9_000, attempt: SUBMITTED }),
      { ...fresh, hasPolledLast: true },
      { ...finishing('TASK_TIMEOUT'), stopping: 'r1' },
    ],
    [
      'fails when the poll after the deadline finds no result',
      running({ ...LATE, lastPollBy: NOW + 9_000, attempt: SUBMITTED }),
      polled({ state: 'running' }, asked, true),
      { ...finishing('TASK_TIMEOUT'), stopping: 'r1' },
    ],
    [
      'collects what the poll after the deadline found, though no further poll is made',
      running({ ...LATE, lastPollBy: NOW + 9_000, attempt: SUBMITTED }),
      {
        ...asked,
        hasPolledLast: true,
        finished: { reference: 'r1', report: { state: 'succeeded', outputs: [] } },
      },
      { do: 'collect', reference: 'r1', report: { state: 'succeeded', outputs: [] } },
    ],
    [
      'fetches outputs again no longer than the period after the deadline lasts',
      running({ ...LATE, lastPollBy: NOW + 1_500, attempt: SUBMITTED }),
      on({ of: 'failed-collect', isStoreAway: false }, { ...asked, failedCollections: 5 }),
      { do: 'rest', ms: 1_501 },
    ],
    [
      'says that the result could not be fetched when the period after the deadline is over',
      running({ ...LATE, lastPollBy: NOW - 1, attempt: SUBMITTED }),
      { ...asked, failedCollections: 5 },
      {
        do: 'finish',
        stopping: 'r1',
        command: {
          event: 'fail',
          error: {
            code: 'TASK_TIMEOUT',
            retryable: true,
            message: 'The result of the provider could not be fetched before the deadline.',
          },
        },
      },
    ],
    [
      'fails past the deadline for our own store where that was away',
      running(LATE),
      { ...fresh, isStoreAway: true },
      finishing('OUTPUT_STORE_FAILED'),
    ],
    ['stops before an attempt when a cancel is asked for', without('attempt', CANCELLED), asked, STOP],
    ['begins an attempt', without('attempt'), asked, { do: 'begin-attempt' }],
    [
      'stops once the provider has had its grace after a cancel',
      running({ ...CANCELLED, attempt: SUBMITTED }),
      { ...asked, cancelSeenAt: NOW - 60_001 },
      STOP,
    ],
    ['polls what was accepted', running({ attempt: SUBMITTED }), asked, { do: 'poll', reference: 'r1' }],
    [
      'asks to stop, and polls, what was accepted and is cancelled',
      running({ ...CANCELLED, attempt: SUBMITTED }),
      { ...asked, cancelSeenAt: NOW },
      { do: 'poll', reference: 'r1', stopping: 'r1' },
    ],
    [
      'asks about an attempt until the deadline where the model does not allow another submission',
      running(),
      { ...asked, unknownRounds: 10 },
      { do: 'recover', token: 'a' },
    ],
    [
      'has it tried again where the model allows that',
      running(),
      { ...asked, unknownRounds: 10 },
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', true, UNKNOWN_OUTCOME) },
      { ...RULES, mayResubmit: true },
    ],
    ['asks first about an attempt that may have been submitted', running(), asked, { do: 'recover', token: 'a' }],
    ['asks first though a cancel is asked for', running(CANCELLED), asked, { do: 'recover', token: 'a' }],
    ['does not submit what is cancelled', running(CANCELLED), fresh, STOP],
    [
      'does not submit under a lease that has lapsed',
      running({ lease: { worker: 'w', fence: 1, renewedAt: NOW - 9, expiresAt: NOW } }),
      fresh,
      { do: 'rest', ms: 1_000 },
    ],
    ['does not submit without a lease', without('lease'), fresh, { do: 'rest', ms: 1_000 }],
    [
      'does not submit under a lease that has lapsed by the monotonic clock alone',
      running(),
      fresh,
      { do: 'rest', ms: 1_000 },
      RULES,
      { now: NOW, monotonic: NOW, leaseHeldUntil: NOW },
    ],
    [
      'begins no attempt where as many submissions as allowed may have been taken',
      without('attempt', { attemptsMade: 1, submissionsMade: aGeneration(1).terms.maxAttempts }),
      asked,
      failing(UNKNOWN_OUTCOME),
    ],
    ['submits', running(), fresh, { do: 'submit', attempt: SUBMITTING }],

    [
      'asks again later when the provider did not say',
      running(),
      recovered(SILENT, { ...asked, unknownRounds: 2 }),
      { do: 'rest', ms: 4_000 },
    ],
    [
      'asks again later when the provider does not know yet',
      running(),
      recovered({ found: 'not-yet' }, { ...asked, notYetAnswers: 1 }),
      { do: 'rest', ms: 2_000 },
    ],
    [
      'asks again when the provider says to',
      running(),
      recovered({ found: 'not-yet', retryAfterMs: 5_000 }),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'asks again though a cancel is asked for',
      running(CANCELLED),
      recovered({ found: 'not-yet', retryAfterMs: 5_000 }),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'waits no longer than the deadline',
      running({ runDeadlineAt: NOW + 3_000 }),
      recovered({ found: 'not-yet', retryAfterMs: 500_000 }),
      { do: 'rest', ms: 3_001 },
    ],
    [
      'goes on with what the provider has',
      running(CANCELLED),
      recovered({ found: true, reference: 'r9' }),
      { do: 'accept', reference: 'r9' },
    ],
    [
      'stops when the provider has nothing and a cancel is asked for',
      running(CANCELLED),
      recovered({ found: false }),
      STOP,
    ],
    [
      'ends an attempt for good that cannot be asked about',
      running(),
      recovered('unsupported'),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false, UNKNOWN_OUTCOME) },
    ],
    [
      'submits again what cannot be asked about where the model allows that',
      running(),
      recovered('unsupported'),
      { do: 'allow-submit', token: 'a', afterMs: 0, isNotTaken: false },
      { ...RULES, mayResubmit: true },
    ],
    [
      'submits again what the provider does not have where the model allows that',
      running(),
      recovered({ found: false }),
      { do: 'allow-submit', token: 'a', afterMs: 0, isNotTaken: false },
      { ...RULES, mayResubmit: true },
    ],
    [
      'waits before it submits a second time',
      running(),
      recovered({ found: false }, { ...asked, submissions: 3 }),
      { do: 'allow-submit', token: 'a', afterMs: 2_000, isNotTaken: false },
      { ...RULES, mayResubmit: true },
    ],
    [
      'gives an attempt up that was lost too often, once the provider does not have the last submission either',
      running(),
      recovered({ found: false }, { ...asked, submissions: 10 }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', true, UNKNOWN_OUTCOME) },
      { ...RULES, mayResubmit: true },
    ],
    [
      'ends an attempt that was submitted as often as a provider may have taken it',
      running({ submissionsMade: aGeneration(1).terms.maxAttempts }),
      recovered('unsupported'),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', true, UNKNOWN_OUTCOME) },
      { ...RULES, mayResubmit: true },
    ],
    [
      'submits again what was certainly not taken, however many submissions were',
      running({ attempt: ENDED_LONG_AGO, submissionsMade: aGeneration(1).terms.maxAttempts }),
      recovered(
        { found: false },
        { ...asked, begunAt: NOW - 50_000, notFound: [{ askedAt: NOW - 6_002, at: NOW - 6_001 }] },
      ),
      { do: 'allow-submit', token: 'a', afterMs: 0, isNotTaken: true },
    ],
    [
      'does not believe "not found" before a submission that ended can have settled',
      running({ attempt: { ...SUBMITTING, endedAt: NOW - 3_000 } }),
      recovered({ found: false }, { ...asked, submissionEndedAt: NOW - 3_000 }),
      { do: 'rest', ms: 2_000 },
    ],
    [
      'counts the end of a submission that another process has recorded from when its own run began',
      running({ attempt: { ...ENDED_LONG_AGO, bootId: 'other' } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 1_000 }),
      { do: 'rest', ms: 4_000 },
    ],
    [
      'takes a submission whose end nobody knows for over after the longest call',
      running({ attempt: { ...SUBMITTING, startedAt: NOW - 40_000 } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 30_000 }),
      { do: 'rest', ms: 25_000 },
    ],
    [
      'takes it for over no sooner than the lease of its worker can end',
      running({ attempt: { ...SUBMITTING, startedAt: NOW - 90_000 } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 10_000 }),
      { do: 'rest', ms: 25_000 },
    ],
    [
      'takes it for over when its process is known to have ended',
      running({ attempt: { ...SUBMITTING, bootId: 'other' } }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 1_000 }),
      { do: 'rest', ms: 4_000 },
      { ...RULES, boot: { id: 'boot', isExclusive: true } },
    ],
    [
      'asks a second time, a settle time after the first believable answer',
      running({ attempt: ENDED_LONG_AGO }),
      recovered({ found: false }, { ...asked, begunAt: NOW - 50_000 }),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'counts no answer that came too early',
      running({ attempt: { ...SUBMITTING, endedAt: NOW - 9_000 } }),
      recovered(
        { found: false },
        { ...asked, submissionEndedAt: NOW - 9_000, notFound: [{ askedAt: NOW - 8_000, at: NOW - 8_000 }] },
      ),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'counts no two answers that are too close',
      running({ attempt: ENDED_LONG_AGO }),
      recovered(
        { found: false },
        { ...asked, begunAt: NOW - 50_000, notFound: [{ askedAt: NOW - 4_000, at: NOW - 4_000 }] },
      ),
      { do: 'rest', ms: 1_000 },
    ],
    [
      'submits again what the provider twice does not have, whatever the model allows',
      running({ attempt: ENDED_LONG_AGO }),
      recovered(
        { found: false },
        { ...asked, begunAt: NOW - 50_000, notFound: [{ askedAt: NOW - 6_002, at: NOW - 6_001 }] },
      ),
      { do: 'allow-submit', token: 'a', afterMs: 0, isNotTaken: true },
    ],
    [
      'records a new beginning for a submission that comes too late for its own',
      running({ attempt: { ...SUBMITTING, startedAt: NOW - 60_000 } }),
      fresh,
      { do: 'allow-submit', token: 'a', afterMs: 0, isNotTaken: true },
    ],
    [
      'checks what was delivered with the answer to the submission, also after a cancel',
      running({ ...CANCELLED, attempt: DELIVERED }),
      { ...asked, cancelSeenAt: NOW - 90_000 },
      { do: 'inspect', delivered: DELIVERED.delivered },
    ],

    ['polls again as often as the model says', running(), polled({ state: 'running' }), { do: 'rest', ms: 700 }],
    [
      'polls again when the provider says to',
      running(),
      polled({ state: 'running', pollAfterMs: 9 }),
      { do: 'rest', ms: 9 },
    ],
    [
      'polls again later after polls without a report, however many there were',
      running(),
      polled(SILENT, { ...asked, silentPolls: 800 }),
      { do: 'rest', ms: 60_000 },
    ],
    [
      'waits as long as the response to a poll asks',
      running(),
      polled({ state: 'silent', retryAfterMs: 7_000 }),
      { do: 'rest', ms: 7_000 },
    ],
    [
      'waits a minute at most, whatever the response to a poll asks',
      running(),
      polled({ state: 'silent', retryAfterMs: 3_600_000 }),
      { do: 'rest', ms: 60_000 },
    ],
    [
      'waits no less than its own back-off, whatever the response to a poll asks',
      running(),
      polled({ state: 'silent', retryAfterMs: 1 }, { ...asked, silentPolls: 3 }),
      { do: 'rest', ms: 8_000 },
    ],
    [
      'polls a task with an unknown status again',
      running(),
      polled({ state: 'running', unknownStatus: 'NOT_START' }),
      { do: 'rest', ms: 700 },
    ],
    [
      'ends an attempt that the provider failed',
      running(),
      polled({ state: 'failed', failure: FAILURE }),
      { do: 'end-attempt', failure: FAILURE },
    ],
    [
      'asks again about a task that the provider forgot',
      running(),
      polled({ state: 'unknown' }),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'does not believe statements that follow each other too closely, however many there are',
      running(),
      polled(
        { state: 'unknown' },
        { ...asked, forgotten: [1, 2, 3, 4].map((ago) => ({ askedAt: NOW - ago, at: NOW - ago })).toReversed() },
      ),
      { do: 'rest', ms: 4_996 },
    ],
    [
      'fails a task that the provider stated twice not to know, a settle time apart',
      running(),
      polled({ state: 'unknown' }, { ...asked, forgotten: [{ askedAt: NOW - 5_002, at: NOW - 5_001 }] }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false, FORGOTTEN) },
    ],
    [
      'counts no statement from before the provider knew the task again',
      running(),
      polled(
        { state: 'unknown' },
        polled({ state: 'running' }, { ...asked, forgotten: [{ askedAt: NOW - 5_002, at: NOW - 5_001 }] }),
      ),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'gives up at once what is cancelled and no longer known',
      running(CANCELLED),
      polled({ state: 'unknown' }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false, FORGOTTEN) },
    ],
    [
      'collects what is done',
      running(),
      polled({ state: 'succeeded', outputs: [] }),
      { do: 'collect', reference: 'r1', report: { state: 'succeeded', outputs: [] } },
    ],

    [
      'succeeds with what was collected',
      running(),
      on({ of: 'collect', report: { state: 'succeeded' }, outputs: KEPT_OUTPUT }),
      { do: 'finish', command: { event: 'succeed', outputs: KEPT_OUTPUT } },
    ],
    [
      'fails for good when nothing that was delivered is usable',
      running(),
      on({ of: 'collect', report: { state: 'succeeded' }, outputs: [] }),
      { do: 'end-attempt', failure: own('OUTPUT_INVALID', false, MESSAGES.OUTPUT_INVALID) },
    ],
    [
      'makes it again when nothing that was delivered is usable and the model allows that',
      running(),
      on({ of: 'collect', report: { state: 'succeeded' }, outputs: [] }),
      { do: 'end-attempt', failure: own('OUTPUT_INVALID', true, MESSAGES.OUTPUT_INVALID) },
      { ...RULES, mayReplaceOutputs: true },
    ],
    [
      'delivers what was made before the provider stopped by itself',
      running(),
      on({ of: 'collect', report: { state: 'cancelled' }, outputs: KEPT_OUTPUT }),
      { do: 'finish', command: { event: 'succeed', outputs: KEPT_OUTPUT } },
    ],
    [
      'delivers what was made before a cancel',
      running(CANCELLED),
      on({ of: 'collect', report: { state: 'cancelled' }, outputs: KEPT_OUTPUT }),
      { do: 'finish', command: { event: 'stop', outputs: KEPT_OUTPUT } },
    ],
    [
      'ends an attempt that the provider stopped by itself',
      running(),
      on({ of: 'collect', report: { state: 'cancelled' }, outputs: [] }),
      { do: 'end-attempt', failure: own('PROVIDER_REJECTED', true, 'The provider stopped the task.') },
    ],
    [
      'collects again later',
      running(),
      on({ of: 'failed-collect', isStoreAway: false }, { ...asked, failedCollections: 1 }),
      { do: 'rest', ms: 2_000 },
    ],
    [
      'fetches again what did not arrive, however often that was',
      running(),
      on({ of: 'failed-collect', isStoreAway: false }, { ...asked, failedCollections: 300 }),
      { do: 'rest', ms: 60_000 },
    ],
    [
      'waits as long as the response to a download asks, a minute at most',
      running(),
      on({ of: 'failed-collect', isStoreAway: false, retryAfterMs: 90_000 }),
      { do: 'rest', ms: 60_000 },
    ],
    [
      'waits as long before it checks what is delivered again when the grace after a cancel is over',
      running({ ...CANCELLED, attempt: DELIVERED }),
      on(
        { of: 'failed-collect', isStoreAway: true },
        { ...asked, failedCollections: 1, cancelSeenAt: NOW - RULES.settings.cancelGraceMs - 1 },
      ),
      { do: 'rest', ms: 2_000 },
    ],
    [
      'waits for our own store as long as it is away',
      running(),
      on({ of: 'failed-collect', isStoreAway: true }, { ...asked, failedCollections: 30 }),
      { do: 'rest', ms: 60_000 },
    ],

    [
      'stops when an attempt failed and a cancel is asked for',
      running(CANCELLED),
      on({ of: 'ended-attempt', failure: FAILURE }),
      { do: 'finish', command: { event: 'stop', outputs: [], hasFailed: true } },
    ],
    [
      'tries again later',
      running(),
      on({ of: 'ended-attempt', failure: FAILURE }),
      { do: 'retry', retryAt: NOW + 1_000, isRefused: false },
    ],
    [
      'tries again when the provider says to',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 7_000 } }),
      { do: 'retry', retryAt: NOW + 7_000, isRefused: false },
    ],
    [
      'rounds the wait that the provider asks for up to whole milliseconds',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 7_000.2 } }),
      { do: 'retry', retryAt: NOW + 7_001, isRefused: false },
    ],
    [
      'does not count a submission that was certainly refused',
      running({ submissionsMade: aGeneration(1).terms.maxAttempts }),
      on({ of: 'ended-attempt', failure: FAILURE, isRefused: true }),
      { do: 'retry', retryAt: NOW + 1_000, isRefused: true },
    ],
    [
      'fails once as many submissions as allowed may have been taken',
      running({ submissionsMade: aGeneration(1).terms.maxAttempts }),
      on({ of: 'ended-attempt', failure: FAILURE }),
      failing('It is full.'),
    ],
    [
      'fails for good',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, mayRetry: false } }),
      failing('It is full.'),
    ],
    [
      'fails after the last attempt',
      running({ attemptsMade: 99 }),
      on({ of: 'ended-attempt', failure: FAILURE }),
      failing('It is full.'),
    ],
    [
      'waits for capacity as long as the run has lasted, and counts no attempt',
      running({
        attemptsMade: 99,
        runDeadlineAt: NOW + 597_000,
        terms: { ...aGeneration(1).terms, runTimeoutMs: 600_000 },
      }),
      on({ of: 'ended-attempt', failure: FAILURE, because: 'capacity' }),
      { do: 'undo', retryAt: NOW + 3_000, isNotHere: false },
    ],
    [
      'waits for capacity as long as the provider says',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 70_000 }, because: 'capacity' }),
      { do: 'undo', retryAt: NOW + 70_000, isNotHere: false },
    ],
    [
      'goes on to another provider immediately',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 70_000 }, because: 'capacity' }),
      { do: 'undo', retryAt: NOW, isNotHere: false },
      { ...RULES, hasOtherProvider: true },
    ],
    [
      'fails when there is no capacity before the deadline',
      running({ runDeadlineAt: NOW + 70_000 }),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 70_000 }, because: 'capacity' }),
      failing('It is full.'),
    ],
    [
      'goes on to another provider when this one cannot make it',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, mayRetry: false }, because: 'not-here' }),
      { do: 'undo', retryAt: NOW, isNotHere: true },
      { ...RULES, hasOtherProvider: true },
    ],
    [
      'fails when no other provider can make it',
      running(),
      on({ of: 'ended-attempt', failure: FAILURE, because: 'not-here' }),
      failing('It is full.'),
    ],
    [
      'fails when the next attempt would come too late',
      running({ runDeadlineAt: NOW + 1_000 }),
      on({ of: 'ended-attempt', failure: FAILURE }),
      failing('It is full.'),
    ],
  ];

  for (const [name, g, state, expected, rules, time] of LINES) {
    it(name, () => {
      expect(step(g, state, rules, time)).to.deep.equal(expected);
    });
  }
});
