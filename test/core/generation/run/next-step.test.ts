// Goal: each step of a run follows from its generation, the state of the run and the time; nothing is submitted that
// the provider may already have, and nothing after a deadline, a cancel, a lapsed lease or a stop order.
// Method: the tables line by line, each line where the ones before it do not apply; and random situations, checked by
// assertions about submissions and waits.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Generation } from '../../../../core/generation/generation.js';
import { nextStep, type RunRules, type RunStep } from '../../../../core/generation/run/next-step.js';
import { newRunState, withNews, type News, type RunState } from '../../../../core/generation/run/run-state.js';
import type { ProviderReport, RecoverAnswer } from '../../../../core/ports/provider.js';
import { DEFAULT_SETTINGS } from '../../../../core/settings.js';
import { aGeneration } from '../../../fixtures/stored-records.js';

const NOW = 1_000_000;
const RULES: RunRules = {
  mayResubmit: false,
  pollIntervalMs: 700,
  settings: {
    ...DEFAULT_SETTINGS,
    retryBaseMs: 1_000,
    retryCapMs: 60_000,
    retryAfterCapMs: 600_000,
    cancelGraceMs: 60_000,
  },
};
const SUBMITTING = { number: 1, phase: 'submitting', token: 'a', startedAt: NOW - 10 } as const;
const SUBMITTED = { ...SUBMITTING, phase: 'submitted', reference: 'r1' } as const;
const LATE = { runDeadlineAt: NOW - 1 };
const CANCELLED = { cancelRequestedAt: NOW - 5 };
const FAILURE = { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true } as const;
const STOP: RunStep = { do: 'finish', command: { event: 'stop', outputs: [] } };
const KEPT_OUTPUT = aGeneration(1).outputs;

function running(changes: Partial<Generation> = {}): Generation {
  const { cancelRequestedAt: _, ...g } = aGeneration(1);
  return {
    ...g,
    status: 'running',
    attemptsMade: 1,
    attempt: SUBMITTING,
    runDeadlineAt: NOW + 100_000,
    outputs: [],
    lease: { worker: 'w', fence: 1, renewedAt: NOW - 5, expiresAt: NOW + 1_000 },
    ...changes,
  };
}

function without(name: 'attempt' | 'lease', changes: Partial<Generation> = {}): Generation {
  const { [name]: _, ...g } = running(changes);
  return g;
}

const fresh = newRunState('a');
const asked = newRunState(undefined);
const on = (news: News, state: RunState = asked): RunState => withNews(state, news);
const recovered = (answer: RecoverAnswer | 'silent', state?: RunState) =>
  on({ of: 'recover', token: 'a', answer }, state);
const polled = (report: ProviderReport | { readonly state: 'silent' }, state?: RunState) =>
  on({ of: 'poll', reference: 'r1', report }, state);
const step = (g: Generation, state: RunState, rules = RULES, now = NOW): RunStep => nextStep(g, state, now, rules);

function allowsSubmit({ news }: RunState, { mayResubmit }: RunRules): boolean {
  if (news?.of !== 'recover') return false;
  return news.answer === 'unsupported' ? mayResubmit : typeof news.answer === 'object' && news.answer.found === false;
}

function own(code: 'PROVIDER_UNAVAILABLE' | 'OUTPUT_INVALID' | 'PROVIDER_REJECTED', mayRetry: boolean) {
  return { code, mayRetry, message: MESSAGES[code] };
}

