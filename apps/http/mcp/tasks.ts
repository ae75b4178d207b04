import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Call, Files, Machine, Money, Webhooks, Work } from '../../../core/context.js';
import { creditsText } from '../../../core/credits/account.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import {
  type Generation,
  type GenerationStatus,
  type GenerationView,
  isTerminal,
  type Output,
  type OutputView,
} from '../../../core/generation/generation.js';
import { getGeneration, viewGeneration } from '../../../core/generation/read-generations.js';
import type { Preview, Previews } from '../../../core/ports/media.js';
import { renderTask } from '../render/generation.js';
import { timestamp } from '../render/schema-parts.js';
import type { Exchange } from './exchange.js';

/** The extension with which a client receives a handle instead of a result, and requests the result later. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Whether a client's capabilities name the extension. */
export function takesTasks(capabilities: unknown): boolean {
  if (typeof capabilities !== 'object' || capabilities === null) return false;
  const { extensions } = capabilities as { readonly extensions?: unknown };
  return typeof extensions === 'object' && extensions !== null && TASKS_EXTENSION in extensions;
}

interface TaskMethod {
  readonly scope: Scope;
  readonly rate: 'reads' | 'writes';
  readonly answer: (context: Exchange['context'], caller: Caller, taskId: string) => Promise<Record<string, unknown>>;
}

/** The methods of the extension, each with its scope and its rate limit. */
export const TASK_METHODS: ReadonlyMap<string, TaskMethod> = new Map([
  ['tasks/get', { scope: 'generations:read', rate: 'reads', answer: getTask }],
  ['tasks/update', { scope: 'generations:write', rate: 'writes', answer: updateTask }],
  ['tasks/cancel', { scope: 'generations:write', rate: 'writes', answer: cancelTask }],
]);

/** A handle instead of a result. The generation is the task, and their ids are the same. */
export function taskHandle(context: Machine, generation: Generation): CallToolResult {
  return { resultType: 'task', ...handleOf(context, generation) } as unknown as CallToolResult;
}

/**
 * A task as returned by `tasks/get`, with the result of the call once there is one. A failed generation is a
 * completed call. Throws TASK_NOT_FOUND and GENERATION_JOB_NOT_FOUND.
 */
async function getTask(
  context: Work & Files & Machine & Call,
  caller: Caller,
  taskId: string,
): Promise<Record<string, unknown>> {
  const generation = await getGeneration(context, caller, taskId);
  const handle = handleOf(context, generation);
  if (handle.status !== 'completed') return { ...handle };
  return { ...handle, result: { resultType: 'complete', ...(await taskResult(context, generation)) } };
}

/** No task waits for input: a task that there is takes any and does nothing. Throws as `getTask` does. */
async function updateTask(context: Work & Call, caller: Caller, taskId: string): Promise<Record<string, unknown>> {
  await getGeneration(context, caller, taskId);
  return {};
}

/** Throws TASK_NOT_FOUND. */
async function cancelTask(
  context: Money & Work & Webhooks & Machine & Call,
  caller: Caller,
  taskId: string,
): Promise<Record<string, unknown>> {
  await cancelGeneration(context, caller, taskId);
  return {};
}

const SENTENCES: Readonly<Record<GenerationStatus, string>> = {
  queued: 'The generation waits for its turn.',
  running: 'The generation is running.',
  succeeded: 'The generation succeeded.',
  failed: 'The generation failed; the result says why.',
  cancelled: 'The generation was cancelled.',
};

function handleOf({ settings }: Machine, generation: Generation) {
  const { generationId, status, createdAt, updatedAt } = generation;
  return {
    taskId: generationId,
    status: status === 'cancelled' ? 'cancelled' : isTerminal(status) ? 'completed' : 'working',
    statusMessage: SENTENCES[status],
    createdAt: timestamp(createdAt),
    lastUpdatedAt: timestamp(updatedAt),
    ttlMs: settings.taskRetentionMs,
    pollIntervalMs: settings.pollAfterMs,
  };
}

type Content = CallToolResult['content'][number];

/** Limits of previews, so that the whole response stays below a million characters. */
const MAX_PREVIEWS = 4;
const MAX_PREVIEW_BYTES = 140_000;

/**
 * A generation as a tool shows it: the task of REST, a sentence, a small picture of each of the first results, and a
 * link to each of the files.
 */
