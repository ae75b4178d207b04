import { MODALITIES } from '../../../core/generation/generation.js';
import { ENTRY_KINDS } from '../../../core/credits/account.js';
import type { Balance } from '../../../core/credits/operate.js';
import type { ShownEntry, ShownStatement } from '../../../core/credits/own-app.js';
import { dayAndModality, type Usage, USAGE_BY, type UsageBy, type UsageGroup } from '../../../core/usage/read-usage.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import { CREDITS, NEXT_CURSOR, record, TIMESTAMP, timestamp, UUID } from './schema-parts.js';

export const BALANCE_SCHEMA = record('Balance', {
  mode: { type: 'string', enum: ['formal'] },
  balance_credits: CREDITS,
  available_credits: { ...CREDITS, description: 'Currently equal to balance_credits.' },
  remaining_credits: { ...CREDITS, description: 'Currently equal to balance_credits.' },
  currency: { type: 'string', description: "The account's unit of credits. No cash value follows from it." },
});

export function renderBalance({ availableCredits, currency }: Balance): object {
  return {
    mode: 'formal',
    balance_credits: availableCredits,
    available_credits: availableCredits,
    remaining_credits: availableCredits,
    currency,
  };
}

const NOT_FOR_PROGRAMS = 'Absent for a connected program, which does not see the entries of others.';

const NOT_OF_OTHERS = 'Absent for a connected program where a person or a service acted in its App.';

const ENTRY_SCHEMA = record(
  'LedgerEntry',
  {
    sequence: { type: 'integer', minimum: 1, description: 'Number of the entry in its account, without gaps.' },
    kind: { type: 'string', enum: [...ENTRY_KINDS] },
    credits: { ...CREDITS, description: 'How many credits moved.' },
    available_change: {
      type: 'integer',
      description: 'What it changed the available credits by: 0 for a charge, which takes what was held.',
    },
    available_after: { ...CREDITS, description: NOT_FOR_PROGRAMS },
    created_at: TIMESTAMP,
    generation_id: UUID,
    model_key: { type: 'string' },
    client_trace_id: { type: 'string', description: NOT_OF_OTHERS },
    credential_id: { type: 'string', description: `What the generation was created with. ${NOT_OF_OTHERS}` },
    credential_name: {
      type: 'string',
      description: 'Absent once there is no such credential any more. A connected program sees no name but its own.',
    },
    reason: {
      type: 'string',
      description: "The operator's reason for a grant or an adjustment; `failed` where a generation failed.",
    },
  },
  ['available_after', 'generation_id', 'model_key', 'client_trace_id', 'credential_id', 'credential_name', 'reason'],
);

export const STATEMENT_SCHEMA = record(
  'Statement',
  {
    entries: { type: 'array', items: ENTRY_SCHEMA, description: 'Newest first.' },
    opening_credits: { ...CREDITS, description: `Available before the oldest entry of the page. ${NOT_FOR_PROGRAMS}` },
    closing_credits: { ...CREDITS, description: `Available after the newest entry of the page. ${NOT_FOR_PROGRAMS}` },
    next_cursor: NEXT_CURSOR,
  },
  ['opening_credits', 'closing_credits', 'next_cursor'],
);

/** Undefined fields are left out of the JSON. */
export function renderStatement(
  { entries, openingCredits, closingCredits }: ShownStatement,
  nextCursor?: string,
): object {
  const isWhole = closingCredits !== undefined;
  return {
    entries: entries.map((entry) => ({
      ...renderEntry(entry),
      ...(isWhole ? { available_after: entry.entry.availableAfter } : {}),
    })),
    opening_credits: openingCredits,
    closing_credits: closingCredits,
    next_cursor: nextCursor,
  };
}

function renderEntry({ entry, availableChange, credentialName }: ShownEntry): object {
  const { sequence, kind, credits, at, generationId, attribution, reason } = entry;
  return {
    sequence,
    kind,
    credits,
    available_change: availableChange,
    created_at: timestamp(at),
    generation_id: generationId,
    model_key: attribution?.modelKey,
    client_trace_id: attribution?.clientTraceId,
    credential_id: attribution?.credentialId,
    credential_name: credentialName,
    reason,
  };
}

