// Goal: each step of a run follows from its generation, the state of the run and the time.
// Method: the tables line by line, each line where the ones before it do not apply.
import { expect } from 'chai';
import type { Generation } from '../../../../core/generation/generation.js';
import type { RunRules, RunStep } from '../../../../core/generation/run/next-step.js';
import type { RunState } from '../../../../core/generation/run/run-state.js';
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
  step,
  STOP,
  SUBMITTED,
  SUBMITTING,
  without,
} from './run-situations.js';

function own(code: 'PROVIDER_UNAVAILABLE' | 'OUTPUT_INVALID' | 'PROVIDER_REJECTED', mayRetry: boolean) {
  return { code, mayRetry, message: MESSAGES[code] };
}

const MESSAGES = {
  PROVIDER_UNAVAILABLE: 'The provider did not say what became of the task.',
  OUTPUT_INVALID: 'The provider delivered something that is not what was asked for.',
  PROVIDER_REJECTED: 'The provider refused the task.',
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
      'asks the provider to stop what it has past the deadline',
      running({ ...LATE, attempt: SUBMITTED }),
      fresh,
      { ...finishing('TASK_TIMEOUT'), stopping: 'r1' },
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
      'gives an attempt up that nobody can tell about',
      running(),
      { ...asked, unknownRounds: 10 },
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false) },
    ],
    [
      'has it tried again where the model allows that',
      running(),
      { ...asked, unknownRounds: 10 },
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', true) },
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
    ['submits', running(), fresh, { do: 'submit', attempt: SUBMITTING }],

    [
      'asks again later when the provider did not say',
      running(),
      recovered('silent', { ...asked, unknownRounds: 2 }),
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
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false) },
    ],
    [
      'submits again what cannot be asked about where the model allows that',
      running(),
      recovered('unsupported'),
      { do: 'allow-submit', token: 'a', afterMs: 0 },
      { ...RULES, mayResubmit: true },
    ],
    [
      'submits again what the provider does not have where the model allows that',
      running(),
      recovered({ found: false }),
      { do: 'allow-submit', token: 'a', afterMs: 0 },
      { ...RULES, mayResubmit: true },
    ],
    [
      'waits before it submits a second time',
      running(),
      recovered({ found: false }, { ...asked, submissions: 3 }),
      { do: 'allow-submit', token: 'a', afterMs: 2_000 },
      { ...RULES, mayResubmit: true },
    ],
    [
      'gives an attempt up that was lost too often, once the provider does not have the last submission either',
      running(),
      recovered({ found: false }, { ...asked, submissions: 10 }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', true) },
      { ...RULES, mayResubmit: true },
    ],
    [
      'does not believe "not found" before a submission that ended can have settled',
      running({ attempt: { ...SUBMITTING, endedAt: NOW - 3_000 } }),
      recovered({ found: false }),
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
      recovered({ found: false }),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'counts no answer that came too early',
      running({ attempt: { ...SUBMITTING, endedAt: NOW - 9_000 } }),
      recovered({ found: false }, { ...asked, notFound: [{ askedAt: NOW - 8_000, at: NOW - 8_000 }] }),
      { do: 'rest', ms: 5_000 },
    ],
    [
      'counts no two answers that are too close',
      running({ attempt: ENDED_LONG_AGO }),
      recovered({ found: false }, { ...asked, notFound: [{ askedAt: NOW - 4_000, at: NOW - 4_000 }] }),
      { do: 'rest', ms: 1_000 },
    ],
    [
      'submits again what the provider twice does not have, whatever the model allows',
      running({ attempt: ENDED_LONG_AGO }),
      recovered({ found: false }, { ...asked, notFound: [{ askedAt: NOW - 6_002, at: NOW - 6_001 }] }),
      { do: 'allow-submit', token: 'a', afterMs: 0 },
    ],
    [
      'records a new beginning for a submission that comes too late for its own',
      running({ attempt: { ...SUBMITTING, startedAt: NOW - 60_000 } }),
      fresh,
      { do: 'allow-submit', token: 'a', afterMs: 0 },
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
      'polls again later when the provider was silent',
      running(),
      polled({ state: 'silent' }, { ...asked, silentPolls: 8 }),
      { do: 'rest', ms: 60_000 },
    ],
    [
      'gives up, and asks to stop, what is silent for too long',
      running(),
      polled({ state: 'silent' }, { ...asked, silentPolls: 9 }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false), stopping: 'r1' },
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
      polled({ state: 'unknown' }, { ...asked, unknownReports: 1 }),
      { do: 'rest', ms: 2_000 },
    ],
    [
      'gives up a task that the provider forgot for good',
      running(),
      polled({ state: 'unknown' }, { ...asked, unknownReports: 2 }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false) },
    ],
    [
      'gives up at once what is cancelled and no longer known',
      running(CANCELLED),
      polled({ state: 'unknown' }),
      { do: 'end-attempt', failure: own('PROVIDER_UNAVAILABLE', false) },
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
      'ends an attempt that delivered nothing',
      running(),
      on({ of: 'collect', report: { state: 'succeeded' }, outputs: [] }),
      { do: 'end-attempt', failure: own('OUTPUT_INVALID', true) },
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
      { do: 'end-attempt', failure: own('PROVIDER_REJECTED', true) },
    ],
    [
      'collects again later',
      running(),
      on({ of: 'failed-collect', isStoreAway: false }, { ...asked, failedCollections: 1 }),
      { do: 'rest', ms: 2_000 },
    ],
    [
      'ends an attempt that cannot be collected',
      running(),
      on({ of: 'failed-collect', isStoreAway: false }, { ...asked, failedCollections: 3 }),
      { do: 'end-attempt', failure: own('OUTPUT_INVALID', true) },
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
      { do: 'retry', retryAt: NOW + 1_000 },
    ],
    [
      'tries again when the provider says to',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 7_000 } }),
      { do: 'retry', retryAt: NOW + 7_000 },
    ],
    [
      'rounds the wait that the provider asks for up to whole milliseconds',
      running(),
      on({ of: 'ended-attempt', failure: { ...FAILURE, retryAfterMs: 7_000.2 } }),
      { do: 'retry', retryAt: NOW + 7_001 },
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

  for (const [name, g, state, expected, rules] of LINES) {
    it(name, () => {
      expect(step(g, state, rules)).to.deep.equal(expected);
    });
  }
});
