import { getModel } from '../../../core/catalog/find-model.js';
import type { Call, Identity, Machine, Models, Money, Work } from '../../../core/context.js';
import { getBalance } from '../../../core/credits/operate.js';
import { readStatement } from '../../../core/credits/own-app.js';
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
import { hasCurrent, prefersCsv } from '../host/request.js';
import { type Answer, sendStream } from '../host/send.js';
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
import {
  PAGE_PARAMETERS,
  type PublicContext,
  publicRoute,
  type QueryParameters,
  read,
  readPage,
  type Route,
} from './operation.js';

const USAGE_PARAMETERS: QueryParameters = {
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
  ...PAGE_PARAMETERS,
};

/** The catalog, and the credits of the account. */
export const MODEL_AND_CREDIT_ROUTES: readonly Route<Money & Work & Identity & Models & Machine & Call>[] = [
  publicRoute('/models', {
    operationId: 'listModels',
    summary: 'List the models',
    description: 'Public. Use the exact model_key, operations and input_schema values from here.',
    status: 200,
    data: CATALOG_SCHEMA,
    errors: [],
    async answer({ context }, ctx) {
      const models = context.catalog.models();
      return snapshotOf(ctx, models, () => renderCatalog(models));
    },
  }),
  publicRoute('/models/:model_key', {
    operationId: 'getModel',
    summary: 'Get one model',
    description: 'Public. The model as it is in the list.',
    status: 200,
    data: MODEL_SCHEMA,
    errors: ['NOT_FOUND'],
    async answer({ context }, ctx) {
      const model = getModel(context, ctx.params.model_key);
      return snapshotOf(ctx, model, () => renderModel(model));
    },
  }),
  read('GET', '/credits', 'credits:read', {
    operationId: 'getCredits',
    summary: "Get the account's credit balance",
    status: 200,
    data: BALANCE_SCHEMA,
    errors: [],
    answer: async ({ context, caller }) => ({ data: renderBalance(await getBalance(context, caller)) }),
  }),
  read('GET', '/credits/entries', 'credits:read', {
    operationId: 'listCreditEntries',
    summary: "List the account's ledger entries",
    description:
      'Every movement of credits of the account, newest first. `opening_credits` and every `available_change` of a page sum to its `closing_credits`; `opening_credits` are the `closing_credits` of the next page. A connected program receives the entries of its own App alone, without `opening_credits`, `closing_credits` and `available_after`, and those of people and services in the App without `credential_id`, `credential_name` and `client_trace_id`; a page may then have fewer entries than `limit`, or none, and still a `next_cursor`.',
    status: 200,
    query: PAGE_PARAMETERS,
    data: STATEMENT_SCHEMA,
    errors: ['FIELD_INVALID'],
    async answer({ context, caller, query }) {
      const list = `statement of ${caller.accountId}`;
      const statement = await readStatement(context, caller, cursorOf(readPage(query), list, 'cursor'));
      return { data: renderStatement(statement, tokenOf(list, statement.nextCursor)) };
    },
  }),
  read('GET', '/usage', 'credits:read', {
    operationId: 'getUsage',
    summary: 'Sum usage',
    description: `Generations and credits of the account by day, model, key, client_trace_id, modality, or day and modality, of ${USUAL_DAYS} days unless \`from\` and \`to\` say otherwise. The sums are those of the ledger's entries of these days, up to the newest when the request came. A connected program receives the usage of its own App alone; what people and services did in the App is in a row without credential_id or client_trace_id. With \`Accept: text/csv\` the answer is CSV with all rows, whatever \`limit\` and \`cursor\` say.`,
    status: 200,
    query: USAGE_PARAMETERS,
    data: USAGE_SCHEMA,
    otherMediaType: 'text/csv',
    errors: ['FIELD_INVALID'],
    async answer({ context, caller, query }, ctx) {
      ctx.res.setHeader('Vary', 'Accept');
      const request = readUsageRequest({ by: query['by'], from: query['from'], to: query['to'] }, context.clock.now());
      if (prefersCsv(ctx.req)) {
        const groups = await readAllUsage(context, caller, request);
        return sendStream(ctx, {
          stream: () => renderUsageCsv(request.by, groups),
          mediaType: 'text/csv; charset=utf-8; header=present',
          headers: { 'Content-Disposition': `attachment; filename="usage-${request.from}-${request.to}.csv"` },
        });
      }
      const list = `usage of ${caller.accountId} ${JSON.stringify(request)}`;
      const usage = await readUsage(context, caller, request, cursorOf(readPage(query), list, 'cursor'));
      return { data: renderUsage(usage, tokenOf(list, usage.nextCursor)) };
    },
  }),
];

/** A catalog snapshot never changes, so each part of it is rendered once. */
const SNAPSHOTS = new WeakMap<object, { readonly data: string; readonly etag: string }>();

/** A list or a model of a snapshot with its ETag. Answers with 304 if the client has it. */
function snapshotOf(ctx: PublicContext<Machine>, part: object, render: () => JsonObject): Answer | undefined {
  let snapshot = SNAPSHOTS.get(part);
  if (!snapshot) {
    const data = render();
    // The ETag is weak because the envelope around the data differs with every request.
    snapshot = { data: JSON.stringify(data), etag: `W/"${ctx.state.context.digests.ofJson(data).slice(0, 32)}"` };
    SNAPSHOTS.set(part, snapshot);
  }
  const headers = { 'ETag': snapshot.etag, 'Cache-Control': 'no-cache' };
  if (!hasCurrent(ctx.req, snapshot.etag)) return { data: snapshot.data, headers };
  ctx.set(headers);
  ctx.status = 304;
  return undefined;
}
