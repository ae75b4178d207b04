/** Parts of what the operator's area sends. Core has the rules; these keep out what no page sends. */
export const OPERATION_ID = { type: 'string', format: 'uuid' } as const;
export const REASON = { type: 'string', minLength: 1, maxLength: 1_000, pattern: '\\S' } as const;
export const CREDITS = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
} as const;
