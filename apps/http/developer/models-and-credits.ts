import { getModel } from '../../../core/catalog/find-model.js';
import type { Context } from '../../../core/context.js';
import { getBalance, listEntries } from '../../../core/credits/operate.js';
import type { JsonObject } from '../../../core/json.js';
import {
  MAX_DAYS,
  MAX_TRACE_DAYS,
  readAllUsage,
  readUsage,
  readUsageRequest,
  USAGE_BY,
  USUAL_DAYS,
} from '../../../core/usage/read-usage.js';
import { cursorOf, tokenOf } from '../../page-token.js';
import type { Answer } from '../host/answer.js';
import { CATALOG_SCHEMA, MODEL_SCHEMA, renderCatalog, renderModel } from '../render/catalog.js';
import {
  BALANCE_SCHEMA,
  DAY,
  renderBalance,
  renderStatement,
  renderUsage,
  renderUsageCsv,
  STATEMENT_SCHEMA,
  USAGE_SCHEMA,
} from '../render/credits.js';
import { CURSOR, LIMIT, type ProtectedOperation, type PublicOperation, readPage } from './operation.js';

/** A catalog snapshot never changes, so each part of it is rendered once. */
const rendered = new WeakMap<object, Answer>();

/** The answer of a list or a model of a snapshot, with its ETag. */
export function answerOnce(part: object, render: () => JsonObject, digests: Context['digests']): Answer {
  let found = rendered.get(part);
  if (!found) {
    const data = render();
    // Weak, because the envelope around the data differs with every request.
    const etag = `W/"${digests.ofJson(data).slice(0, 32)}"`;
    found = { data: { text: JSON.stringify(data) }, headers: { 'ETag': etag, 'Cache-Control': 'no-cache' } };
    rendered.set(part, found);
  }
  return found;
}

export const listModelsOperation: PublicOperation = {
  operationId: 'listModels',
  summary: 'List the models',
  description: 'Public. Use the exact model_key, operations and input_schema values from here.',
  status: 200,
  data: CATALOG_SCHEMA,
  errors: [],
  async answer({ catalog, digests }: Context) {
    const models = catalog.models();
    return answerOnce(models, () => renderCatalog(models), digests);
  },
};

export const getModelOperation: PublicOperation = {
  operationId: 'getModel',
  summary: 'Get one model',
  description: 'Public. The model as it is in the list.',
  status: 200,
  data: MODEL_SCHEMA,
  errors: ['NOT_FOUND'],
  async answer({ catalog, digests }, params) {
    const model = getModel({ catalog }, params['model_key'] ?? '');
    return answerOnce(model, () => renderModel(model), digests);
  },
};

export const getCreditsOperation: ProtectedOperation = {
  operationId: 'getCredits',
  summary: "Get the account's credit balance",
  status: 200,
  data: BALANCE_SCHEMA,
  errors: [],
  answer: async ({ context, caller }) => ({ data: renderBalance(await getBalance(context, caller)) }),
};

export const listEntriesOperation: ProtectedOperation = {
  operationId: 'listCreditEntries',
  summary: "List the account's ledger entries",
  description:
    'Every movement of credits of the account, newest first. `opening_credits` and every `available_change` of a page sum to its `closing_credits`; `opening_credits` are the `closing_credits` of the next page.',
  status: 200,
  query: { limit: LIMIT, cursor: CURSOR },
  data: STATEMENT_SCHEMA,
  errors: ['FIELD_INVALID'],
  async answer({ context, caller, query }) {
    const list = `statement of ${caller.accountId}`;
    const statement = await listEntries(context, caller, cursorOf(readPage(query), list, 'cursor'));
    return { data: renderStatement(statement, tokenOf(list, statement.nextCursor)) };
  },
};

export const getUsageOperation: ProtectedOperation = {
  operationId: 'getUsage',
  summary: 'Add up what was used',
  description: `Generations and credits of the account by day, model, key or client_trace_id, of ${USUAL_DAYS} days unless \`from\` and \`to\` say otherwise. The sums are those of the ledger's entries of these days, up to the newest when the request came. With \`Accept: text/csv\` the answer is CSV with all rows, whatever \`limit\` and \`cursor\` say.`,
  status: 200,
  query: {
    by: {
      type: 'string',
      enum: [...USAGE_BY],
      default: 'day',
      example: 'model',
      description: 'What the rows are added up by.',
    },
    from: { ...DAY, example: '2026-01-01', description: 'The first day, UTC.' },
    to: {
      ...DAY,
      example: '2026-01-31',
      description: `The last day, UTC; ${MAX_DAYS} days at most, and ${MAX_TRACE_DAYS} by client_trace_id.`,
    },
    limit: LIMIT,
    cursor: CURSOR,
  },
  data: USAGE_SCHEMA,
  hasCsv: true,
  errors: ['FIELD_INVALID'],
  async answer({ context, caller, query, wantsCsv }) {
    const request = readUsageRequest({ by: query['by'], from: query['from'], to: query['to'] }, context.clock.now());
    if (wantsCsv === true) {
      const groups = await readAllUsage(context, caller, request);
      return {
        stream: () => renderUsageCsv(request.by, groups),
        mediaType: 'text/csv; charset=utf-8; header=present',
        headers: { 'Content-Disposition': `attachment; filename="usage-${request.from}-${request.to}.csv"` },
      };
    }
    const list = `usage of ${caller.accountId} ${JSON.stringify(request)}`;
    const usage = await readUsage(context, caller, request, cursorOf(readPage(query), list, 'cursor'));
    return { data: renderUsage(usage, tokenOf(list, usage.nextCursor)) };
  },
};
