import type { Statement, StatementEntry } from '../../../core/credits/list-entries.js';
import { CREDITS, NEXT_CURSOR, TIMESTAMP, UUID } from './schema-parts.js';
import { timestamp } from './timestamp.js';
import type { TitledSchema } from './titled-schema.js';

const ENTRY_SCHEMA: TitledSchema = {
  title: 'LedgerEntry',
  type: 'object',
  required: ['sequence', 'kind', 'credits', 'available_change', 'available_after', 'created_at'],
  properties: {
    sequence: { type: 'integer', minimum: 1, description: 'Number of the entry in its account, without gaps.' },
    kind: { type: 'string', enum: ['grant', 'adjustment', 'hold', 'charge', 'release'] },
    credits: { ...CREDITS, description: 'How many credits moved.' },
    available_change: {
      type: 'integer',
      description: 'What it changed the available credits by: 0 for a charge, which takes what was held.',
    },
    available_after: CREDITS,
    created_at: TIMESTAMP,
    generation_id: UUID,
    model_key: { type: 'string' },
    client_trace_id: { type: 'string' },
    credential_id: { type: 'string', description: 'What the generation was created with.' },
    credential_name: { type: 'string', description: 'Absent once there is no such credential any more.' },
    reason: {
      type: 'string',
      description: "The operator's reason for a grant or an adjustment; `failed` where a generation failed.",
    },
  },
};

export const STATEMENT_SCHEMA: TitledSchema = {
  title: 'Statement',
  type: 'object',
  required: ['entries', 'opening_credits', 'closing_credits'],
  properties: {
    entries: { type: 'array', items: ENTRY_SCHEMA, description: 'Newest first.' },
    opening_credits: { ...CREDITS, description: 'Available before the oldest entry of the page.' },
    closing_credits: { ...CREDITS, description: 'Available after the newest entry of the page.' },
    next_cursor: NEXT_CURSOR,
  },
};

/** What is undefined is left out of the JSON. */
export function renderStatement({ entries, openingCredits, closingCredits }: Statement, nextCursor?: string): object {
  return {
    entries: entries.map(renderEntry),
    opening_credits: openingCredits,
    closing_credits: closingCredits,
    next_cursor: nextCursor,
  };
}

function renderEntry({ entry, availableChange, credentialName }: StatementEntry): object {
  const { sequence, kind, credits, availableAfter, at, generationId, attribution, reason } = entry;
  return {
    sequence,
    kind,
    credits,
    available_change: availableChange,
    available_after: availableAfter,
    created_at: timestamp(at),
    generation_id: generationId,
    model_key: attribution?.modelKey,
    client_trace_id: attribution?.clientTraceId,
    credential_id: attribution?.credentialId,
    credential_name: credentialName,
    reason,
  };
}
