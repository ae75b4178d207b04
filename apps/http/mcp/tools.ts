import type { CallToolResult, InputRequiredResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Scope } from '../../../core/access/credential.js';
import { creditsText } from '../../../core/credits/account.js';
import { getBalance } from '../../../core/credits/operate.js';
import { ERRORS, ServiceError } from '../../../core/errors.js';
import { fieldInvalid, readBody, type BodySchema, type Wording } from '../../../core/fields.js';
import { type Created, createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { isTerminal, type Operation } from '../../../core/generation/generation.js';
import { GENERATION_REQUEST_SCHEMA, requestWording } from '../../../core/generation/quote.js';
import { waitForGeneration } from '../../../core/generation/wait-for-generation.js';
import { readIdempotencyKey } from '../../../core/idempotency/claims.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { SignedRequest } from '../../../core/ports/object-store.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import {
  COMPLETE_REQUEST_SCHEMA,
  PREPARE_REQUEST_SCHEMA,
  prepareUpload,
  UPLOAD_MEDIA_TYPES,
} from '../../../core/uploads/prepare-upload.js';
import { quoted } from '../../shell-word.js';
import { bodySchema, type TypedSchema } from '../host/request.js';
import { CATALOG_SCHEMA, renderCatalog } from '../render/catalog.js';
import { BALANCE_SCHEMA, renderBalance } from '../render/credits.js';
import { ESTIMATE_SCHEMA, renderEstimate, TASK_SCHEMA } from '../render/generation.js';
import { ROLE, type TitledSchema, UUID } from '../render/schema-parts.js';
import { COMPLETED_UPLOAD_SCHEMA, PREPARED_UPLOAD_SCHEMA, renderCompleted, renderPrepared } from '../render/upload.js';
import type { Confirm, Progress } from './elicitation.js';
import type { Exchange } from './exchange.js';
import { taskHandle, taskResult } from './tasks.js';

/** A call of a tool, whose caller may make it. */
export interface ToolCall extends Exchange {
  /** The arguments as they were sent. */
  readonly args: JsonObject;
  readonly progress: Progress;
  readonly confirm: Confirm;
  /** Whether the client takes the handle of a task in place of a result that is not there yet. */
  readonly takesTasks: boolean;
  /** Credits that a call may spend without being confirmed. */
  readonly confirmAboveCredits: number;
}

/** The response of a tool: a result, or a question that the client must ask a person first. */
export type ToolAnswer = CallToolResult | InputRequiredResult;

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: NonNullable<ListedTool['annotations']>;
  readonly input: BodySchema;
  /** The schema of the structured content, which is the `data` of REST. */
  readonly output: TitledSchema;
  /** The scopes that this call needs. */
  readonly scopes: (args: JsonObject) => readonly Scope[];
  /** The rate of the credential that a call counts against; every message counts as a read. */
  readonly rate: 'reads' | 'writes';
  answer(call: ToolCall): Promise<ToolAnswer>;
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A tool as clients see it in the list. */
export function listed({ name, title, description, annotations, input, output }: Tool): ListedTool {
  return {
    name,
    title,
    description,
    annotations,
    inputSchema: { $schema: DIALECT, ...input, type: 'object' },
    outputSchema: { $schema: DIALECT, ...output, type: 'object' },
  };
}

const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const;
const WRITES = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;

const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'Any text of your choice, without spaces. Make a new one for each new intent. To repeat a request whose answer was lost, send the same key with the same arguments: it is then done, and paid, only once.',
} as const satisfies JsonObject;

const WAIT_SECONDS = {
  type: 'integer',
  minimum: 0,
  maximum: 50,
  default: 25,
  description: 'How long to wait for the result; with 0 the answer comes at once.',
} as const satisfies JsonObject;

const GENERATION_ID = { ...UUID, description: 'Id of the generation.' } as const satisfies JsonObject;

const NO_INPUT = bodySchema({});

const MAX_PICTURES = 4;
/** Base64 of a bit more than a megabyte: a message may have two. */
const MAX_CHARACTERS = 1_500_000;

