import type { Generation } from '../../../../core/generation/generation.js';
import { nextStep, type RunRules, type RunStep } from '../../../../core/generation/run/next-step.js';
import {
  newRunState,
  type News,
  type RunState,
  type RunTime,
  type Silence,
  withNews,
} from '../../../../core/generation/run/run-state.js';
import type { ProviderReport, RecoverAnswer } from '../../../../core/ports/provider.js';
import { DEFAULT_SETTINGS } from '../../../../core/settings.js';
import { aGeneration } from '../../../fixtures/stored-records.js';

export const NOW = 1_000_000;
export const RULES: RunRules = {
  mayResubmit: false,
  mayReplaceOutputs: false,
  pollIntervalMs: 700,
  settleMs: 5_000,
  longestSubmitMs: 60_000,
  hasOtherProvider: false,
  boot: { id: 'boot', isExclusive: false },
  settings: {
    ...DEFAULT_SETTINGS,
    retryBaseMs: 1_000,
    retryCapMs: 60_000,
    retryAfterCapMs: 600_000,
    cancelGraceMs: 60_000,
  },
};
export const SUBMITTING = {
  number: 1,
  phase: 'submitting',
  token: 'a',
  startedAt: NOW - 10,
  bootId: RULES.boot.id,
} as const;
export const SUBMITTED = { ...SUBMITTING, phase: 'submitted', reference: 'r1' } as const;
export const ENDED_LONG_AGO = { ...SUBMITTING, endedAt: NOW - 50_000 };
export const DELIVERED = {
  ...SUBMITTING,
  phase: 'submitted' as const,
  delivered: [{ objectKey: 'k', byteSize: 9, sha256: 's' }],
};
export const LATE = { runDeadlineAt: NOW - 1 };
export const CANCELLED = { cancelRequestedAt: NOW - 5 };
export const FAILURE = { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true } as const;
export const STOP: RunStep = { do: 'finish', command: { event: 'stop', outputs: [] } };
export const KEPT_OUTPUT = aGeneration(1).outputs;

export function running(changes: Partial<Generation> = {}): Generation {
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

export function without(name: 'attempt' | 'lease', changes: Partial<Generation> = {}): Generation {
  const { [name]: _, ...g } = running(changes);
  return g;
}

/** A run that has received no news. */
export const newState = newRunState(undefined, NOW - 1);
export const fresh = newRunState('a', NOW - 1);
export const asked = newState;
export const on = (news: News, state: RunState = asked): RunState => withNews(state, news);
export const SILENT: Silence = { state: 'silent' };
export const recovered = (answer: RecoverAnswer | Silence, state?: RunState) =>
  on({ of: 'recover', token: 'a', answer, askedAt: NOW - 1, at: NOW }, state);
export const polled = (report: ProviderReport | Silence, state?: RunState, isLast = false) =>
  on({ of: 'poll', reference: 'r1', report, askedAt: NOW - 1, at: NOW, isLast }, state);
/** Both clocks read the same. */
export const at = (now: number): RunTime => ({ now, monotonic: now, leaseHeldUntil: now + 1_000 });
export const step = (g: Generation, state: RunState, rules = RULES, time = at(NOW)): RunStep =>
  nextStep(g, state, time, rules).step;
