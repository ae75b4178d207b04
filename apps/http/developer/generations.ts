import type { Call, Files, Machine, Models, Money, Webhooks, Work } from '../../../core/context.js';
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
import { thumbnailsOf } from '../../../core/generation/thumbnails.js';
import { NO_WAIT, waitForEnd, waitForGeneration, type Waiting } from '../../../core/generation/wait-for-generation.js';
import type { JsonObject } from '../../../core/json.js';
import { pageByToken } from '../../page-token.js';
import { headerText } from '../host/request.js';
import { ESTIMATE_SCHEMA, renderEstimate, renderTask, TASK_SCHEMA, TASK_TEXTS } from '../render/generation.js';
import { NEXT_CURSOR, record, TIMESTAMP, timestamp } from '../render/schema-parts.js';
import { renderThumbnails, THUMBNAIL_LIST_SCHEMA } from '../render/thumbnails.js';
import {
  answerOrWait,
  BEAT_MS,
  CREATED_BETWEEN,
  PAGE_PARAMETERS,
  type QueryParameters,
  read,
  readCreatedBetween,
  readJson,
  readKey,
  readPage,
  removedSchema,
  type Route,
  sendEvents,
  write,
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

/** The data of an event of a generation. */
const EVENT_SCHEMA = record(
  'GenerationEvent',
  {
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
  ['progress', 'position'],
  'The data of an event.',
);

/** Generations, and the events of what happens to them. */
export const GENERATION_ROUTES: readonly Route<Money & Work & Files & Models & Webhooks & Machine & Call>[] = [
  write('POST', '/generations', 'generations:write', {
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
    async answer({ context, caller }, ctx) {
      const key = readKey(ctx);
      const body = await readJson(ctx);
      const webhookUrl = headerText(ctx.req, 'darkroom-webhook-url');
      const { generation, replayed } = await createGeneration(context, caller, key, body, {
        webhookUrl,
        requireAllowed: async () => void (await ctx.state.api.access.authenticate(ctx)),
      });
      const { generationId } = generation;
      if (!replayed) {
        ctx.state.hasCreated = true;
        ctx.state.ids = { generationId };
      }
      return answerOrWait(ctx, async (wait) => {
        const shown = wait === undefined ? generation : await waitForEnd(context, generation, wait);
        return {
          data: renderTask(await viewGeneration(context, shown)),
          replayed,
          headers: {
            Location: `${ctx.state.api.basePath}/generations/${generationId}`,
            ...(await progressHeader(context, shown, wait)),
          },
        };
      });
    },
  }),
  read('POST', '/generations/estimate', 'generations:write', {
    operationId: 'estimateGeneration',
    summary: 'Estimate the cost of a generation',
    description: 'Takes the body of create and stores nothing. The price is not guaranteed.',
    status: 200,
    data: ESTIMATE_SCHEMA,
    body: REQUEST_BODY,
    errors: ['FIELD_REQUIRED', 'FIELD_INVALID', 'CREDITS_INSUFFICIENT'],
    async answer({ context, caller }, ctx) {
      return { data: renderEstimate(await estimateGeneration(context, caller, await readJson(ctx))) };
    },
  }),
  read('GET', '/generations', 'generations:read', {
    operationId: 'listGenerations',
    summary: 'List generations',
    description:
      "The generations of the credential's App, newest first, that match all of the filters. A page of several filters may hold fewer than asked for, or none, although there are more: only the absence of `next_cursor` says that it was the last.",
    status: 200,
    query: LIST_PARAMETERS,
    data: record('GenerationList', { generations: { type: 'array', items: TASK_SCHEMA }, next_cursor: NEXT_CURSOR }, [
      'next_cursor',
    ]),
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
  }),
  read('GET', '/generations/:generation_id', 'generations:read', {
    operationId: 'getGeneration',
    summary: 'Get the status of a generation',
    status: 200,
    data: TASK_SCHEMA,
    errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
    headers: ['Prefer'],
    responseHeaders: ['Preference-Applied', 'Darkroom-Progress'],
    async answer({ context, caller }, ctx) {
      return answerOrWait(ctx, async (wait = NO_WAIT) => {
        const generation = await waitForGeneration(context, caller, ctx.params.generation_id, wait);
        return {
          data: TASK_TEXTS.of(await viewGeneration(context, generation)),
          headers: await progressHeader(context, generation, wait),
        };
      });
    },
  }),
  write('DELETE', '/generations/:generation_id', 'generations:write', {
    operationId: 'deleteGeneration',
    summary: 'Delete a generation',
    description:
      'Only one that has ended. Its prompt, its parameters and its outputs are removed, and the id answers GENERATION_JOB_NOT_FOUND from then on. What it was charged stays charged, and in the ledger.',
    status: 200,
    data: removedSchema('DeletedGeneration', 'generation_id'),
    errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND', 'CONFLICT'],
    async answer({ context, caller }, ctx) {
      const id = ctx.params.generation_id;
      await deleteGeneration(context, caller, id);
      return { data: { generation_id: id.toLowerCase() } };
    },
  }),
  read('GET', '/generations/:generation_id/thumbnails', 'generations:read', {
    operationId: 'getThumbnails',
    summary: 'Get thumbnails of the outputs',
    description:
      'Signed URLs of small WebP pictures, which work without a credential until the end of the next UTC day. Each is made at its first request. An output that has none is left out.',
    status: 200,
    data: THUMBNAIL_LIST_SCHEMA,
    errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
    async answer({ context, caller, api }, ctx) {
      const generation = await getGeneration(context, caller, ctx.params.generation_id);
      return { data: renderThumbnails(thumbnailsOf(context, generation, api.publicUrl())) };
    },
  }),
  read('GET', '/generations/:generation_id/events', 'generations:read', {
    operationId: 'watchGeneration',
    summary: 'Follow a generation',
    description:
      'Server-sent events: what has happened to the generation, and then what happens, until it has ended. A comment is sent after 15 seconds without an event. After an interruption send the id of the last event as `Last-Event-ID`; a client that has them all is answered with 204.',
    status: 200,
    mediaType: 'text/event-stream',
    data: EVENT_SCHEMA,
    errors: ['TASK_NOT_FOUND', 'GENERATION_JOB_NOT_FOUND'],
    headers: ['LastEventId'],
    async answer({ context, caller }, ctx) {
      const id = ctx.params.generation_id;
      const after = headerText(ctx.req, 'last-event-id');
      await getGeneration(context, caller, id);
      if (isLastEvent(after)) {
        ctx.res.setHeader('Cache-Control', 'no-store');
        ctx.status = 204;
        return undefined;
      }
      context.lastingCalls.requireRoom(caller);
      return sendEvents(ctx, (until) =>
        framesOf(context, generationEvents(context, caller, id, { after, until, beatMs: BEAT_MS })),
      );
    },
  }),
  read('GET', '/events', 'generations:read', {
    operationId: 'watchEvents',
    summary: 'Follow all generations of the App',
    description:
      "Server-sent events: what happens to the generations of the credential's App from now on, in order for each of them. After 15 seconds without an event, and at the beginning, the id of the place that was reached is sent alone. After an interruption send the id of the last event as `Last-Event-ID`: what has happened since then, and a little before, comes first. Events of the last day are kept so, may come twice, and none is missed.",
    status: 200,
    mediaType: 'text/event-stream',
    data: EVENT_SCHEMA,
    errors: [],
    headers: ['LastEventId'],
    async answer({ context, caller }, ctx) {
      const after = headerText(ctx.req, 'last-event-id');
      context.lastingCalls.requireRoomForApp(caller);
      return sendEvents(ctx, (until) =>
        framesOf(context, appEvents(context, caller, { after, until, beatMs: BEAT_MS })),
      );
    },
  }),
  write('POST', '/generations/:generation_id/cancel', 'generations:write', {
    operationId: 'cancelGeneration',
    summary: 'Cancel a generation',
    description:
      'A queued generation ends at once and costs nothing. A running generation is asked to stop. A generation that has ended does not change.',
    status: 200,
    data: TASK_SCHEMA,
    errors: ['TASK_NOT_FOUND'],
    async answer({ context, caller }, ctx) {
      const generation = await cancelGeneration(context, caller, ctx.params.generation_id);
      return { data: renderTask(await viewGeneration(context, generation)) };
    },
  }),
];

/**
 * `Darkroom-Progress`: how much of a running generation is done, 0 to 1, if its provider reports it. For one that is still
 * queued after a wait, the number of generations before it; without a wait that would cost more than the request itself.
 */
async function progressHeader(
  { queuePositions }: Work,
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

/** The delay before clients reconnect, in milliseconds. */
const RETRY_MS = 1_000;

/** Events as frames of server-sent events; a beat is a comment, or the id alone. */
async function* framesOf(
  context: Work & Files & Machine,
  events: AsyncIterable<GenerationEvent | Beat>,
): AsyncGenerator<string> {
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

async function frameOf(context: Work & Files & Machine, event: GenerationEvent | Beat): Promise<string> {
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