const REFERENCE_PICTURES = {
  type: 'array',
  maxItems: MAX_PICTURES,
  description:
    'Small reference pictures; use prepare_upload for large ones. Transparent areas of a reference image are made anew, where the model can.',
  items: bodySchema(
    {
      data: { type: 'string', minLength: 1, maxLength: MAX_CHARACTERS, description: 'The bytes in base64.' },
      media_type: { type: 'string', enum: [...UPLOAD_MEDIA_TYPES] },
      role: { ...ROLE, default: 'reference_image' },
    },
    ['data', 'media_type'],
  ),
} as const;

type ReferencePicture = NonNullable<(typeof REFERENCE_PICTURES.items)['conforming']>;

const { operation: _fixed, ...FIELDS } = GENERATION_REQUEST_SCHEMA.properties;
const OWN = ['idempotency_key', 'wait_seconds', 'reference_pictures'];

const GENERATE_FIELDS = {
  ...FIELDS,
  reference_pictures: REFERENCE_PICTURES,
  idempotency_key: IDEMPOTENCY_KEY,
  wait_seconds: WAIT_SECONDS,
};

const GENERATE_INPUT = bodySchema(GENERATE_FIELDS, ['model_key', 'prompt', 'idempotency_key']);

/** The input that is checked here. The create decides whether the model needs a prompt. */
const CHECKED_INPUT = bodySchema(GENERATE_FIELDS, ['model_key', 'idempotency_key']);

/** The two tools that generate differ in their words and in their operation. */
function generateTool(operation: Operation, words: Pick<Tool, 'name' | 'title' | 'description'>): Tool {
  return {
    ...words,
    annotations: { ...WRITES, openWorldHint: true },
    input: GENERATE_INPUT,
    output: TASK_SCHEMA,
    scopes: ({ reference_pictures: pictures }) =>
      Array.isArray(pictures) && pictures.length > 0 ? ['generations:write', 'uploads:write'] : ['generations:write'],
    rate: 'writes',
    answer: (call) => generate(call, operation),
  };
}

const GET_INPUT = bodySchema({ generation_id: GENERATION_ID, wait_seconds: WAIT_SECONDS }, ['generation_id']);

const CANCEL_INPUT = bodySchema({ generation_id: GENERATION_ID });

const PREPARE_INPUT = bodySchema({ ...PREPARE_REQUEST_SCHEMA.properties, idempotency_key: IDEMPOTENCY_KEY }, [
  ...PREPARE_REQUEST_SCHEMA.required,
  'idempotency_key',
]);

const COMPLETE_INPUT = bodySchema(
  {
    upload_id: { ...UUID, description: 'Id of the prepared upload.' },
    ...COMPLETE_REQUEST_SCHEMA.properties,
    idempotency_key: IDEMPOTENCY_KEY,
  },
  ['upload_id', 'idempotency_key'],
);

