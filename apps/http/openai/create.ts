import { ServiceError } from '../../../core/errors.js';
import { createMatched } from '../../../core/generation/create-matched.js';
import type { Generation, Modality } from '../../../core/generation/generation.js';
import { readIdempotencyKey } from '../../../core/idempotency/claims.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { headerText, headerValues } from '../host/request.js';
import { Delivery } from './answer.js';
import { type Fields, mapFields, type MappedRequest, renamed } from './fields.js';
import type { ApiRequest } from './operation.js';

/** A request for a generation. */
export interface CreateRequest {
  readonly path: string;
  readonly modality: Modality;
  readonly fields: Fields;
  /** Identifies the files of the request, for the comparison with other requests; absent where it has none. */
  readonly files?: Json;
  /** Makes the body of the create of a new generation; the mapped fields alone when absent. May throw a refusal. */
  readonly prepare?: (mapped: MappedRequest) => Promise<JsonObject>;
}

/**
 * Creates a generation, or finds the one that the request was for when it was sent before. Throws what refuses the create,
 * with the names that the fields have in this API.
 */
export async function createOrFind(
  ctx: ApiRequest,
  { path, modality, fields, files, prepare = async ({ body }) => body }: CreateRequest,
): Promise<{ readonly generation: Generation; readonly delivery: Delivery }> {
  const { req, res, state } = ctx;
  const { context, access } = state.parts;
  const keys = headerValues(req, 'idempotency-key');
  let mapped: MappedRequest | undefined;
  try {
    const { generation, replayed, place } = await createMatched(context, state.admission.caller, {
      content: { path, fields: comparable(fields), ...(files === undefined ? {} : { files }) },
      idempotencyKey: keys.length === 0 ? undefined : readIdempotencyKey(keys),
      isRetry: /^[1-9]\d{0,8}$/.test(headerText(req, 'x-stainless-retry-count')?.trim() ?? ''),
      requireAllowed: async () => void (await access.authenticate(ctx)),
      requireConnected: () => {
        if (res.closed) throw new ServiceError('BODY_INVALID', 'The client disconnected before the create.');
      },
      prepare: async () => prepare((mapped = mapFields(context, fields, modality))),
    });
    const { generationId } = generation;
    state.hasCreated = !replayed;
    state.ids = { generationId };
    res.setHeader('Darkroom-Generation-Id', generationId);
    return { generation, delivery: new Delivery(ctx, place) };
  } catch (error) {
    throw mapped === undefined ? error : renamed(context, error, mapped.model, fields);
  }
}

/**
 * Returns the fields, or their JSON text where they may contain a lone surrogate, which canonical JSON cannot express. The
 * create refuses such a text later.
 */
function comparable(fields: Fields): Json {
  const text = JSON.stringify(fields);
  return /\\ud[89a-f]/.test(text) ? text : fields;
}
