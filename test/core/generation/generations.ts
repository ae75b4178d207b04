import {
  decide,
  type GenerationCommand,
  type GenerationDecision,
  type GenerationEvent,
} from '../../../core/generation/decide.js';
import { type Generation, type GenerationStatus, type Output, taskError } from '../../../core/generation/generation.js';

/** Decides as one of several processes, without exclusive ownership. */
export function decideAt(generation: Generation, command: GenerationCommand, now: number): GenerationDecision {
  return decide(generation, command, now, { id: 'boot', isExclusive: false });
}

export function outputs(count: number): Output[] {
  return Array.from({ length: count }, (_, index) => ({
    mediaId: `m${index}`,
    kind: 'image' as const,
    objectKey: `outputs/g/1/${index}`,
    contentType: 'image/png',
    byteSize: 1,
    sha256: '',
    widthPx: 1,
    heightPx: 1,
  }));
}

/** Created at 1,000; up to three outputs at 10 credits each; a floor of 4 when cancelled after submission. */
export function queued(changes: Partial<Generation> = {}): Generation {
  return {
    kind: 'generation',
    generationId: 'g',
    accountId: 'a',
    appId: 'p',
    version: 1,
    status: 'queued',
    modelKey: 'm',
    modality: 'image',
    operation: 'image_generation',
    prompt: 'p',
    parameters: {},
    references: [],
    createdAt: 1_000,
    updatedAt: 1_000,
    estimatedCredits: 30,
    reservedCredits: 30,
    chargedCredits: 0,
    terms: {
      priceVersion: '1',
      creditsByOutputs: [0, 10, 20, 30],
      cancelFloorCredits: 4,
      queueDeadlineAt: 50_000,
      runTimeoutMs: 60_000,
      maxAttempts: 2,
    },
    fence: 0,
    attemptsMade: 0,
    outputs: [],
    dueAt: 16_000,
    ...changes,
  };
}

const RETENTION = { contentExpiresAt: 60_000, outputsExpireAt: 100_000, taskExpiresAt: 200_000 };

const submitting = { number: 1, phase: 'submitting', token: 't', startedAt: 1_500 } as const;

/** A generation in this status that meets what the event asks for beyond it, at 2,000. */
export function generationIn(status: GenerationStatus, event: GenerationEvent): Generation {
  const common = { version: 5, fence: 1, attemptsMade: 1, runDeadlineAt: 61_500, updatedAt: 1_500 };
  if (status === 'queued') return queued();
  if (status === 'running') {
    const isFree = event === 'take-over' || event === 'expire';
    const isAtProvider = event === 'allow-last-poll';
    return queued({
      ...common,
      status,
      ...(isFree ? {} : { lease: { worker: 'w', fence: 1, renewedAt: 0, expiresAt: 30_000 } }),
      ...(event === 'begin-attempt' ? {} : { attempt: submitting }),
      ...(isAtProvider ? { attempt: { ...submitting, phase: 'submitted', reference: 'r' }, runDeadlineAt: 1_900 } : {}),
      ...(event === 'stop' ? { cancelRequestedAt: 1_600 } : {}),
    });
  }
  const ended = {
    ...common,
    status,
    completedAt: 1_500,
    ...(event === 'content-removed' || event === 'delete' ? { settledAt: 1_600 } : {}),
    ...(event === 'thumbnail-made' && status === 'cancelled' ? { outputs: outputs(1) } : {}),
  };
  if (status === 'failed') return queued({ ...ended, error: taskError('INTERNAL_ERROR') });
  return queued(
    status === 'succeeded'
      ? { ...ended, outputs: outputs(1), chargedCredits: event === 'content-removed' ? 0 : 10 }
      : ended,
  );
}

export function commandOf(event: GenerationEvent, fence = 1): GenerationCommand {
  const error = taskError('PROVIDER_REJECTED');
  const commands: { readonly [E in GenerationEvent]: Extract<GenerationCommand, { event: E }> } = {
    'start': { event: 'start', worker: 'w', token: 't', provider: 'p', leaseMs: 30_000 },
    'take-over': { event: 'take-over', worker: 'v', leaseMs: 30_000 },
    'renew': { event: 'renew', leaseMs: 30_000, progress: 0.5, fence },
    're-lease': { event: 're-lease', leaseMs: 30_000, fence },
    'begin-attempt': { event: 'begin-attempt', token: 'u', provider: 'p', fence },
    'submit-again': { event: 'submit-again', isNotTaken: false, fence },
    'submission-ended': { event: 'submission-ended', fence },
    'accepted': { event: 'accepted', reference: 'r', fence },
    'attempt-failed': { event: 'attempt-failed', retryAt: 9_000, isRefused: false, fence },
    'attempt-undone': { event: 'attempt-undone', retryAt: 9_000, notHere: 'p', fence },
    'allow-last-poll': { event: 'allow-last-poll', periodMs: 60_000, fence },
    'yield': { event: 'yield', isUnsent: false, fence },
    'succeed': { event: 'succeed', outputs: outputs(2), fence },
    'fail': { event: 'fail', error, fence },
    'stop': { event: 'stop', outputs: [], fence },
    'cancel': { event: 'cancel' },
    'give-up': { event: 'give-up', error },
    'expire': { event: 'expire', error },
    'postpone': { event: 'postpone', until: 40_000 },
    'settle': { event: 'settle', ...RETENTION },
    'content-removed': { event: 'content-removed', ...RETENTION },
    'outputs-removed': { event: 'outputs-removed', ...RETENTION },
    'thumbnail-made': { event: 'thumbnail-made', mediaId: 'm0', sidePx: 320, byteSize: 900 },
    'late-report': { event: 'late-report', state: 'succeeded' },
    'delete': { event: 'delete' },
  };
  return commands[event];
}
