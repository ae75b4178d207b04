import type { UsageBy } from '../../core/usage/usage-request.js';

/** What the field with a row's group is called, by what usage is added up by. */
export const USAGE_NAMES = {
  day: 'day',
  model: 'model_key',
  key: 'credential_id',
  client_trace_id: 'client_trace_id',
} as const satisfies Record<UsageBy, string>;
