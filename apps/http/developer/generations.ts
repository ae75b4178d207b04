import type { Context } from '../../../core/context.js';
import { createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration, deleteGeneration } from '../../../core/generation/end-generation.js';
import {
  appEvents,
  type Beat,
  EVENT_TYPES,
  type GenerationEvent,
  generationEvents,
  isLastEvent,
} from '../../../core/generation/events.js';
import { type Generation, isTerminal, STATUSES } from '../../../core/generation/generation.js';
import { GENERATION_REQUEST_SCHEMA } from '../../../core/generation/quote.js';
import {
  getGeneration,
  listGenerations,
  MAX_LISTED_MODEL_KEY,
  MAX_LISTED_TRACE_ID,
  readListFilter,
  viewGeneration,
} from '../../../core/generation/read-generations.js';
import { NO_WAIT, waitForEnd, waitForGeneration, type Waiting } from '../../../core/generation/wait-for-generation.js';
import { readIdempotencyKey } from '../../../core/idempotency/claims.js';
import type { JsonObject } from '../../../core/json.js';
import { pageByToken } from '../../page-token.js';
import { headerText, headerValues } from '../host/request.js';
import { sendAnswer } from '../host/send.js';
import { ESTIMATE_SCHEMA, renderEstimate, renderTask, TASK_SCHEMA, TASK_TEXTS } from '../render/generation.js';
import { NEXT_CURSOR, TIMESTAMP, timestamp, type TitledSchema, UUID } from '../render/schema-parts.js';
import {
  type ApiContext,
  BEAT_MS,
  CREATED_BETWEEN,
  PAGE_PARAMETERS,
  type ProtectedOperation,
  type QueryParameters,
  readCreatedBetween,
  readEmptyBody,
  readJson,
  readPage,
  readParameters,
  sendEvents,
  sendOrWait,
} from './operation.js';

/** A first request that works unchanged, with the catalog that comes with the program. */
export const EXAMPLE_REQUEST = {
  model_key: 'sandbox-image',
  operation: 'image_generation',
  prompt: 'a lighthouse at dusk',
} as const satisfies JsonObject;

const REQUEST_BODY = {
  schema: GENERATION_REQUEST_SCHEMA,
  schemaName: 'GenerationRequest',
  required: true,
  example: EXAMPLE_REQUEST,
} as const;

export const createGenerationOperation: ProtectedOperation = {
  operationId: 'createGeneration',
  summary: 'Create a generation',
  description:
    'Accepted is not finished: poll the address in Location until the status is succeeded, failed or cancelled.',
  status: 202,
  data: TASK_SCHEMA,
  body: REQUEST_BODY,
  errors: [
    'FIELD_REQUIRED',
    'FIELD_INVALID',
    'IDEMPOTENCY_PAYLOAD_MISMATCH',
    'IDEMPOTENCY_IN_PROGRESS',
    'IDEMPOTENCY_REPLAY_EXPIRED',
    'QUEUE_FULL',
    'CREDITS_INSUFFICIENT',
    'CONFLICT',
  ],
  headers: ['IdempotencyKey', 'Prefer', 'WebhookUrl'],
  responseHeaders: ['Idempotency-Replayed', 'Preference-Applied', 'Darkroom-Progress', 'Location'],
  async serve(ctx) {
    const { req, state } = ctx;
    const { context, caller } = state;
    const idempotencyKey = readIdempotencyKey(headerValues(req, 'idempotency-key'));
    const body = await readJson(ctx);
    const webhookUrl = headerText(req, 'darkroom-webhook-url');
    const { generation, replayed } = await createGeneration(context, caller, idempotencyKey, body, { webhookUrl });
    const { generationId } = generation;
    if (!replayed) {
      state.hasCreated = true;
      state.ids = { generationId };
    }
    await sendOrWait(ctx, 202, async (wait) => {
      const shown = wait === undefined ? generation : await waitForEnd(context, generation, wait);
      return {
        data: renderTask(await viewGeneration(context, shown)),
        replayed,
        headers: {
          Location: `/api/v1/developer/generations/${generationId}`,
          ...(await progressHeader(context, shown, wait)),
        },
      };
    });
  },
};

/**
 * `Darkroom-Progress`: how much of a running generation is done, 0 to 1, if its provider reports it. For one that is still
 * queued after a wait, the number of generations before it; without a wait that would cost more than the request itself.
 */
