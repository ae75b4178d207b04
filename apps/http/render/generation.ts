import type { Estimate } from '../../../core/generation/create-generation.js';
import {
  type Generation,
  type GenerationView,
  type OutputView,
  STATUSES,
  TASK_ERRORS,
} from '../../../core/generation/generation.js';
import { CREDITS, MODALITY, OPERATION, record, TIMESTAMP, timestamp, UUID } from './schema-parts.js';

const OUTPUT_SCHEMA = record(
  'Output',
  {
    media_id: UUID,
    media_type: MODALITY,
    url: { type: 'string', description: 'Signed URL, signed anew in each response; it expires.' },
    width: { type: 'integer', minimum: 1, description: 'In pixels.' },
    height: { type: 'integer', minimum: 1, description: 'In pixels.' },
    duration_ms: { type: 'integer', minimum: 0, description: 'Duration of a video, in milliseconds.' },
  },
  ['width', 'height', 'duration_ms'],
);

export const TASK_SCHEMA = record(
  'GenerationTask',
  {
    generation_id: UUID,
    status: { type: 'string', enum: [...STATUSES] },
    model_key: { type: 'string' },
    modality: MODALITY,
    operation: OPERATION,
    created_at: TIMESTAMP,
    updated_at: TIMESTAMP,
    completed_at: { ...TIMESTAMP, description: 'Present once the task has ended.' },
    poll_after_ms: {
      type: 'integer',
      minimum: 0,
      description: 'Suggested time until the next poll, in milliseconds; present until the task has ended.',
    },
    estimated_credits: CREDITS,
    reserved_credits: CREDITS,
    charged_credits: CREDITS,
    outputs: { type: 'array', items: OUTPUT_SCHEMA },
    error: {
      type: 'object',
      description: 'Reason of the failure; present if the task failed.',
      required: ['code', 'message', 'retryable'],
      properties: {
        code: { type: 'string', enum: Object.keys(TASK_ERRORS) },
        message: { type: 'string' },
        retryable: { type: 'boolean' },
      },
    },
    client_trace_id: { type: 'string' },
  },
  ['completed_at', 'poll_after_ms', 'error', 'client_trace_id'],
);

/** The fields of a task in their documented order. Undefined fields are left out of the JSON. */
export function renderTask({ generation, outputs, pollAfterMs }: GenerationView): object {
  const { error } = generation;
  return {
    generation_id: generation.generationId,
    status: generation.status,
    model_key: generation.modelKey,
    modality: generation.modality,
    operation: generation.operation,
    created_at: timestamp(generation.createdAt),
    updated_at: timestamp(generation.updatedAt),
    completed_at: generation.completedAt === undefined ? undefined : timestamp(generation.completedAt),
    poll_after_ms: pollAfterMs,
    estimated_credits: generation.estimatedCredits,
    reserved_credits: generation.reservedCredits,
    charged_credits: generation.chargedCredits,
    outputs: outputs.length === 0 ? NO_OUTPUTS : outputs.map(renderOutput),
    error: error === undefined ? undefined : { code: error.code, message: error.message, retryable: error.retryable },
    client_trace_id: generation.clientTraceId,
  };
}

const NO_OUTPUTS: readonly object[] = [];

/**
 * Caches the rendering of a view for as long as a store caches the record, because a client polls many times before a
 * generation ends. Only views of records that cannot change are cached, and none with outputs: their URLs are signed
 * anew for each response.
 */
export class ViewCache<T> {
  private readonly cached = new WeakMap<
    Generation,
    { readonly pollAfterMs: number | undefined; readonly rendered: T }
  >();

  constructor(private readonly render: (view: GenerationView, isCached: boolean) => T) {}

  of(view: GenerationView): T {
    const { generation, outputs, pollAfterMs } = view;
    if (outputs.length > 0 || !Object.isFrozen(generation)) return this.render(view, false);
    const found = this.cached.get(generation);
    if (found !== undefined && found.pollAfterMs === pollAfterMs) return found.rendered;
    const rendered = this.render(view, true);
    this.cached.set(generation, { pollAfterMs, rendered });
    return rendered;
  }
}

/** The JSON of `renderTask`, cached where the view can be. */
export const TASK_TEXTS = new ViewCache((view) => JSON.stringify(renderTask(view)));

export function renderOutput({ output, url }: OutputView): object {
  return {
    media_id: output.mediaId,
    media_type: output.kind,
    url,
    width: output.widthPx,
    height: output.heightPx,
    duration_ms: output.durationMs,
  };
}

export const ESTIMATE_SCHEMA = record('Estimate', {
  model_key: { type: 'string' },
  operation: OPERATION,
  estimated_credits: CREDITS,
  currency: { type: 'string' },
});

export function renderEstimate(estimate: Estimate): object {
  return {
    model_key: estimate.modelKey,
    operation: estimate.operation,
    estimated_credits: estimate.estimatedCredits,
    currency: estimate.currency,
  };
}