const MESSAGES = {
  PROVIDER_UNAVAILABLE: 'The provider could not be reached.',
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

const RECOVER: fc.Arbitrary<RecoverAnswer | 'silent'> = fc.constantFrom<(RecoverAnswer | 'silent')[]>(
  'silent',
  'unsupported',
  { found: false },
  { found: true, reference: 'r2' },
  { found: 'not-yet' },
  { found: 'not-yet', retryAfterMs: 10_000_000 },
);
const REPORT = fc.constantFrom<(ProviderReport | { readonly state: 'silent' })[]>(
  { state: 'silent' },
  { state: 'running' },
  { state: 'running', pollAfterMs: 10_000_000 },
  { state: 'unknown' },
  { state: 'failed', failure: FAILURE },
  { state: 'succeeded', outputs: [] },
  { state: 'cancelled', outputs: [] },
);
const NEWS: fc.Arbitrary<News | undefined> = fc.oneof(
  fc.constant(undefined),
  RECOVER.map((answer): News => ({ of: 'recover', token: 'a', answer })),
  REPORT.map((report): News => ({ of: 'poll', reference: 'r1', report })),
  fc
    .record({ state: fc.constantFrom('succeeded', 'cancelled'), outputs: fc.constantFrom([], KEPT_OUTPUT) })
    .map(({ state, outputs }): News => ({ of: 'collect', report: { state, outputs: [] }, outputs })),
  fc.boolean().map((isStoreAway): News => ({ of: 'failed-collect', isStoreAway })),
  fc
    .record({ mayRetry: fc.boolean(), retryAfterMs: fc.oneof(fc.nat(), fc.double({ noNaN: true })) })
    .map((more): News => ({ of: 'ended-attempt', failure: { ...FAILURE, ...more } })),
);
const COUNT = fc.nat({ max: 12 });
const AROUND = fc.option(fc.integer({ min: NOW - 100_000, max: NOW + 100_000 }), { nil: undefined });
const TOKEN = fc.constantFrom('a', 'b', undefined);

const SITUATION = fc
  .record({
    attempt: fc.constantFrom(undefined, SUBMITTING, SUBMITTED),
    runDeadlineAt: AROUND,
    cancelRequestedAt: AROUND,
    expiresAt: AROUND,
    attemptsMade: COUNT,
    isStopping: fc.boolean(),
    unsentToken: TOKEN,
    neverSentToken: TOKEN,
    silentPolls: COUNT,
    unknownRounds: COUNT,
    notYetAnswers: COUNT,
    failedCollections: COUNT,
    unknownReports: COUNT,
    cancelSeenAt: AROUND,
    isStoreAway: fc.boolean(),
    news: NEWS,
    mayResubmit: fc.boolean(),
  })
  .map(({ attempt, runDeadlineAt, cancelRequestedAt, expiresAt, attemptsMade, mayResubmit, ...state }) => {
    const { lease: _lease, attempt: _attempt, runDeadlineAt: _runDeadlineAt, ...bare } = running();
    const g: Generation = {
      ...bare,
      attemptsMade,
      ...(attempt ? { attempt } : {}),
      ...(runDeadlineAt === undefined ? {} : { runDeadlineAt }),
      ...(cancelRequestedAt === undefined ? {} : { cancelRequestedAt }),
      ...(expiresAt === undefined ? {} : { lease: { worker: 'w', fence: 1, renewedAt: NOW, expiresAt } }),
    };
    return { g, state: { ...state, collectedUnder: undefined }, rules: { ...RULES, mayResubmit } };
  });

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
      'submits again what the provider does not have',
      running(),
      recovered({ found: false }),
      { do: 'allow-submit', token: 'a', afterMs: 0 },
    ],
    [
      'waits before it submits a second time',
      running(),
      recovered({ found: false }, { ...asked, unknownRounds: 2 }),
      { do: 'allow-submit', token: 'a', afterMs: 2_000 },
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
      'collects what is done',
      running(),
      polled({ state: 'succeeded', outputs: [] }),
      { do: 'collect', reference: 'r1', report: { state: 'succeeded', outputs: [] } },
    ],

    [
      'succeeds with what was collected',
      running(),
      on({ of: 'collect', report: { state: 'succeeded', outputs: [] }, outputs: KEPT_OUTPUT }),
      { do: 'finish', command: { event: 'succeed', outputs: KEPT_OUTPUT } },
    ],
    [
      'ends an attempt that delivered nothing',
      running(),
      on({ of: 'collect', report: { state: 'succeeded', outputs: [] }, outputs: [] }),
      { do: 'end-attempt', failure: own('OUTPUT_INVALID', true) },
    ],
    [
      'delivers what was made before a cancel',
      running(CANCELLED),
      on({ of: 'collect', report: { state: 'cancelled', outputs: [] }, outputs: KEPT_OUTPUT }),
      { do: 'finish', command: { event: 'stop', outputs: KEPT_OUTPUT } },
    ],
    [
      'ends an attempt that the provider stopped by itself',
      running(),
      on({ of: 'collect', report: { state: 'cancelled', outputs: [] }, outputs: [] }),
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

  it('always exists, submits only tasks that no provider can have, and never waits past the end', () => {
    fc.assert(
      fc.property(SITUATION, ({ g, state, rules }) => {
        const next = nextStep(g, state, NOW, rules);
        const isOver = state.isStopping || NOW > (g.runDeadlineAt ?? Infinity) || g.cancelRequestedAt !== undefined;
        if (next.do === 'submit') {
          expect(isOver || state.news !== undefined, 'submitted although it is over').to.equal(false);
          expect([next.attempt.token, next.attempt.phase], 'submitted without asking').to.deep.equal([
            state.unsentToken,
            'submitting',
          ]);
          expect(g.lease?.expiresAt ?? 0, 'submitted under a lapsed lease').to.be.above(NOW);
        }
        if (next.do === 'allow-submit')
          expect(allowsSubmit(state, rules), 'allowed although the provider may have it').to.equal(true);
        const leastEnd = Math.min(
          g.runDeadlineAt ?? Infinity,
          (state.cancelSeenAt ?? Infinity) + rules.settings.cancelGraceMs,
        );
        const longestMs = Math.max(0, leastEnd - NOW) + 1;
        if (next.do === 'rest') expect(next.ms).to.be.within(1, longestMs);
        if (next.do === 'allow-submit') expect(next.afterMs).to.be.within(0, longestMs);
        if (next.do === 'retry') {
          expect(next.retryAt).to.be.below(g.runDeadlineAt ?? Infinity);
          expect(next.retryAt, 'whole milliseconds, as stores keep times').to.satisfy(Number.isSafeInteger);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