async function progressHeader(
  { queuePositions }: Pick<Context, 'queuePositions'>,
  generation: Generation,
  wait: Waiting | undefined,
): Promise<Readonly<Record<string, string>>> {
  const { status, progress } = generation;
  if (status === 'queued' && wait !== undefined && wait.waitMs > 0) {
    const position = await queuePositions.before(generation);
    return position === undefined ? {} : { 'Darkroom-Progress': `0;position=${position}` };
  }
  if (progress === undefined || isTerminal(status)) return {};
  return { 'Darkroom-Progress': String(Math.floor(progress * 1_000) / 1_000) };
}

export const estimateGenerationOperation: ProtectedOperation = {
  operationId: 'estimateGeneration',
  summary: 'Estimate the cost of a generation',
  description: 'Takes the body of create and stores nothing. The price is not guaranteed.',
  status: 200,
  data: ESTIMATE_SCHEMA,
  body: REQUEST_BODY,
  errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'CREDITS_INSUFFICIENT'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    const body = await readJson(ctx);
    await sendAnswer(ctx, 200, { data: renderEstimate(await estimateGeneration(context, caller, body)) });
  },
};

export const getGenerationOperation: ProtectedOperation = {
  operationId: 'getGeneration',
  summary: 'Get the status of a generation',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  headers: ['Prefer'],
  responseHeaders: ['Preference-Applied', 'Darkroom-Progress'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    await sendOrWait(ctx, 200, async (wait = NO_WAIT) => {
      const generation = await waitForGeneration(context, caller, idOf(ctx), wait);
      return {
        data: TASK_TEXTS.of(await viewGeneration(context, generation)),
        headers: await progressHeader(context, generation, wait),
      };
    });
  },
};

function idOf({ params }: ApiContext): string {
  return params['generation_id'] ?? '';
}

const LIST_PARAMETERS: QueryParameters = {
  ...PAGE_PARAMETERS,
  status: {
    type: 'string',
    enum: [...STATUSES],
    example: 'succeeded',
    description: 'Those that have this status now.',
  },
  model_key: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_LISTED_MODEL_KEY,
    example: EXAMPLE_REQUEST.model_key,
    description: 'Those of this model.',
  },
  client_trace_id: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_LISTED_TRACE_ID,
    example: 'order-1',
    description: 'Those that were created with this client_trace_id.',
  },
  ...CREATED_BETWEEN,
};

export const listGenerationsOperation: ProtectedOperation = {
  operationId: 'listGenerations',
  summary: 'List generations',
  description:
    "The generations of the credential's App, newest first, that match all of the filters. A page of several filters may hold fewer than asked for, or none, although there are more: only the absence of `next_cursor` says that it was the last.",
  status: 200,
  query: LIST_PARAMETERS,
  data: {
    title: 'GenerationList',
    type: 'object',
    required: ['generations'],
    properties: { generations: { type: 'array', items: TASK_SCHEMA }, next_cursor: NEXT_CURSOR },
  },
  errors: ['FIELD_INVALID'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    const query = readParameters(ctx, LIST_PARAMETERS);
    await readEmptyBody(ctx);
    const filter = readListFilter({
      status: query['status'],
      modelKey: query['model_key'],
      clientTraceId: query['client_trace_id'],
      ...readCreatedBetween(query),
    });
    const list = `generations of ${caller.appId} ${JSON.stringify(filter)}`;
    const { items, nextCursor } = await pageByToken(
      readPage(query),
      list,
      (page) => listGenerations(context, caller, filter, page),
      'cursor',
    );
    const views = await Promise.all(items.map((generation) => viewGeneration(context, generation)));
    await sendAnswer(ctx, 200, { data: { generations: views.map(renderTask), next_cursor: nextCursor } });
  },
};

export const cancelGenerationOperation: ProtectedOperation = {
  operationId: 'cancelGeneration',
  summary: 'Cancel a generation',
  description:
    'A queued generation ends at once and costs nothing. A running generation is asked to stop. A generation that has ended does not change.',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    const generation = await cancelGeneration(context, caller, idOf(ctx));
    await sendAnswer(ctx, 200, { data: renderTask(await viewGeneration(context, generation)) });
  },
};

