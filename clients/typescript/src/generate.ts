import { randomKey } from './bytes.js';
import { downloadOutputs, type Downloaded } from './download.js';
import { GenerationFailed, TooExpensive } from './errors.js';
import type { Estimate, GenerationRequest, GenerationTask, Model } from './generated/api.js';
import { uploadReference, type Reference } from './upload.js';
import type { Transport } from './transport.js';
import { askToCancel, waitFor, type WaitOptions } from './wait.js';

/** A generation request. Models that say so need no prompt. */
export type CreateRequest = Omit<GenerationRequest, 'prompt'> & Partial<Pick<GenerationRequest, 'prompt'>>;

/** A generation request; `references` are uploaded for it. */
export interface GenerateInput extends Omit<CreateRequest, 'operation'> {
  /** The model's first one when absent. */
  readonly operation?: GenerationRequest['operation'];
  readonly references?: readonly Reference[];
}

export interface GenerateOptions extends WaitOptions {
  /** Nothing is created if the estimate is above this many credits; `TooExpensive` is thrown. */
  readonly maxCredits?: number;
  /** 1 to 255 visible ASCII characters. The same again finds the same generation; a random one when absent. */
  readonly idempotencyKey?: string;
  /** Called with the task as soon as it is accepted. */
  readonly onAccepted?: (task: GenerationTask) => void;
  /** Whether the outputs are fetched; true when absent. */
  readonly download?: boolean;
  /** `cancel` when absent. */
  readonly onAbort?: 'cancel' | 'leave';
}

export interface Generated {
  readonly task: GenerationTask;
  /** In the order of the outputs; empty when `download` is false. */
  readonly files: readonly Downloaded[];
}

/**
 * Makes pictures or a video: uploads the references, creates the generation, waits for its end and downloads. However
 * often requests are repeated, one generation is created. Throws `GenerationFailed` if it ends without a success.
 */
export async function generate(
  transport: Transport,
  input: GenerateInput,
  options: GenerateOptions = {},
): Promise<Generated> {
  const { signal, maxCredits, idempotencyKey = randomKey(), onAbort = 'cancel', download = true } = options;
  const request = await completeRequest(transport, input, idempotencyKey, signal);
  if (maxCredits !== undefined) {
    const { data } = await transport.post<Estimate>('/generations/estimate', request, { signal });
    if (data.estimated_credits > maxCredits) throw new TooExpensive(data.estimated_credits, maxCredits);
  }
  const accepted = await transport.post<GenerationTask>('/generations', request, {
    signal,
    idempotencyKey,
    settleBeforeAbort: true,
  });
  options.onAccepted?.(accepted.data);
  if (signal?.aborted && onAbort === 'cancel') await askToCancel(transport, accepted.data);
  signal?.throwIfAborted();
  const task = await waitFor(transport, accepted.data, { ...options, onAbort });
  if (task.status !== 'succeeded') throw new GenerationFailed(task);
  return { task, files: download ? await downloadOutputs(task, { signal }) : [] };
}

async function completeRequest(
  transport: Transport,
  { references = [], operation, reference_upload_ids, ...others }: GenerateInput,
  intent: string,
  signal: AbortSignal | undefined,
): Promise<CreateRequest> {
  const ids = [...(reference_upload_ids ?? [])];
  for (const reference of references) {
    const id = await uploadReference(transport, reference, { signal, intent });
    // Files of one name, role and content are one upload, which a generation takes once.
    if (!ids.includes(id)) ids.push(id);
  }
  return {
    ...others,
    operation: operation ?? (await firstOperation(transport, others.model_key, signal)),
    ...(ids.length === 0 ? {} : { reference_upload_ids: ids }),
  };
}

async function firstOperation(
  transport: Transport,
  modelKey: string,
  signal: AbortSignal | undefined,
): Promise<GenerationRequest['operation']> {
  const { data } = await transport.get<Model>(`/models/${encodeURIComponent(modelKey)}`, { signal });
  return data.operations[0] ?? 'image_generation';
}
