import type { Caller } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import { createMatched, type Matched } from '../../../core/generation/create-matched.js';
import type { Generation, Output } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { answerAsEvents, answerAtEnd, Delivery, type Success } from './answer.js';
import { contentUrl } from './content.js';
import { ApiRefusal } from './errors.js';
import { type Fields, mapFields, type MappedRequest, renamed, sizeOf } from './fields.js';
import {
  type ApiParts,
  type ApiRequest,
  answerLater,
  type Endpoint,
  isRetry,
  readFields,
  requireStillAllowed,
  sentKey,
} from './operation.js';

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
export interface ImageRequest {
  readonly path: string;
  readonly fields: Fields;
  /** Where the request has files: what they are, for the comparison with other requests. */
  readonly files?: Json;
  /** Makes the body of the create of a new generation; the mapped fields alone when absent. May throw a refusal. */
  readonly prepare?: (mapped: MappedRequest) => Promise<JsonObject>;
  /** The type of the events of a stream, one for each picture. */
  readonly event: 'image_generation.completed' | 'image_edit.completed';
}

/** How a client wants its pictures. */
interface Wanted {
  readonly format: 'b64_json' | 'url';
  readonly isStreamed: boolean;
}

/**
 * Creates a generation of pictures, or finds the one that the request was for when it was sent before, and answers once it
 * has ended. Without room for another wait nothing is created. Throws what refuses the create.
 */
export async function createImages(ctx: ApiRequest, request: ImageRequest): Promise<void> {
  const { context } = ctx.state.parts;
  const { caller } = ctx.state.admission;
  const wanted = readWanted(request.fields);
  const leave = context.lastingCalls.follow(caller);
  const matched = await createOrFind(ctx, caller, request).catch((error: unknown) => {
    leave();
    throw error;
  });
  answerMatched(ctx, matched, leave, { ...wanted, event: request.event });
}

function readWanted({ response_format: format = 'b64_json', stream = false }: Fields): Wanted {
  if (format !== 'b64_json' && format !== 'url')
    throw new ApiRefusal('FIELD_INVALID', 'response_format must be b64_json or url.', 'response_format');
  // A form has texts.
  if (typeof stream !== 'boolean' && stream !== 'true' && stream !== 'false')
    throw new ApiRefusal('FIELD_INVALID', 'stream must be true or false.', 'stream');
  return { format, isStreamed: stream === true || stream === 'true' };
}

async function createOrFind(
  ctx: ApiRequest,
  caller: Caller,
  { path, fields, files, prepare }: ImageRequest,
): Promise<Matched> {
  const { context } = ctx.state.parts;
  let mapped: MappedRequest | undefined;
  try {
    return await createMatched(context, caller, {
      content: { path, fields, ...(files === undefined ? {} : { files }) },
      idempotencyKey: sentKey(ctx),
      isRetry: isRetry(ctx),
      requireAllowed: () => requireStillAllowed(ctx),
      prepare: async () => {
        mapped = mapFields(context, fields, 'image');
        return prepare === undefined ? mapped.body : prepare(mapped);
      },
    });
  } catch (error) {
    throw mapped === undefined ? error : renamed(error, mapped.model);
  }
}

/** Apart from the create, so that a request that waits holds none of its fields. */
function answerMatched(
  ctx: ApiRequest,
  { generation, replayed, place }: Matched,
  leave: () => void,
  { format, isStreamed, event }: Wanted & Pick<ImageRequest, 'event'>,
): void {
  const { parts } = ctx.state;
  const delivery = new Delivery(ctx, place);
  ctx.state.hasCreated = !replayed;
  ctx.state.ids = { generationId: generation.generationId };
  answerLater(ctx, leave, (until) => {
    const answering = { created: generation, delivery, until };
    if (!isStreamed)
      return answerAtEnd(ctx, { ...answering, success: async (ended) => renderImages(parts, ended, format) });
    return answerAsEvents(ctx, { ...answering, success: async (ended) => renderEvents(parts, ended, format, event) });
  });
}

/** Tokens are not a unit of this service; clients that read their number find none used. */
const USAGE = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
};

