import type { FakeAnswer } from './fake-server.js';

/** Whose documentation a fake answers by, where they differ. */
export type OpenAiVendor = 'openai' | 'localai' | 'vllm-omni' | 'sglang';

export interface ErrorBody {
  readonly type: string;
  readonly code: string | null;
  readonly param?: string;
  readonly moderation_details?: { readonly moderation_stage: string; readonly categories: readonly string[] };
}

export function openAiError(status: number, { param, ...error }: ErrorBody): FakeAnswer {
  return { status, json: { error: { message: 'Words of the server.', param: param ?? null, ...error } } };
}
