import { readAllUsage, readUsage } from '../../../../core/usage/read-usage.js';
import {
  MAX_DAYS,
  MAX_TRACE_DAYS,
  readUsageRequest,
  USAGE_BY,
  USUAL_DAYS,
} from '../../../../core/usage/usage-request.js';
import { cursorOf, tokenOf } from '../../../requests/page-token.js';
import { DAY, renderUsage, renderUsageCsv, USAGE_SCHEMA } from '../../render/usage.js';
import type { ProtectedOperation } from '../operation.js';
import { CURSOR, LIMIT, readPage } from '../paging.js';

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