/** The response with all pictures. Base64 is made of the stored files while it is sent. */
function renderImages(parts: ApiParts, generation: Generation, format: Wanted['format']): Success {
  const outputs = storedOutputs(generation);
  const before = `{"created":${createdAt(generation)},"data":[`;
  const after = `],${asciiJson(sharedFields(parts, generation)).slice(1)}`;
  const entries = outputs.map((output, index) => new Entry(parts, generation, { output, index, format }));
  return {
    byteSize: entries.reduce(
      (sum, { byteSize }) => sum + byteSize + 2,
      before.length + after.length + entries.length - 1,
    ),
    headers: { 'Darkroom-Credits-Charged': String(generation.chargedCredits) },
    async *body() {
      yield before;
      for (const [index, entry] of entries.entries()) {
        yield index === 0 ? '{' : ',{';
        yield* entry.text();
        yield '}';
      }
      yield after;
    },
  };
}

/** The response with an event for each picture. */
function renderEvents(
  parts: ApiParts,
  generation: Generation,
  format: Wanted['format'],
  event: ImageRequest['event'],
): Success {
  const outputs = storedOutputs(generation);
  const head = asciiJson({ type: event, created_at: createdAt(generation), ...sharedFields(parts, generation) });
  return {
    byteSize: undefined,
    headers: {},
    async *body() {
      for (const [index, output] of outputs.entries()) {
        yield `event: ${event}\ndata: ${head.slice(0, -1)},`;
        yield* new Entry(parts, generation, { output, index, format }).text();
        yield '}\n\n';
      }
    },
  };
}

/** Throws `not_found` where the pictures were deleted or are past their retention. */
function storedOutputs({ outputs, deletedAt }: Generation): readonly Output[] {
  if (outputs.length > 0 && deletedAt === undefined) return outputs;
  throw new ApiRefusal('NOT_FOUND', 'The pictures of this request were deleted or are no longer kept.', null);
}

/** JSON of which each character is one byte. */
function asciiJson(value: Json): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, escaped);
}

function createdAt({ completedAt, updatedAt }: Generation): number {
  return Math.floor((completedAt ?? updatedAt) / 1_000);
}

function sharedFields({ context }: ApiParts, generation: Generation): JsonObject {
  const size = sizeOf(context, generation);
  return {
    ...(size === undefined ? {} : { size }),
    usage: USAGE,
    darkroom: { generation_id: generation.generationId, charged_credits: generation.chargedCredits },
  };
}

/** The member of one picture: `b64_json` or `url`. */
class Entry {
  readonly byteSize: number;
  private readonly head: string;

  constructor(
    private readonly parts: ApiParts,
    generation: Generation,
    private readonly picture: { readonly output: Output; readonly index: number; readonly format: Wanted['format'] },
  ) {
    const { output, index, format } = picture;
    if (format === 'url') this.head = `"url":${asciiJson(contentUrl(parts, generation, index))}`;
    else this.head = '"b64_json":"';
    const base64Bytes = format === 'url' ? 0 : Math.ceil(output.byteSize / 3) * 4 + 1;
    this.byteSize = this.head.length + base64Bytes;
  }

  async *text(): AsyncGenerator<string> {
    yield this.head;
    if (this.picture.format === 'url') return;
    yield* base64Of(this.parts.context.objects, this.picture.output);
    yield '"';
  }
}

/** A stored file as base64, in pieces. Throws where it is no longer there. */
export async function* base64Of(objects: ObjectStore, { objectKey }: Output): AsyncGenerator<string> {
  const bytes = await objects.read(objectKey);
  if (bytes === null) throw new ServiceError('GENERATION_JOB_NOT_FOUND');
  let rest = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const { buffer, byteOffset, byteLength } = chunk;
    const whole = rest.byteLength > 0 ? Buffer.concat([rest, chunk]) : Buffer.from(buffer, byteOffset, byteLength);
    // Three bytes are four characters. A copy, so that what is left of a piece does not keep all of it.
    const length = whole.byteLength - (whole.byteLength % 3);
    rest = Buffer.from(whole.subarray(length));
    yield whole.toString('base64', 0, length);
  }
  if (rest.byteLength > 0) yield rest.toString('base64');
}
