import type { ServiceError } from '../../../core/errors.js';
import type { Generation, Output } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { begun } from '../host/send.js';
import type { RequestWait } from '../host/wait.js';
import { answerAsEvents, answerAtEnd, type Answering, type Delivery, type Success } from './answer.js';
import { contentUrl } from './content.js';
import { createOrFind, type CreateRequest } from './create.js';
import { ApiRefusal } from './errors.js';
import { sizeOf } from './fields.js';
import { type ApiParts, type ApiRequest, answerLater, type Endpoint, readFields } from './operation.js';

export const IMAGE_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/images/generations',
    scope: 'generations:write',
    rate: 'writes',
    serve: async (ctx) =>
      createImages(ctx, {
        path: '/images/generations',
        event: 'image_generation.completed',
        fields: await readFields(ctx),
      }),
  },
];

/** A request for pictures. */
export interface ImageRequest extends Omit<CreateRequest, 'modality'> {
  /** The type of the events of a stream, one for each picture. */
  readonly event: 'image_generation.completed' | 'image_edit.completed';
}

/** How a client wants its pictures. */
interface Shape extends Pick<ImageRequest, 'event'> {
  readonly format: 'b64_json' | 'url';
  readonly isStreamed: boolean;
}

/**
 * Creates a generation of pictures, or finds the one that the request was for when it was sent before, and answers once it
 * has ended. Without room for another wait nothing is created. Throws what refuses the create.
 */
export async function createImages(ctx: ApiRequest, request: ImageRequest): Promise<void> {
  const { context } = ctx.state.parts;
  const shape = readShape(request);
  const leave = context.lastingCalls.follow(ctx.state.admission.caller);
  const created = await createOrFind(ctx, { ...request, modality: 'image' }).catch((error: unknown) => {
    leave();
    throw error;
  });
  answerCreated(ctx, created, leave, shape);
}

/** Apart from the create, so that a request that waits holds none of its fields. */
function answerCreated(
  ctx: ApiRequest,
  { generation: created, delivery }: Awaited<ReturnType<typeof createOrFind>>,
  leave: () => void,
  shape: Shape,
): void {
  const answer = shape.isStreamed ? answerAsEvents : answerAtEnd;
  answerLater(ctx, leave, (until) => answer(ctx, created, new Pictures(delivery, until, shape)));
}

class Pictures implements Answering {
  constructor(
    readonly delivery: Delivery,
    readonly until: RequestWait,
    private readonly shape: Shape,
  ) {}

  success(ctx: ApiRequest, ended: Generation): Promise<Success> {
    return successOf(ctx.state.parts, ended, this.shape);
  }
}

function readShape({ fields, event }: ImageRequest): Shape {
  const { response_format: format = 'b64_json', stream = false } = fields;
  if (format !== 'b64_json' && format !== 'url')
    throw new ApiRefusal('FIELD_INVALID', 'response_format must be b64_json or url.', 'response_format');
  // A form has texts.
  if (typeof stream !== 'boolean' && stream !== 'true' && stream !== 'false')
    throw new ApiRefusal('FIELD_INVALID', 'stream must be true or false.', 'stream');
  return { format, event, isStreamed: stream === true || stream === 'true' };
}

/** Tokens are not a unit of this service; clients that read their number find none used. */
const USAGE = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
};

/** The text of a response, and among it the stored pictures that it has as base64. */
type Piece = string | Output;

/** The response with all pictures, or with an event for each. */
function renderPictures(
  parts: ApiParts,
  generation: Generation,
  { format, isStreamed, event }: Shape,
): readonly Piece[] {
  const entries = storedOutputs(generation).map((output, index) =>
    format === 'url' ? [`"url":${asciiJson(contentUrl(parts, generation, index))}`] : ['"b64_json":"', output, '"'],
  );
  const createdAt = Math.floor((generation.completedAt ?? generation.updatedAt) / 1_000);
  const shared = asciiJson(sharedFields(parts, generation)).slice(1);
  if (isStreamed) {
    const head = `event: ${event}\ndata: {"type":"${event}","created_at":${createdAt},`;
    return entries.flatMap((entry) => [head, ...entry, `,${shared}\n\n`]);
  }
  const data = entries.flatMap((entry, index) => [index === 0 ? '{' : ',{', ...entry, '}']);
  return [`{"created":${createdAt},"data":[`, ...data, `],${shared}`];
}

/** Base64 is made of the stored files while it is sent. Throws where the first of them cannot be read. */
async function successOf(parts: ApiParts, generation: Generation, shape: Shape): Promise<Success> {
  const pieces = renderPictures(parts, generation, shape);
  const lengths = pieces.map((piece) => (typeof piece === 'string' ? piece.length : Math.ceil(piece.byteSize / 3) * 4));
  return {
    byteSize: lengths.reduce((sum, length) => sum + length, 0),
    headers: { 'Darkroom-Credits-Charged': String(generation.chargedCredits) },
    body: await begun(textOf(parts.context.objects, pieces)),
  };
}

/** The text before a picture is yielded with its first bytes, so that nothing is sent if the first picture cannot be read. */
async function* textOf(objects: ObjectStore, pieces: readonly Piece[]): AsyncGenerator<string> {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else
      for await (const base64 of base64Of(objects, piece)) {
        yield text + base64;
        text = '';
      }
  }
  yield text;
}

/** Throws `not_found` where the pictures were deleted or are past their retention. */
function storedOutputs({ outputs, deletedAt }: Generation): readonly Output[] {
  if (outputs.length > 0 && deletedAt === undefined) return outputs;
  throw noLongerKept();
}

function noLongerKept(): ServiceError {
  return new ApiRefusal('NOT_FOUND', 'The pictures of this request were deleted or are no longer kept.', null);
}

/** JSON of which each character is one byte. */
function asciiJson(value: Json): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, escaped);
}

function sharedFields({ context }: ApiParts, generation: Generation): JsonObject {
  const size = sizeOf(context, generation);
  return {
    ...(size === undefined ? {} : { size }),
    usage: USAGE,
    darkroom: { generation_id: generation.generationId, charged_credits: generation.chargedCredits },
  };
}

/** A stored file as base64, in pieces. Throws where it is not there, and at its end where it is not whole. */
async function* base64Of(objects: ObjectStore, { objectKey, byteSize }: Output): AsyncGenerator<string> {
  const bytes = await objects.read(objectKey);
  if (bytes === null) throw noLongerKept();
  let rest = Buffer.alloc(0);
  let readBytes = 0;
  for await (const chunk of bytes) {
    const { buffer, byteOffset, byteLength } = chunk;
    readBytes += byteLength;
    const whole = rest.byteLength > 0 ? Buffer.concat([rest, chunk]) : Buffer.from(buffer, byteOffset, byteLength);
    // Three bytes are four characters. A copy, so that what is left of a piece does not keep all of it.
    const length = whole.byteLength - (whole.byteLength % 3);
    rest = Buffer.from(whole.subarray(length));
    yield whole.toString('base64', 0, length);
  }
  if (readBytes !== byteSize) throw new Error(`A stored file has ${readBytes} bytes in place of ${byteSize}.`);
  if (rest.byteLength > 0) yield rest.toString('base64');
}
