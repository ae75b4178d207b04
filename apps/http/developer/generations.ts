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
import type { JsonObject } from '../../../core/json.js';
import { pageByToken } from '../../page-token.js';
import type { StreamedAnswer } from '../host/answer.js';
import { readTime } from '../host/request.js';
import { ESTIMATE_SCHEMA, renderEstimate, renderTask, TASK_SCHEMA, taskText } from '../render/generation.js';
import { NEXT_CURSOR, TIMESTAMP, timestamp, type TitledSchema, UUID } from '../render/schema-parts.js';
import { type Call, CURSOR, LIMIT, type ProtectedOperation, readPage } from './operation.js';

/** A first request that works unchanged, with the catalog that comes with the program. */
export const EXAMPLE_REQUEST = {
  model_key: 'sandbox-image',
  operation: 'image_generation',
  prompt: 'a lighthouse at dusk',
} as const satisfies JsonObject;

/** A time in what filters and ranges ask for. */
export const EXAMPLE_TIME = '2026-01-31T12:00:00Z';

/** A PNG of 64 by 64 pixels of one colour. */
export const EXAMPLE_UPLOAD = {
  filename: 'sea.png',
  media_type: 'image/png',
  byte_size: 120,
  sha256: '4c4b90ec1faf1a61fa582f50609311f40dd42dda0ea64ff6651832399b1ab0e5',
  role: 'reference_image',
} as const satisfies JsonObject;

/**
 * `Darkroom-Progress`: how much of a running generation is done, 0 to 1, where its provider says. Who has waited for one that
 * is queued still is told how many are before it; for all others that would cost more than their request.
 */
export async function progressHeader(
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

export const createGenerationOperation: ProtectedOperation = {
  operationId: 'createGeneration',
  summary: 'Create a generation',
  description:
    'Accepted is not finished: poll the address in Location until the status is succeeded, failed or cancelled.',
  status: 202,
  data: TASK_SCHEMA,
  body: {
    schema: GENERATION_REQUEST_SCHEMA,
    schemaName: 'GenerationRequest',
    required: true,
    example: EXAMPLE_REQUEST,
  },
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
  canWait: true,
  takesWebhookUrl: true,
  hasLocation: true,
  async answer({ context, caller, idempotencyKey, body, wait, webhookUrl }) {
    const { generation: created, replayed } = await createGeneration(context, caller, idempotencyKey, body, {
      webhookUrl,
    });
    const generation = wait === undefined ? created : await waitForEnd(context, created, wait);
    const Location = `/api/v1/developer/generations/${generation.generationId}`;
    return {
      data: renderTask(await viewGeneration(context, generation)),
      replayed,
      headers: { Location, ...(await progressHeader(context, generation, wait)) },
      ...(replayed ? {} : { createdId: generation.generationId }),
    };
  },
};

export const estimateGenerationOperation: ProtectedOperation = {
  operationId: 'estimateGeneration',
  summary: 'Estimate the cost of a generation',
  description: 'Takes the body of create and stores nothing. The price is not guaranteed.',
  status: 200,
  data: ESTIMATE_SCHEMA,
  body: {
    schema: GENERATION_REQUEST_SCHEMA,
    schemaName: 'GenerationRequest',
    required: true,
    example: EXAMPLE_REQUEST,
  },
  errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'CREDITS_INSUFFICIENT'],
  answer: async ({ context, caller, body }) => ({
    data: renderEstimate(await estimateGeneration(context, caller, body)),
  }),
};

export const getGenerationOperation: ProtectedOperation = {
  operationId: 'getGeneration',
  summary: 'Get the status of a generation',
  status: 200,
  data: TASK_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  canWait: true,
  async answer({ context, caller, params, wait = NO_WAIT }) {
    const generation = await waitForGeneration(context, caller, params['generation_id'] ?? '', wait);
    return {
      data: { text: taskText(await viewGeneration(context, generation)) },
      headers: await progressHeader(context, generation, wait),
    };
  },
};

const TIME = { type: 'string', format: 'date-time' } as const;

