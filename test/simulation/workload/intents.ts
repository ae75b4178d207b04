import type { JsonObject } from '../../../core/json.js';
import type { Chance } from '../harness/scheduler.js';
import { SIMULATED_MODELS } from '../harness/settings.js';
import { textField } from './operator.js';

/** Something a client wants created once, under one Idempotency-Key, until it knows the outcome. */
export interface Intent {
  readonly key: string;
  readonly body: JsonObject;
  /** The generation, once an answer named it. */
  generationId?: string;
  /** A refusal that said there will be none. */
  isRefused: boolean;
}

/** The models that do without a prompt. */
const PROMPTLESS: readonly string[] = SIMULATED_MODELS.filter(({ promptRule }) => promptRule !== 'required').map(
  ({ modelKey }) => modelKey,
);
const STYLES = ['fine', 'coarse', 'any'] as const;

/**
 * Draws a request: cheap or expensive, one or many outputs, of each model; sometimes one that the catalog does not
 * allow.
 */
export function drawBody(chance: Chance, prompt: string, uploadIds: readonly string[]): JsonObject {
  const model = chance.pick(['plain', 'plain', 'odd', 'odd', 'narrow', 'clip']);
  const parameters: JsonObject = {
    ...(chance.happens(700) && model !== 'clip' ? { count: chance.between(1, model === 'narrow' ? 2 : 4) } : {}),
    ...(chance.happens(600) ? drawDetail(chance, model) : {}),
    ...(chance.happens(20) ? { count: 9 } : {}),
  };
  // Without a draw of its own, which would change all later ones of a seed.
  const needsPrompt = !PROMPTLESS.includes(model) || prompt.length % 2 === 0;
  const references = uploadIds.filter(() => chance.happens(500)).slice(0, 3);
  return {
    model_key: model,
    operation: model === 'clip' ? 'video_generation' : 'image_generation',
    ...(needsPrompt ? { prompt } : {}),
    parameters,
    ...(references.length > 0 ? { reference_upload_ids: references } : {}),
    ...(chance.happens(200) ? { negative_prompt: 'people' } : {}),
    ...(chance.happens(200) ? { client_trace_id: `trace-${chance.between(1, 99)}` } : {}),
  };
}

function drawDetail(chance: Chance, model: string): JsonObject {
  if (model === 'clip') return { seconds: chance.between(1, 5) };
  return model === 'narrow' ? { size: chance.pick(['64x64', '32x48']) } : { style: chance.pick(STYLES) };
}

/** A similar request with another payload, for the same key. */
export function altered(chance: Chance, body: JsonObject): JsonObject {
  return chance.happens(500)
    ? { ...body, prompt: 'prompt' in body ? `${textField(body, 'prompt')}, at night` : 'at night' }
    : { ...body, client_trace_id: `other-${chance.between(1, 99)}` };
}

/** The same JSON with its members in another order: the same payload. */
export function reordered(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).reverse());
}

/** An answer that leaves the request's outcome open, or asks for a retry. */
export function isPassing(code: string): boolean {
  return (
    code === 'SERVICE_UNAVAILABLE' ||
    code === 'IDEMPOTENCY_IN_PROGRESS' ||
    code === 'INTERNAL_ERROR' ||
    code.startsWith('DEVELOPER_TOKEN')
  );
}