export type CsvValue = string | number | undefined;

/** The characters by which a spreadsheet recognises a formula, or a line break. */
const FORMULA = /^[=+\-@\t\r\n]/;

/**
 * One line of CSV (RFC 4180), with its line break. Text that a spreadsheet would read as a formula is preceded by an
 * apostrophe; numbers are not. An absent value is an empty field.
 */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(field).join(',')}\r\n`;
}

function field(value: CsvValue): string {
  if (value === undefined || typeof value === 'number') return String(value ?? '');
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

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

export const USAGE_SCHEMA = record(
  'Usage',
  {
    by: { type: 'string', enum: [...USAGE_BY] },
    from: { ...DAY, description: 'The first day, UTC.' },
    to: { ...DAY, description: 'The last day, UTC.' },
    usage: {
      type: 'array',
      description:
        'In the order of `day`, `model_key`, `credential_id`, `client_trace_id` or `modality`. What was not used is left out.',
      items: record(
        'UsageRow',
        {
          day: { ...DAY, description: 'By day.' },
          model_key: { type: 'string', description: 'By model; absent for entries that do not say.' },
          credential_id: { type: 'string', description: 'By key; absent for entries that do not say.' },
          credential_name: { type: 'string', description: 'By key; absent once there is no such credential any more.' },
          client_trace_id: { type: 'string', description: 'By trace id; absent for entries without one.' },
          modality: {
            type: 'string',
            enum: [...MODALITIES, 'unknown'],
            description: 'By modality, or by day and modality. unknown: of a model that is not known any more.',
          },
          ...SUMS,
        },
        ['day', 'model_key', 'credential_id', 'credential_name', 'client_trace_id', 'modality'],
      ),
    },
    total: record('UsageSums', SUMS, [], 'Of all days from `from` to `to`.'),
    next_cursor: NEXT_CURSOR,
  },
  ['next_cursor'],
);

/** The names of the fields that tell a row's group, by what usage is added up by. */
export const USAGE_NAMES = {
  day: ['day'],
  model: ['model_key'],
  key: ['credential_id', 'credential_name'],
  client_trace_id: ['client_trace_id'],
  modality: ['modality'],
  day_modality: ['day', 'modality'],
} as const satisfies Record<UsageBy, readonly string[]>;

/** The values of these fields, in their order; undefined where there is none. */
export function usageNamesOf(
  by: UsageBy,
  { group, credentialName }: Pick<UsageGroup, 'group' | 'credentialName'>,
): readonly (string | undefined)[] {
  if (by === 'day_modality') return Object.values(dayAndModality(group));
  const value = group === '' ? undefined : group;
  return by === 'key' ? [value, credentialName] : [value];
}

/** Sums by the names of their fields, in the order of tables. */
function namedSums({ generations, failed, reservedCredits, chargedCredits, releasedCredits }: UsageSums) {
  return {
    generations,
    failed,
    reserved_credits: reservedCredits,
    charged_credits: chargedCredits,
    released_credits: releasedCredits,
  };
}

/** Undefined fields are left out of the JSON. */
export function renderUsage({ request, groups, total }: Usage, nextCursor?: string): object {
  const { by, from, to } = request;
  return {
    by,
    from,
    to,
    usage: groups.map((group) => {
      const values = usageNamesOf(by, group);
      return {
        ...Object.fromEntries(USAGE_NAMES[by].map((name, index) => [name, values[index]])),
        ...namedSums(group),
      };
    }),
    total: namedSums(total),
    next_cursor: nextCursor,
  };
}

/** A line of names, then one for each group; some lines at a time. */
export async function* renderUsageCsv(by: UsageBy, groups: AsyncIterable<UsageGroup>): AsyncGenerator<string> {
  let lines = csvLine([...USAGE_NAMES[by], ...SUM_NAMES]);
  for await (const group of groups) {
    lines += csvLine([...usageNamesOf(by, group), ...Object.values(namedSums(group))]);
    if (lines.length < PIECE) continue;
    yield lines;
    lines = '';
  }
  yield lines;
}