/** Every tool, in the order of the list, which is part of what clients keep. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'list_models',
    title: 'List the models',
    description:
      'Lists the models with their prices, limits and parameters. Call it before generating: model_key and parameters must come from here.',
    annotations: READS,
    input: NO_INPUT,
    output: CATALOG_SCHEMA,
    scopes: () => [],
    rate: 'reads',
    async answer(call) {
      readArguments(call, NO_INPUT);
      return dataResult(renderCatalog(call.context.catalog.models()));
    },
  },
  {
    name: 'get_credits',
    title: 'Get the credit balance',
    description: 'Tells how many credits the account can still spend.',
    annotations: READS,
    input: NO_INPUT,
    output: BALANCE_SCHEMA,
    scopes: () => ['credits:read'],
    rate: 'reads',
    async answer(call) {
      readArguments(call, NO_INPUT);
      return dataResult(renderBalance(await getBalance(call.context, call.caller)));
    },
  },
  {
    name: 'estimate_generation',
    title: 'Estimate the cost of a generation',
    description: 'Tells how many credits a generation would reserve at most. Reserves and stores nothing.',
    annotations: READS,
    input: GENERATION_REQUEST_SCHEMA,
    output: ESTIMATE_SCHEMA,
    scopes: () => ['generations:write'],
    rate: 'reads',
    answer: async ({ context, caller, args }) =>
      dataResult(renderEstimate(await estimateGeneration(context, caller, args))),
  },
  generateTool('image_generation', {
    name: 'generate_image',
    title: 'Generate images',
    description:
      'Makes images from a prompt and spends credits. Waits for the result; if it takes longer, the answer has the generation_id for get_generation. Show the links to the full files to the person.',
  }),
  generateTool('video_generation', {
    name: 'generate_video',
    title: 'Generate a video',
    description:
      'Makes a video from a prompt and spends credits. This often takes minutes: the answer then has the generation_id for get_generation. Show the link to the full file to the person.',
  }),
  {
    name: 'get_generation',
    title: 'Get a generation',
    description:
      'Waits for a generation to end and shows it with previews and links to the full files. Call it again while the status is queued or running; do not generate again.',
    annotations: READS,
    input: GET_INPUT,
    output: TASK_SCHEMA,
    scopes: () => ['generations:read'],
    rate: 'reads',
    async answer(call) {
      const args = readArguments(call, GET_INPUT);
      return resultAfterWait(call, args.generation_id, args.wait_seconds);
    },
  },
  {
    name: 'cancel_generation',
    title: 'Cancel a generation',
    description:
      'Cancels a generation. A queued one ends at once and costs nothing; a running one is asked to stop; one that has ended does not change.',
    annotations: { ...WRITES, destructiveHint: true },
    input: CANCEL_INPUT,
    output: TASK_SCHEMA,
    scopes: () => ['generations:write'],
    rate: 'writes',
    async answer(call) {
      const { generation_id: id } = readArguments(call, CANCEL_INPUT);
      return taskResult(call.context, await cancelGeneration(call.context, call.caller, id));
    },
  },
  {
    name: 'prepare_upload',
    title: 'Prepare the upload of a reference picture',
    description:
      'Prepares the upload of one file. Send its bytes with the curl command of the answer, then call complete_upload, then use the upload_id in reference_upload_ids.',
    annotations: WRITES,
    input: PREPARE_INPUT,
    output: PREPARED_UPLOAD_SCHEMA,
    scopes: () => ['uploads:write'],
    rate: 'writes',
    async answer(call) {
      const key = takeIdempotencyKey(call.args);
      const body = withoutOwn(readArguments(call, PREPARE_INPUT), ['idempotency_key']);
      const prepared = await prepareUpload(call.context, call.caller, key, body);
      const { content, ...rest } = dataResult(renderPrepared(prepared));
      return {
        ...rest,
        content: [{ type: 'text', text: curlOf(prepared.target, prepared.upload.filename) }, ...content],
      };
    },
  },
  {
    name: 'complete_upload',
    title: 'Complete an upload',
    description: 'Checks and keeps the bytes that were sent. The upload_id can then be used in reference_upload_ids.',
    annotations: WRITES,
    input: COMPLETE_INPUT,
    output: COMPLETED_UPLOAD_SCHEMA,
    scopes: () => ['uploads:write'],
    rate: 'writes',
    async answer(call) {
      const key = takeIdempotencyKey(call.args);
      const args = readArguments(call, COMPLETE_INPUT);
      const body = withoutOwn(args, ['idempotency_key', 'upload_id']);
      return dataResult(renderCompleted(await completeUpload(call.context, call.caller, key, args.upload_id, body)));
    },
  },
];

export function findTool(name: unknown): Tool | undefined {
  return TOOLS.find((tool) => tool.name === name);
}

/** The caller that started a generation receives its result, even without the scope to read others. */
async function generate(call: ToolCall, operation: Operation): Promise<ToolAnswer> {
  const { context } = call;
  const idempotencyKey = takeIdempotencyKey(call.args);
  const args = readArguments(call, CHECKED_INPUT, requestWording(context, call.args));
  const kept = await keepPictures(call, idempotencyKey, args.reference_pictures ?? []);
  const ids = [...(args.reference_upload_ids ?? []), ...kept];
  const body = { ...withoutOwn(args, OWN), operation, ...(ids.length === 0 ? {} : { reference_upload_ids: ids }) };
  const created = await createConfirmed(call, idempotencyKey, body).catch((error: unknown) => {
    throw namingPictures(error);
  });
  if ('ask' in created) return created.ask;
  const { generationId, status: atFirst } = created.generation;
  if (!created.replayed) {
    call.state.hasCreated = true;
    call.state.ids = { generationId };
  }
  if (call.takesTasks && !isTerminal(atFirst)) return taskHandle(context, created.generation);
  return resultAfterWait(call, generationId, args.wait_seconds);
}

