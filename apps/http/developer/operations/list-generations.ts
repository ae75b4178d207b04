import {
  listGenerations,
  MAX_LISTED_MODEL_KEY,
  MAX_LISTED_TRACE_ID,
  readListFilter,
} from '../../../../core/generation/list-generations.js';
import { STATUSES } from '../../../../core/generation/generation.js';
import { viewGeneration } from '../../../../core/generation/view.js';
import { pageByToken } from '../../../requests/page-token.js';
import { NEXT_CURSOR } from '../../render/schema-parts.js';
import { renderTask, TASK_SCHEMA } from '../../render/generation-task.js';
import { EXAMPLE_REQUEST } from '../openapi/example-request.js';
import { CREATED_BETWEEN, readCreatedBetween } from '../created-between.js';
import type { ProtectedOperation } from '../operation.js';
import { CURSOR, LIMIT, readPage } from '../paging.js';

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
