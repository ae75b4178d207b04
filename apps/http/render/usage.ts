import type { Usage, UsageGroup } from '../../../core/usage/read-usage.js';
import { USAGE_BY, type UsageBy } from '../../../core/usage/usage-request.js';
import { namedSums, USAGE_NAMES } from '../../requests/usage-names.js';
import { csvLine, type CsvValue } from './csv.js';
import { CREDITS, NEXT_CURSOR } from './schema-parts.js';
import type { TitledSchema } from './titled-schema.js';

/** A day of a request or an answer. */
export const DAY = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' } as const;

const SUMS = {
  generations: { type: 'integer', minimum: 0, description: 'Generations that were accepted.' },
  failed: { type: 'integer', minimum: 0, description: 'Generations that ended as failed.' },
  reserved_credits: { ...CREDITS, description: 'Held when generations were accepted.' },
  charged_credits: { ...CREDITS, description: 'Taken for what was delivered.' },
  released_credits: { ...CREDITS, description: 'Given back from what was held.' },
} as const;
const SUM_NAMES = Object.keys(SUMS);

/** Characters of CSV that are sent at a time, about. */
const PIECE = 16_384;

export const USAGE_SCHEMA: TitledSchema = {
  title: 'Usage',
  type: 'object',
  required: ['by', 'from', 'to', 'usage', 'total'],
  properties: {
    by: { type: 'string', enum: [...USAGE_BY] },
    from: { ...DAY, description: 'The first day, UTC.' },
    to: { ...DAY, description: 'The last day, UTC.' },
    usage: {
      type: 'array',
      description:
        'In the order of `day`, `model_key`, `credential_id` or `client_trace_id`. What was not used is left out.',
      items: {
        title: 'UsageRow',
        type: 'object',
        required: SUM_NAMES,
        properties: {
          day: { ...DAY, description: 'By day.' },
          model_key: { type: 'string', description: 'By model; absent for entries that do not say.' },
          credential_id: { type: 'string', description: 'By key; absent for entries that do not say.' },
          credential_name: { type: 'string', description: 'By key; absent once there is no such credential any more.' },
          client_trace_id: { type: 'string', description: 'By trace id; absent for entries without one.' },
          ...SUMS,
        },
      },
    },
    total: {
      title: 'UsageSums',
      type: 'object',
      description: 'Of all days from `from` to `to`.',
      required: SUM_NAMES,
      properties: SUMS,
    },
    next_cursor: NEXT_CURSOR,
  },
};

/** What is undefined is left out of the JSON. */
export function renderUsage({ request, groups, total }: Usage, nextCursor?: string): object {
  const { by, from, to } = request;
  return {
    by,
    from,
    to,
    usage: groups.map((group) => ({
      [USAGE_NAMES[by]]: group.group === '' ? undefined : group.group,
      credential_name: group.credentialName,
      ...namedSums(group),
    })),
    total: namedSums(total),
    next_cursor: nextCursor,
  };
}

/** A line of names, then one for each group; some lines at a time. */
export async function* renderUsageCsv(by: UsageBy, groups: AsyncIterable<UsageGroup>): AsyncGenerator<string> {
  const names = by === 'key' ? [USAGE_NAMES[by], 'credential_name'] : [USAGE_NAMES[by]];
  let lines = csvLine([...names, ...SUM_NAMES]);
  for await (const group of groups) {
    lines += csvLine([...namesOf(by, group), ...Object.values(namedSums(group))]);
    if (lines.length < PIECE) continue;
    yield lines;
    lines = '';
  }
  yield lines;
}

function namesOf(by: UsageBy, { group, credentialName }: UsageGroup): CsvValue[] {
  return by === 'key' ? [group, credentialName] : [group];
}