/** A file of a required role may also come with the call, which the sentence of the create cannot know. */
function namingPictures(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'FIELD_REQUIRED') return error;
  const { code, message, details } = error;
  if (details.pointer !== '/reference_upload_ids') return error;
  return new ServiceError(code, `${message} Small files can be sent as reference_pictures.`, details);
}

/** The number of questions is bounded, although the price may change after every answer. */
const MAX_QUESTIONS = 3;

/**
 * Creates a generation that costs more than the operator's threshold only if a person said yes to its price. If the
 * client cannot ask, the credential's cap replaces the question, and without a cap the create is refused. Nothing
 * is reserved while somebody is asked, and the key is free. A replay reserves nothing and asks nothing.
 */
async function createConfirmed(
  call: ToolCall,
  idempotencyKey: string,
  body: JsonObject,
): Promise<Created | { readonly ask: InputRequiredResult }> {
  const { context, caller, confirmAboveCredits, requireAllowed } = call;
  let approvedCredits = confirmAboveCredits;
  for (let asked = 0; ; asked += 1) {
    try {
      return await createGeneration(context, caller, idempotencyKey, body, { approvedCredits, requireAllowed });
    } catch (error) {
      const credits = creditsToConfirm(error);
      if (credits === undefined || asked === MAX_QUESTIONS) throw error;
      // A person is not asked about a request that would be refused anyway.
      await estimateGeneration(context, caller, body);
      const answer = await call.confirm({
        message: `Spend up to ${creditsText(credits)} for "${body['model_key'] as string}"? The amount is reserved now; what is not used is released.`,
        credits,
        subject: { idempotencyKey, body },
      });
      if (typeof answer === 'object') return { ask: answer };
      if (answer === 'unable' && caller.cap === undefined)
        throw unconfirmed(
          credits,
          `more than ${confirmAboveCredits} need a person's yes, for which this client cannot ask; ask for less, or connect with a credential that has a spending cap.`,
        );
      if (answer === 'no' || answer === 'unanswered') throw unconfirmed(credits, REFUSALS[answer]);
      if (answer === 'yes') await call.requireAllowed();
      approvedCredits = answer === 'yes' ? credits : Infinity;
    }
  }
}

function creditsToConfirm(error: unknown): number | undefined {
  return error instanceof ServiceError && error.code === 'SPENDING_NOT_CONFIRMED' ? error.details.credits : undefined;
}

function unconfirmed(credits: number, why: string): ServiceError {
  return new ServiceError('SPENDING_NOT_CONFIRMED', `This would reserve ${creditsText(credits)}, and ${why}`, {
    credits,
  });
}

const REFUSALS = {
  no: 'the person who was asked said no; nothing was reserved.',
  unanswered: 'nobody answered the question in time; nothing was reserved.',
} as const;

/**
 * Keeps pictures that came with a call as completed uploads, and answers their ids. The same pictures under the same
 * key are the same uploads, so that a call that is repeated is still the same request. Throws FIELD_INVALID if
 * the bytes are not a picture, and the errors of preparing and completing an upload.
 */
async function keepPictures(
  call: ToolCall,
  idempotencyKey: string,
  pictures: readonly ReferencePicture[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, picture] of pictures.entries()) ids.push(await keepPicture(call, idempotencyKey, picture, index));
  return ids;
}

