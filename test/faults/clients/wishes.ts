import type { JsonObject } from '../../../core/json.js';
import { type Expected, parametersOf, type Wish } from '../../history/recorded/known.js';
import { textOf } from '../../history/values.js';
import { between, type Draw, oneOf } from '../draws.js';
import { PLAIN_VENDOR_MODEL_KEYS, VENDOR_MODELS, type VendorModel, vendorPrompt } from '../vendors/vendor-models.js';

const IMAGE = { model_key: 'sandbox-test', operation: 'image_generation' } as const;

/** A request to the sandbox's test model, small so that painting does not dominate the machine's load. */
function test(behaviour: string, parameters: JsonObject = {}): JsonObject {
  return { ...IMAGE, parameters: { behaviour, size: '128x128', ...parameters } };
}

/** The requests that clients draw from: everything the sandbox can do, successes and failures, mostly quick ones. */
const WISHES: readonly [(draw: Draw) => JsonObject, ...((draw: Draw) => JsonObject)[]] = [
  (draw) => ({ model_key: 'sandbox-noop', operation: 'image_generation', parameters: { n: between(draw, 1, 4) } }),
  (draw) => ({ model_key: 'sandbox-noop', operation: 'image_generation', parameters: { n: between(draw, 1, 4) } }),
  () => ({ model_key: 'sandbox-noop', operation: 'image_generation' }),
  () => test('succeed'),
  (draw) => test('slow', { n: between(draw, 1, 2), delay_ms: between(draw, 100, 3_000) }),
  (draw) => test('slow', { delay_ms: between(draw, 100, 1_000) }),
  (draw) => test('partial', { n: 3, deliver: between(draw, 0, 2) }),
  (draw) =>
    test('fail', {
      error_code: oneOf(draw, ['CONTENT_REJECTED_OUTPUT', 'PROVIDER_UNAVAILABLE', 'INTERNAL_ERROR']),
      retryable_attempts: between(draw, 0, 2),
    }),
  () => test('refuse', { error_code: 'CONTENT_REJECTED_INPUT' }),
  (draw) => test('late_success_after_cancel', { delay_ms: between(draw, 500, 3_000) }),
  () => test('unknown_acceptance'),
  () => test('unknown_acceptance_lost'),
  () => test('bad_output'),
  () => test('wrong_output'),
  (draw) => (draw(3) === 0 ? test('hang') : test('succeed', { n: 2 })),
  (draw) =>
    draw(2) === 0
      ? { model_key: 'sandbox-image', operation: 'image_generation', parameters: { size: '256x256' } }
      : test('slow', { delay_ms: 500 }),
  (draw) =>
    draw(6) === 0
      ? {
          model_key: 'sandbox-video',
          operation: 'video_generation',
          parameters: { duration_seconds: 1, size: '256x256', fps: 12 },
        }
      : test('succeed'),
];

/** The body of a create under this key. The key is also its trace. */
export function drawWish(draw: Draw, key: string): JsonObject {
  return { ...oneOf(draw, WISHES)(draw), prompt: `A test card, number ${draw(1_000)}`, client_trace_id: key };
}

/**
 * A request to a vendor's model. The prompt contains the key, so that the vendor's log shows which request it belongs
 * to.
 */
export function drawVendorWish(draw: Draw, key: string): JsonObject {
  return vendorWish(oneOf(draw, PLAIN_VENDOR_MODEL_KEYS), key, { n: between(draw, 1, 2) });
}

/** A model that takes a reference file gets `uploadId`; any other is asked for `n` pictures. */
export function vendorWish(
  model: VendorModel,
  key: string,
  { n = 1, uploadId = '' }: { readonly n?: number; readonly uploadId?: string } = {},
): JsonObject {
  return {
    model_key: model,
    operation: 'image_generation',
    ...(VENDOR_MODELS[model].takesReference
      ? { parameters: {}, reference_upload_ids: [uploadId] }
      : { parameters: { n } }),
    prompt: vendorPrompt(key),
    client_trace_id: key,
  };
}

/** A request to a vendor or to the sandbox, with a reference file. */
export function drawEdit(draw: Draw, uploadId: string, key: string): JsonObject {
  return draw(2) === 0 ? vendorWish('vendor-edit', key, { uploadId }) : wishWith([uploadId], key);
}

/** A request with reference files. */
export function wishWith(uploadIds: readonly string[], key: string): JsonObject {
  return {
    ...test('succeed'),
    prompt: 'A test card over a picture',
    reference_upload_ids: [...uploadIds],
    client_trace_id: key,
  };
}

/** A request that costs `credits` and does not end before `delayMs`. */
export function slowWish(credits: number, delayMs: number, key: string): JsonObject {
  return {
    ...test('slow', { n: credits, delay_ms: delayMs }),
    prompt: 'A test card for the poor',
    client_trace_id: key,
  };
}

/** The expected result of a request, from the documentation of the sandbox's models. */
export function wishOf(models: readonly JsonObject[], body: JsonObject): Wish {
  const parameters = parametersOf(models, body);
  const parameter = (name: string) => parameters[name];
  const all = { outputs: Number(parameter('n') ?? 1) };
  if (body['model_key'] !== 'sandbox-test') return all;
  const error = textOf(parameter('error_code'));
  switch (textOf(parameter('behaviour'))) {
    case 'partial': {
      const outputs = Math.min(Number(parameter('deliver')), all.outputs);
      return outputs === 0 ? { error: 'OUTPUT_INVALID' } : { outputs };
    }
    // Each worker's sandbox counts attempts separately: three attempts on different workers all fail.
    case 'fail':
      return Number(parameter('retryable_attempts') ?? 0) > 0 ? { ...all, error } : { error };
    case 'refuse':
      return { error };
    case 'bad_output':
      return { error: 'OUTPUT_INVALID' };
    case 'hang':
      return { error: 'TASK_TIMEOUT' };
    default:
      return all;
  }
}

/** Whether success is the only expected result. */
export function mustSucceed({ outputs, error }: Wish): boolean {
  return outputs !== undefined && error === undefined;
}

/** Facts about the requests of fault runs that the checker of histories needs. */
export const EXPECTED: Expected = { wishOf, vendorPrompt };
