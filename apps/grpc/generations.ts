import { create, type Message, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import type { FieldMask } from '@bufbuild/protobuf/wkt';
import type { Call, Files, Machine, Models, Money, Webhooks, Work } from '../../core/context.js';
import { ServiceError } from '../../core/errors.js';
import { fieldInvalid } from '../../core/fields.js';
import { createGeneration, estimateGeneration } from '../../core/generation/create-generation.js';
import { cancelGeneration, deleteGeneration } from '../../core/generation/end-generation.js';
import { appEvents, isEventId } from '../../core/generation/events.js';
import {
  type Generation,
  type GenerationRecord,
  type GenerationView,
  isTerminal,
  type OutputView,
} from '../../core/generation/generation.js';
import {
  getGeneration,
  type ListFilter,
  listGenerations,
  readListFilter,
  viewGeneration,
} from '../../core/generation/read-generations.js';
import { type OutputThumbnails, thumbnailsOf } from '../../core/generation/thumbnails.js';
import type { Json, JsonObject } from '../../core/json.js';
import { WakeableDelay } from '../../core/waiting.js';
import { MAX_BODY_DEPTH, MAX_BODY_NODES } from '../http/host/http-context.js';
import { ViewCache } from '../http/render/generation.js';
import { pageByToken } from '../page-token.js';
import { duration, EVENT_TYPE, MODALITY, OPERATION, readTimestamp, STATUS, timestamp, wordOf } from './enums.js';
import {
  type GenerationInput,
  Generations,
  GenerationSchema,
  type GetGenerationResponse,
  GetGenerationResponseSchema,
  type ListGenerationsRequest,
  type OutputSchema,
  type OutputThumbnailsSchema,
} from './generated/darkroom/v1/generations_pb.js';
import { acting, type Addressed, keyOf, readPage, type ServedMethod, type ServedStream, streaming } from './method.js';

const { method } = Generations;

export const GENERATION_METHODS: readonly ServedMethod<
  Money & Work & Files & Models & Webhooks & Machine & Call & Addressed
>[] = [
  acting(
    method.estimateGeneration,
    'generations:write',
    async ({ context, caller, request }) => {
      const estimate = await estimateGeneration(context, caller, bodyOf(request.input));
      return {
        modelKey: estimate.modelKey,
        operation: OPERATION[estimate.operation],
        estimatedCredits: BigInt(estimate.estimatedCredits),
        currency: estimate.currency,
      };
    },
    { bodyField: 'input' },
  ),
  acting(
    method.createGeneration,
    'generations:write',
    async ({ context, caller, request, requireAllowed }) => {
      const { generation, replayed } = await createGeneration(context, caller, keyOf(request), bodyOf(request.input), {
        webhookUrl: request.webhookUrl,
        requireAllowed,
      });
      return { generation: await showGeneration(context, generation, undefined), replayed };
    },
    {
      bodyField: 'input',
      createdId: ({ generation, replayed }) => (replayed === true ? undefined : generation?.generationId),
    },
  ),
  acting(method.getGeneration, 'generations:read', async ({ context, caller, request }) => {
    const mask = readMask(request.readMask);
    const generation = await getGeneration(context, caller, request.generationId);
    if (mask === undefined) return answerOf(await viewGeneration(context, generation));
    return { generation: await showGeneration(context, generation, mask) };
  }),
  acting(method.listGenerations, 'generations:read', async ({ context, caller, request }) => {
    const mask = readMask(request.readMask);
    const filter = readFilter(request);
    const list = `generations of ${caller.appId} ${JSON.stringify(filter)}`;
    const { items, nextCursor } = await pageByToken(readPage(request), list, (page) =>
      listGenerations(context, caller, filter, page),
    );
    return {
      generations: await Promise.all(items.map((generation) => showGeneration(context, generation, mask))),
      nextPageToken: nextCursor ?? '',
    };
  }),
  acting(method.getThumbnails, 'generations:read', async ({ context, caller, request }) => {
    const generation = await getGeneration(context, caller, request.generationId);
    return { outputs: thumbnailsOf(context, generation, context.publicUrl()).map(renderThumbnails) };
  }),
  acting(method.cancelGeneration, 'generations:write', async ({ context, caller, request }) => {
    const generation = await cancelGeneration(context, caller, request.generationId);
    return { generation: await showGeneration(context, generation, undefined) };
  }),
  acting(method.deleteGeneration, 'generations:write', async ({ context, caller, request }) => {
    await deleteGeneration(context, caller, request.generationId);
    return {};
  }),
];

/** How often to check that the caller may still watch. */
const ASK_EVERY_MS = 1_000;

export const WATCH_METHODS: readonly ServedStream<Work & Files & Models & Machine & Call>[] = [
  streaming(
    method.watchGeneration,
    'generations:read',
    async function* ({ context, caller, request, signal, requireAllowed }) {
      const mask = readMask(request.readMask);
      const leave = context.lastingCalls.follow(caller);
      const rest = new WakeableDelay(context.clock);
      signal.addEventListener('abort', () => rest.wake());
      let told: GenerationRecord | null | undefined;
      const followNoMore = context.generationWatch.follow(request.generationId.toLowerCase(), (record) => {
        told = record;
        rest.wake();
      });
      try {
        let last = await getGeneration(context, caller, request.generationId);
        for (let seen = -1; !signal.aborted; await rest.sleep(ASK_EVERY_MS)) {
          await requireAllowed();
          if (told === null || (told !== undefined && told.kind !== 'generation'))
            throw new ServiceError('GENERATION_JOB_NOT_FOUND');
          if (told !== undefined && told.version > last.version) last = told;
          if (last.version === seen) continue;
          seen = last.version;
          yield { generation: await showGeneration(context, last, mask) };
          if (isTerminal(last.status)) return;
        }
      } finally {
        leave();
        followNoMore();
      }
    },
  ),
  streaming(
    method.watchEvents,
    'generations:read',
    async function* ({ context, caller, request, signal, requireAllowed }) {
      const mask = readMask(request.readMask);
      const until = {
        get isOver() {
          return signal.aborted;
        },
        onOver: (listener: () => void) => {
          signal.addEventListener('abort', listener);
          return () => signal.removeEventListener('abort', listener);
        },
      };
      const after = request.afterEventId === '' ? undefined : request.afterEventId;
      if (after !== undefined && !isEventId(after))
        throw fieldInvalid('/after_event_id', 'after_event_id must be the event_id of an event of this App.');
      let hasPosition = false;
      for await (const event of appEvents(context, caller, { after, until, beatMs: ASK_EVERY_MS })) {
        await requireAllowed();
        if (event.type === 'beat') {
          if (hasPosition || event.id === undefined) continue;
          hasPosition = true;
          yield { eventId: event.id };
          continue;
        }
        const { id, type, at, generation } = event;
        const queuePosition = type === 'queued' ? await context.queuePositions.before(generation) : undefined;
        yield {
          queuePosition,
          eventId: id,
          type: EVENT_TYPE[type],
          eventTime: timestamp(at),
          generation: await showGeneration(context, generation, mask),
        };
      }
    },
  ),
];

function readFilter({
  status,
  modelKey,
  clientTraceId,
  createdAfter,
  createdBefore,
}: ListGenerationsRequest): ListFilter {
  return readListFilter({
    status: wordOf(STATUS, status),
    modelKey,
    clientTraceId,
    createdFrom: createdAfter && readTimestamp(createdAfter, 'created_after'),
    createdBefore: createdBefore && readTimestamp(createdBefore, 'created_before'),
  });
}

/**
 * Over REST a body that is nested deeper, or holds more, is not read at all. Returns the remaining number of names
 * and values.
 */
function refuseLarge(value: Json, levels: number, most: number): number {
  let left = most - 1;
  if (typeof value === 'object' && value !== null) {
    if (levels === 0)
      throw new ServiceError('BODY_INVALID', `The request must be nested at most ${MAX_BODY_DEPTH} deep.`);
    const names = Array.isArray(value) ? 0 : 1;
    for (const member of Object.values(value)) left = refuseLarge(member, levels - 1, left - names);
  }
  if (left < 0)
    throw new ServiceError('BODY_INVALID', `The request must hold at most ${MAX_BODY_NODES} names and values.`);
  return left;
}

/** The body that the use case takes, the same as over REST, so that a key means the same on both fronts. */
function bodyOf(input: GenerationInput | undefined): JsonObject {
  if (input === undefined) return {};
  const { modelKey, prompt, negativePrompt, parameters, referenceUploadIds, clientTraceId } = input;
  const operation = wordOf(OPERATION, input.operation);
  // Spread together of parts that may be absent it would take as long to make as the message to read.
  const body: Record<string, Json> = {};
  if (modelKey !== undefined) body['model_key'] = modelKey;
  if (operation !== undefined) body['operation'] = operation;
  if (prompt !== undefined) body['prompt'] = prompt;
  if (negativePrompt !== undefined) body['negative_prompt'] = negativePrompt;
  if (parameters !== undefined) body['parameters'] = parameters;
  if (referenceUploadIds.length > 0) body['reference_upload_ids'] = referenceUploadIds;
  if (clientTraceId !== undefined) body['client_trace_id'] = clientTraceId;
  refuseLarge(body, MAX_BODY_DEPTH, MAX_BODY_NODES);
  return body;
}

export function renderGeneration({
  generation: g,
  outputs,
  pollAfterMs,
}: GenerationView): MessageInitShape<typeof GenerationSchema> {
  return {
    generationId: g.generationId,
    status: STATUS[g.status],
    modelKey: g.modelKey,
    modality: MODALITY[g.modality],
    operation: OPERATION[g.operation],
    createTime: timestamp(g.createdAt),
    updateTime: timestamp(g.updatedAt),
    completeTime: timestamp(g.completedAt),
    pollAfter: duration(pollAfterMs),
    estimatedCredits: BigInt(g.estimatedCredits),
    reservedCredits: BigInt(g.reservedCredits),
    chargedCredits: BigInt(g.chargedCredits),
    outputs: outputs.map(renderOutput),
    error: g.error,
    clientTraceId: g.clientTraceId,
  };
}

export function renderOutput({ output, url }: OutputView): MessageInitShape<typeof OutputSchema> {
  return {
    mediaId: output.mediaId,
    modality: MODALITY[output.kind],
    url,
    width: output.widthPx,
    height: output.heightPx,
    duration: duration(output.durationMs),
  };
}

function renderThumbnails({
  mediaId,
  sizes,
  expiresAt,
}: OutputThumbnails): MessageInitShape<typeof OutputThumbnailsSchema> {
  const thumbnails = sizes.map(({ url, widthPx: width, heightPx: height }) => {
    return { url, width, height, expireTime: timestamp(expiresAt) };
  });
  return { mediaId, thumbnails };
}

const BYTES = new WeakMap<Message, Uint8Array>();

const ANSWERS = new ViewCache((view, isKept) => {
  const answer = create(GetGenerationResponseSchema, { generation: renderGeneration(view) });
  if (isKept) BYTES.set(answer, toBinary(GetGenerationResponseSchema, answer));
  return answer;
});

/** The answer that shows a whole generation; the message and its bytes are kept where the view is. */
export function answerOf(view: GenerationView): GetGenerationResponse {
  return ANSWERS.of(view);
}

/** The bytes of a message, if they were kept. */
export function keptBytes(message: Message): Uint8Array | undefined {
  return BYTES.get(message);
}

type Shown = MessageInitShape<typeof GenerationSchema>;

/** The requested fields of a generation, by their names in messages. */
export type Mask = ReadonlySet<string> | undefined;

/** All fields if absent. Throws FIELD_INVALID for a path that is not a field of a generation. */
export function readMask(mask: FieldMask | undefined): Mask {
  if (mask === undefined || mask.paths.length === 0 || mask.paths.includes('*')) return undefined;
  return new Set(
    mask.paths.map((path) => {
      const field = GenerationSchema.fields.find(({ name }) => name === path);
      if (!field)
        throw fieldInvalid(
          '/read_mask',
          `read_mask must hold names of fields of a generation; ${JSON.stringify(path.slice(0, 60))} is none.`,
        );
      return field.localName;
    }),
  );
}

/** URLs are signed only if they are requested. */
async function showGeneration(context: Files & Machine, generation: Generation, mask: Mask): Promise<Shown> {
  if (mask === undefined || mask.has('outputs'))
    return masked(renderGeneration(await viewGeneration(context, generation)), mask);
  return masked(renderGeneration(await viewGeneration(context, { ...generation, outputs: [] })), mask);
}

function masked(shown: Shown, mask: Mask): Shown {
  if (mask === undefined) return shown;
  return Object.fromEntries(Object.entries(shown).filter(([name]) => mask.has(name)));
}