export async function taskResult(context: Files & Machine & Call, generation: Generation): Promise<CallToolResult> {
  const view = await viewGeneration(context, generation);
  const task = JSON.parse(JSON.stringify(renderTask(view))) as Record<string, unknown>;
  return {
    content: [
      { type: 'text', text: sentenceOf(view, context.settings.outputUrlMs) },
      ...(await previewsOf(context, view.outputs)),
      ...view.outputs.map(linkTo),
    ],
    structuredContent: task,
  };
}

const MINUTE_MS = 60_000;

function sentenceOf({ generation, outputs }: GenerationView, outputUrlMs: number): string {
  const { generationId, status, modality, chargedCredits, reservedCredits, error } = generation;
  if (!isTerminal(status))
    return `Generation ${generationId} is ${status}; ${creditsText(reservedCredits)} ${reservedCredits === 1 ? 'is' : 'are'} reserved for it. Call get_generation with this id to wait for its end.`;
  const cost = creditsText(chargedCredits);
  if (status === 'failed')
    return `Generation ${generationId} failed and cost ${cost}: ${error?.code ?? 'unknown'}: ${error?.message ?? 'no reason is known'}`;
  if (status === 'cancelled') return `Generation ${generationId} was cancelled and cost ${cost}.`;
  const made = outputs.length === 1 ? `1 ${modality}` : `${outputs.length} ${modality}s`;
  const links =
    outputs.length === 0
      ? 'The files are no longer kept.'
      : `The links to the full files work for ${Math.round(outputUrlMs / MINUTE_MS)} minutes; get_generation gives new ones.`;
  return `Generation ${generationId} succeeded with ${made} for ${cost}. ${links}`;
}

function linkTo({ output, url, filename }: OutputView): Content {
  const size = `${output.widthPx}x${output.heightPx} pixels`;
  const duration = output.durationMs === undefined ? '' : `, ${output.durationMs / 1_000} s`;
  return {
    type: 'resource_link',
    uri: url,
    name: filename,
    mimeType: output.contentType,
    size: output.byteSize,
    description: `The full ${output.kind}: ${size}${duration}.`,
  };
}

async function previewsOf(context: Files & Call, outputs: readonly OutputView[]): Promise<Content[]> {
  const images = outputs.filter(({ output }) => output.kind === 'image').slice(0, MAX_PREVIEWS);
  const made = await Promise.all(images.map(({ output }) => previewOf(context, output)));
  return made.filter((preview) => preview !== undefined);
}

/** A result is returned even if its preview fails. */
async function previewOf(context: Files & Call, output: OutputView['output']): Promise<Content | undefined> {
  const preview = await previewOfOutput(context, output, MAX_PREVIEW_BYTES).catch(() => null);
  if (preview === null) return undefined;
  return { type: 'image', mimeType: preview.mediaType, data: Buffer.from(preview.bytes).toString('base64') };
}

/** The size of the preview cache of a process: repeated requests cost no more decoding. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** The previews that were made last, by the key of the object, whose bytes never change. */
const KEPT = new WeakMap<Previews, Map<string, Preview>>();

function keep(kept: Map<string, Preview>, key: string, preview: Preview): void {
  kept.delete(key);
  kept.set(key, preview);
  let bytes = [...kept.values()].reduce((sum, one) => sum + one.bytes.byteLength, 0);
  for (const [oldest, { bytes: dropped }] of kept) {
    if (bytes <= MAX_KEPT_BYTES) return;
    kept.delete(oldest);
    bytes -= dropped.byteLength;
  }
}

/** A small picture of an output, of `maxBytes` at most; null where there is none to be had. */
async function previewOfOutput(
  { objects, previews, call }: Files & Call,
  { objectKey, byteSize, mark }: Output,
  maxBytes: number,
): Promise<Preview | null> {
  const kept = KEPT.get(previews) ?? new Map<string, Preview>();
  KEPT.set(previews, kept);
  const found = kept.get(objectKey);
  if (found !== undefined) return found;
  const bytes = await objects.read(objectKey);
  if (bytes === null) return null;
  const made = await previews.ofImage(
    bytes,
    { sourceBytes: byteSize, maxBytes, ...(mark === undefined ? {} : { mark }) },
    call,
  );
  if (made !== null) keep(kept, objectKey, made);
  return made;
}
