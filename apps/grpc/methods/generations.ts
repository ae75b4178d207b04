import { cancelGeneration } from '../../../core/generation/cancel-generation.js';
import { ServiceError } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { estimateGeneration } from '../../../core/generation/estimate-generation.js';
import { getGeneration } from '../../../core/generation/get-generation.js';
import { deleteGeneration } from '../../../core/generation/delete-generation.js';
import { listGenerations, readListFilter, type ListFilter } from '../../../core/generation/list-generations.js';
import { viewGeneration } from '../../../core/generation/view.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { MAX_BODY_DEPTH, MAX_BODY_NODES } from '../../http/host/limits.js';
import {
  Generations,
  type GenerationInput,
  type ListGenerationsRequest,
} from '../generated/darkroom/v1/generations_pb.js';
import { keyOf } from '../idempotency-key.js';
import { acting } from '../method.js';
import { pageByToken } from '../../requests/page-token.js';
import { readPage } from '../pages.js';
import { OPERATION, STATUS, wordOf } from '../render/enums.js';
import { answerOf } from '../render/kept-answers.js';
import { readTimestamp } from '../read-timestamp.js';
import { readMask, showGeneration } from '../shown-generation.js';

const { method } = Generations;

export const GENERATION_METHODS = [
  acting(method.estimateGeneration, {
    scope: 'generations:write',
    bodyField: 'input',
    async answer({ context, caller, request }) {
      const estimate = await estimateGeneration(context, caller, bodyOf(request.input));
      return {
        modelKey: estimate.modelKey,
        operation: OPERATION[estimate.operation],
        estimatedCredits: BigInt(estimate.estimatedCredits),
        currency: estimate.currency,
      };
    },
  }),
  acting(method.createGeneration, {
    scope: 'generations:write',
    bodyField: 'input',
    async answer({ context, caller, request }) {
      const { generation, replayed } = await createGeneration(context, caller, keyOf(request), bodyOf(request.input), {
        webhookUrl: request.webhookUrl,
      });
      return { generation: await showGeneration(context, generation, undefined), replayed };
    },
    createdId: ({ generation, replayed }) => (replayed === true ? undefined : generation?.generationId),
  }),
  acting(method.getGeneration, {
    scope: 'generations:read',
    async answer({ context, caller, request }) {
      const mask = readMask(request.readMask);
      const generation = await getGeneration(context, caller, request.generationId);
      if (mask === undefined) return answerOf(await viewGeneration(context, generation));
      return { generation: await showGeneration(context, generation, mask) };
    },
  }),
  acting(method.listGenerations, {
    scope: 'generations:read',
    async answer({ context, caller, request }) {
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
    },
  }),
  acting(method.cancelGeneration, {
    scope: 'generations:write',
    async answer({ context, caller, request }) {
      return {
        generation: await showGeneration(
          context,
          await cancelGeneration(context, caller, request.generationId),
          undefined,
        ),
      };
    },
  }),
  acting(method.deleteGeneration, {
    scope: 'generations:write',
    async answer({ context, caller, request }) {
      await deleteGeneration(context, caller, request.generationId);
      return {};
    },
  }),
] as const;

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
 * Over REST a body that is nested deeper, or holds more, is not read at all. Answers how many more names and values
 * there may be.
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
