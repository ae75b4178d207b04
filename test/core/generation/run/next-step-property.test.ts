// Goal: nothing is submitted that the provider may already have, and nothing after a deadline, a cancel, a lapsed lease
// or a stop order; no wait passes the end.
// Method: random situations, checked by assertions about submissions and waits that share no code with the table.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Generation } from '../../../../core/generation/generation.js';
import { nextStep, type RunRules } from '../../../../core/generation/run/next-step.js';
import type { News, RunState } from '../../../../core/generation/run/run-state.js';
import type { ProviderReport, RecoverAnswer } from '../../../../core/ports/provider.js';
import { FAILURE, KEPT_OUTPUT, NOW, RULES, running, SUBMITTED, SUBMITTING } from './run-situations.js';

function allowsSubmit({ attempt }: Generation, state: RunState, { mayResubmit }: RunRules): boolean {
  const { news } = state;
  if (news?.of !== 'recover') return false;
  if (mayResubmit && news.answer === 'unsupported') return true;
  const isNotFound = typeof news.answer === 'object' && news.answer.found === false;
  if (mayResubmit || !isNotFound) return isNotFound;
  if (attempt === undefined) return true;
  const endedAt = attempt.endedAt !== undefined && attempt.bootId !== 'boot' ? state.begunAt : attempt.endedAt;
  const overAt = endedAt ?? Math.max(attempt.startedAt + 60_000, state.begunAt + 30_000);
  const believable = state.notFound.filter(({ askedAt }) => askedAt >= overAt + 5_000);
  return believable.some(({ at }) => believable.some(({ askedAt }) => askedAt - at >= 5_000));
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
  RECOVER.map((answer): News => ({ of: 'recover', token: 'a', answer, askedAt: NOW - 1, at: NOW })),
  REPORT.map((report): News => ({ of: 'poll', reference: 'r1', report })),
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

/** In the order in which they were asked, one after another. */
const NOT_FOUND = fc
  .array(fc.record({ after: fc.nat({ max: 20_000 }), took: fc.nat({ max: 3_000 }) }), { maxLength: 5 })
  .map((drawn) => {
    let at = NOW - 60_000;
    return drawn.map(({ after, took }) => {
      const askedAt = at + after;
      at = askedAt + took;
      return { askedAt, at };
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
    return { g, state: { ...state, cost: undefined }, rules: { ...RULES, mayResubmit } };
  });

describe('the next step of any run', () => {
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
          expect(allowsSubmit(g, state, rules), 'allowed although the provider may have it').to.equal(true);
        const leastEnd = Math.min(
          g.runDeadlineAt ?? Infinity,
          (state.cancelSeenAt ?? Infinity) + rules.settings.cancelGraceMs,
        );
        const longestMs = Math.max(0, leastEnd - NOW) + 1;
        if (next.do === 'rest') expect(next.ms).to.be.within(1, longestMs);
        if (next.do === 'allow-submit') expect(next.afterMs).to.be.within(0, longestMs);
        if (next.do === 'retry' || next.do === 'undo') {
          expect(next.retryAt).to.be.below(g.runDeadlineAt ?? Infinity);
          expect(next.retryAt, 'whole milliseconds, as stores keep times').to.satisfy(Number.isSafeInteger);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