/** Query parameters of lists of what was created within a time. */
export const CREATED_BETWEEN = {
  created_after: { ...TIME, example: EXAMPLE_TIME, description: 'Those created at this time or later.' },
  created_before: { ...TIME, example: '2030-01-31T12:00:00Z', description: 'Those created before this time.' },
} as const;

/** Throws FIELD_INVALID. */
export function readCreatedBetween(query: Call['query']) {
  return { createdFrom: readTime(query, 'created_after'), createdBefore: readTime(query, 'created_before') };
}

export const listGenerationsOperation: ProtectedOperation = {
  operationId: 'listGenerations',
  summary: 'List generations',
  description:
    "The generations of the credential's App, newest first, that match all of the filters. A page of several filters may hold fewer than asked for, or none, although there are more: only the absence of `next_cursor` says that it was the last.",
  status: 200,
  query: {
    limit: LIMIT,
    cursor: CURSOR,
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
  },
  data: {
    title: 'GenerationList',
    type: 'object',
    required: ['generations'],
    properties: { generations: { type: 'array', items: TASK_SCHEMA }, next_cursor: NEXT_CURSOR },
  },
  errors: ['FIELD_INVALID'],
  async answer({ context, caller, query }) {
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
    return { data: { generations: views.map(renderTask), next_cursor: nextCursor } };
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
  async answer({ context, caller, params }) {
    const generation = await cancelGeneration(context, caller, params['generation_id'] ?? '');
    return { data: renderTask(await viewGeneration(context, generation)) };
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
  async answer({ context, caller, params }) {
    const id = params['generation_id'] ?? '';
    await deleteGeneration(context, caller, id);
    return { data: { generation_id: id.toLowerCase() } };
  },
};

/** How long clients are told to wait before they connect again, in milliseconds. */
const RETRY_MS = 1_000;
/** A proxy closes a connection on which nothing is sent for long. */
export const BEAT_MS = 15_000;

/** The data of an event of a generation. */
export const EVENT_SCHEMA: TitledSchema = {
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

/** Events as a stream of server-sent events; a beat is a comment, or the id alone. */
export function eventStream(context: Context, events: () => AsyncIterable<GenerationEvent | Beat>): StreamedAnswer {
  return {
    stream: () => framesOf(context, events()),
    mediaType: 'text/event-stream; charset=utf-8',
    // Of nginx: what is buffered comes too late.
    headers: { 'X-Accel-Buffering': 'no' },
  };
}

async function* framesOf(context: Context, events: AsyncIterable<GenerationEvent | Beat>): AsyncGenerator<string> {
  const told = events[Symbol.asyncIterator]();
  // Followed before its first byte is sent: what a client asks for once it has that is told.
  const first = told.next();
  first.catch(() => undefined);
  try {
    yield `retry: ${RETRY_MS}\n\n`;
    for (let next = await first; next.done !== true; next = await told.next()) yield await frameOf(context, next.value);
  } finally {
    await told.return?.();
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

export const watchGenerationOperation: ProtectedOperation = {
  operationId: 'watchGeneration',
  summary: 'Follow a generation',
  description:
    'Server-sent events: what has happened to the generation, and then what happens, until it has ended. A comment is sent after 15 seconds without an event. After an interruption send the id of the last event as `Last-Event-ID`; a client that has them all is answered with 204.',
  status: 200,
  mediaType: 'text/event-stream',
  data: EVENT_SCHEMA,
  errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
  canFollow: true,
  async answer({ context, caller, params, following }) {
    const id = params['generation_id'] ?? '';
    await getGeneration(context, caller, id);
    if (following === undefined || isLastEvent(following.lastEventId)) return { noContent: true };
    context.lastingCalls.requireRoom(caller);
    const { lastEventId: after, until } = following;
    return eventStream(context, () => generationEvents(context, caller, id, { after, until, beatMs: BEAT_MS }));
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
  canFollow: true,
  async answer({ context, caller, following }) {
    if (following === undefined) return { noContent: true };
    context.lastingCalls.requireRoomForApp(caller);
    const { lastEventId: after, until } = following;
    return eventStream(context, () => appEvents(context, caller, { after, until, beatMs: BEAT_MS }));
  },
};
