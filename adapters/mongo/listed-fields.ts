import type { GenerationRecord } from '../../core/generation/generation.js';

/** What an App's generations are listed by. Tombstones have none of it, and so has what an older release wrote. */
export interface ListedFields {
  readonly createdAt?: number;
  readonly status?: string;
  readonly model?: string;
  readonly trace?: string;
}

export function listedFields(record: GenerationRecord): ListedFields {
  if (record.kind !== 'generation') return {};
  const { createdAt, status, modelKey, clientTraceId } = record;
  return { createdAt, status, model: modelKey, ...(clientTraceId === undefined ? {} : { trace: clientTraceId }) };
}
