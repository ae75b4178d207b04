import { createMatched } from '../../../core/generation/create-matched.js';
import type { Generation, Output } from '../../../core/generation/generation.js';
import { ServiceError } from '../../../core/errors.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { answerAtEnd, Delivery, type Success } from './answer.js';
import { ApiRefusal } from './errors.js';
import { type Fields, mapFields, type MappedRequest, renamed } from './fields.js';
import { type ApiRequest, answerLater, type Endpoint, isRetry, readFields, sentKey } from './operation.js';

export const IMAGE_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/images/generations',
    scope: 'generations:write',
    rate: 'writes',
    async serve(ctx) {
      const fields = await readFields(ctx);
      await create(ctx, fields);
    },
  },
];

async function create(ctx: ApiRequest, fields: Fields): Promise<void> {
  const { context } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  requireAnswerFields(fields);
  context.lastingCalls.requireRoom(caller);
  let mapped: MappedRequest | undefined;
  const matched = await createMatched(context, caller, {
    content: { path: '/images/generations', fields },
    idempotencyKey: sentKey(ctx),
    isRetry: isRetry(ctx),
    prepare: () => {
      mapped = mapFields(context, fields, 'image');
      return Promise.resolve(mapped.body);
    },
  }).catch((error: unknown) => {
    throw mapped === undefined ? error : renamed(error, mapped.model);
  });
  const delivery = new Delivery(ctx, matched.place);
  const { generation, replayed } = matched;
  ctx.state.hasCreated = !replayed;
  ctx.state.ids = { generationId: generation.generationId };
  answerLater(ctx, (until) =>
    answerAtEnd(ctx, generation, delivery, until, (ended) => Promise.resolve(renderImages(context.objects, ended))),
  );
}

function requireAnswerFields(fields: Fields): void {
  const { response_format: format } = fields;
  if (format !== undefined && format !== 'b64_json')
    throw new ApiRefusal('FIELD_INVALID', 'response_format must be b64_json.', 'response_format');
}

/** Tokens are not a unit of this service; clients that read their number find none used. */
const USAGE = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
};

/** The response with the pictures as base64, which is made of the stored files while it is sent. */
function renderImages(objects: ObjectStore, generation: Generation): Success {
  const { generationId, chargedCredits, outputs, parameters, completedAt = generation.updatedAt } = generation;
  const { size } = parameters;
  const before = `{"created":${Math.floor(completedAt / 1_000)},"data":[`;
  const after = `],${JSON.stringify({
    ...(typeof size === 'string' ? { size } : {}),
    usage: USAGE,
    darkroom: { generation_id: generationId, charged_credits: chargedCredits },
  }).slice(1)}`;
  const encoded = outputs.reduce((sum, { byteSize }) => sum + Math.ceil(byteSize / 3) * 4 + OPEN.length + 2, 0);
  return {
    byteSize: before.length + after.length + encoded + Math.max(0, outputs.length - 1),
    headers: { 'Darkroom-Generation-Id': generationId, 'Darkroom-Credits-Charged': String(chargedCredits) },
    async *body() {
      yield before;
      for (const [index, output] of outputs.entries()) {
        yield index === 0 ? OPEN : `,${OPEN}`;
        yield* base64Of(objects, output);
        yield '"}';
      }
      yield after;
    },
  };
}

const OPEN = '{"b64_json":"';

/** A stored file as base64, in pieces. Throws where it is no longer there. */
export async function* base64Of(objects: ObjectStore, { objectKey }: Output): AsyncGenerator<string> {
  const bytes = await objects.read(objectKey);
  if (bytes === null) throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  let rest = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const whole = rest.byteLength === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const length = whole.byteLength - (whole.byteLength % 3);
    rest = whole.subarray(length);
    yield whole.toString('base64', 0, length);
  }
  if (rest.byteLength > 0) yield rest.toString('base64');
}