export const deleteGenerationOperation: ProtectedOperation = {
  operationId: 'deleteGeneration',
  summary: 'Delete a generation',
  description:
    'Only one that has ended. Its prompt, its parameters and its outputs are removed, and the id answers GENERATION_JOB_NOT_FOUND from then on. What it was charged stays charged, and in the ledger.',
  status: 200,
  data: {
    title: 'DeletedGeneration',
    type: 'object',
    required: ['generation_id'],
    properties: { generation_id: UUID },
  },
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND', 'CONFLICT'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    const id = idOf(ctx);
    await deleteGeneration(context, caller, id);
    await sendAnswer(ctx, 200, { data: { generation_id: id.toLowerCase() } });
  },
};

/** The data of an event of a generation. */
const EVENT_SCHEMA: TitledSchema = {
  title: 'GenerationEvent',
  type: 'object',
  description: 'The data of an event.',
  required: ['type', 'at', 'task'],
  properties: {
    type: { type: 'string', enum: [...EVENT_TYPES] },
    at: TIMESTAMP,
    progress: { type: 'number', minimum: 0, maximum: 1, description: 'How much is done, where the provider says.' },
    position: {
      type: 'integer',
      minimum: 0,
      description: "While it is queued: how many of the App's generations of the same model are queued before it.",
    },
    task: TASK_SCHEMA,
  },
};

export const watchGenerationOperation: ProtectedOperation = {
  operationId: 'watchGeneration',
  summary: 'Follow a generation',
  description:
    'Server-sent events: what has happened to the generation, and then what happens, until it has ended. A comment is sent after 15 seconds without an event. After an interruption send the id of the last event as `Last-Event-ID`; a client that has them all is answered with 204.',
  status: 200,
  mediaType: 'text/event-stream',
  data: EVENT_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  headers: ['LastEventId'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    const id = idOf(ctx);
    const after = headerText(ctx.req, 'last-event-id');
    await getGeneration(context, caller, id);
    if (isLastEvent(after)) {
      ctx.res.setHeader('Cache-Control', 'no-store');
      ctx.status = 204;
      return;
    }
    context.lastingCalls.requireRoom(caller);
    await sendEvents(ctx, (until) =>
      framesOf(context, generationEvents(context, caller, id, { after, until, beatMs: BEAT_MS })),
    );
  },
};

export const watchEventsOperation: ProtectedOperation = {
  operationId: 'watchEvents',
  summary: 'Follow all generations of the App',
  description:
    "Server-sent events: what happens to the generations of the credential's App from now on, in order for each of them. After 15 seconds without an event, and at the beginning, the id of the place that was reached is sent alone. After an interruption send the id of the last event as `Last-Event-ID`: what has happened since then, and a little before, comes first. Events of the last day are kept so, may come twice, and none is missed.",
  status: 200,
  mediaType: 'text/event-stream',
  data: EVENT_SCHEMA,
  errors: [],
  headers: ['LastEventId'],
  async serve(ctx) {
    const { context, caller } = ctx.state;
    await readEmptyBody(ctx);
    const after = headerText(ctx.req, 'last-event-id');
    context.lastingCalls.requireRoomForApp(caller);
    await sendEvents(ctx, (until) => framesOf(context, appEvents(context, caller, { after, until, beatMs: BEAT_MS })));
  },
};

/** The delay before clients reconnect, in milliseconds. */
const RETRY_MS = 1_000;

/** Events as frames of server-sent events; a beat is a comment, or the id alone. */
async function* framesOf(context: Context, events: AsyncIterable<GenerationEvent | Beat>): AsyncGenerator<string> {
  const iterator = events[Symbol.asyncIterator]();
  // The subscription begins before the first byte is sent, so that nothing that happens after it is missed.
  const first = iterator.next();
  first.catch(() => undefined);
  try {
    yield `retry: ${RETRY_MS}\n\n`;
    for (let next = await first; next.done !== true; next = await iterator.next())
      yield await frameOf(context, next.value);
  } finally {
    await iterator.return?.();
  }
}

async function frameOf(context: Context, event: GenerationEvent | Beat): Promise<string> {
  if (event.type === 'beat') return event.id === undefined ? ': \n\n' : `id: ${event.id}\n\n`;
  const { type, at, id, generation } = event;
  const { progress } = generation;
  const position = type === 'queued' ? await context.queuePositions.before(generation) : undefined;
  const data = {
    type,
    at: timestamp(at),
    ...(type === 'progress' ? { progress } : {}),
    ...(position === undefined ? {} : { position }),
    task: renderTask(await viewGeneration(context, generation)),
  };
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