async function keepPicture(
  { context, caller }: ToolCall,
  idempotencyKey: string,
  { data, media_type, role = 'reference_image' }: ReferencePicture,
  index: number,
): Promise<string> {
  const bytes = bytesOf(data, index);
  const { sha256 } = await context.digests.ofBytes(inOnePiece(bytes));
  const key = `mcp-${context.digests.ofJson({ idempotencyKey, index, sha256 })}`;
  const body = { filename: `reference-${index + 1}`, media_type, byte_size: bytes.byteLength, sha256, role };
  const { upload } = await prepareUpload(context, caller, key, body);
  if (upload.status !== 'ready') {
    const rules = { mediaType: media_type, maxBytes: bytes.byteLength };
    await context.objects.write(upload.stagingKey, inOnePiece(bytes), rules);
    await completeUpload(context, caller, key, upload.uploadId, {}).catch((error: unknown) => {
      throw atPicture(error, index);
    });
  }
  return upload.uploadId;
}

/** The fields of an upload are not among the arguments: the picture as a whole is at fault. */
function atPicture(error: unknown, index: number): unknown {
  return error instanceof ServiceError && error.code === 'FIELD_INVALID'
    ? fieldInvalid(`/reference_pictures/${index}`, `reference_pictures[${index}]: ${error.message}`)
    : error;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function bytesOf(data: string, index: number): Uint8Array {
  if (!BASE64.test(data))
    throw fieldInvalid(
      `/reference_pictures/${index}/data`,
      `reference_pictures[${index}].data must be base64, without a prefix and without white space.`,
    );
  return Buffer.from(data, 'base64');
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A command for a POSIX shell with all headers that the signature covers. */
function curlOf({ url, method, headers }: SignedRequest, filename: string): string {
  const words = [
    'curl',
    '--fail',
    '--request',
    method,
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', quoted(`${name}: ${value}`)]),
    '--data-binary',
    quoted(`@./${filename}`),
    quoted(url),
  ];
  return words.join(' ');
}

/** The arguments, checked. Throws FIELD_REQUIRED and FIELD_INVALID. */
function readArguments<T>(
  { context, args }: Pick<ToolCall, 'context' | 'args'>,
  input: TypedSchema<T>,
  wording: Wording = {},
): T & JsonObject {
  return readBody<T>(context, input, args, wording);
}

/** Takes the key out of the arguments. Throws IDEMPOTENCY_KEY_REQUIRED and IDEMPOTENCY_KEY_INVALID. */
function takeIdempotencyKey(args: JsonObject): string {
  const key: Json | undefined = args['idempotency_key'];
  if (key === undefined || key === null) return readIdempotencyKey([]);
  if (typeof key !== 'string') throw fieldInvalid('/idempotency_key', 'idempotency_key must be a text.');
  return readIdempotencyKey([key]);
}

/** The arguments without those that are the tool's own: the body of REST. */
function withoutOwn(args: JsonObject, own: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !own.includes(name)));
}

/** Waits for the end of a generation as long as the call may, and shows it as it then is. */
async function resultAfterWait(
  { context, caller, waits, progress, requireAllowed }: ToolCall,
  generationId: string,
  waitSeconds: number | undefined,
): Promise<CallToolResult> {
  const waitMs = (waitSeconds ?? WAIT_SECONDS.default) * 1_000;
  const generation = await waitForGeneration(context, caller, generationId, {
    waitMs,
    until: waits,
    onLook: ({ status }) => progress.report(status),
  });
  if (waitMs > 0) await requireAllowed();
  return taskResult(context, generation);
}

/** A result that is data alone, which clients without structured content read as text. */
function dataResult(data: object): CallToolResult {
  const text = JSON.stringify(data);
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
}

/** A refusal with the code and the sentence of REST, for the model to read and to act on. */
export function refusalResult({ code, message, details: { retryAfterMs } }: ServiceError): CallToolResult {
  const seconds = retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const retry = seconds === undefined ? '' : ` Try again in ${seconds} s.`;
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${message}${retry}` }],
    _meta: {
      'darkroom/error': {
        code,
        message,
        retryable: ERRORS[code].retry,
        ...(seconds === undefined ? {} : { retry_after_seconds: seconds }),
      },
    },
  };
}
