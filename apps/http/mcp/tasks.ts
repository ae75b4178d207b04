import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { type Generation, type GenerationStatus, isTerminal } from '../../../core/generation/generation.js';
import { getGeneration } from '../../../core/generation/read-generations.js';
import { timestamp } from '../render/schema-parts.js';
import { taskResult } from './task-result.js';

/** The extension by which a client takes a handle in place of a result, and asks for the result later. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Whether a client's capabilities name the extension. */
export function takesTasks(capabilities: unknown): boolean {
  if (typeof capabilities !== 'object' || capabilities === null) return false;
  const { extensions } = capabilities as { readonly extensions?: unknown };
  return typeof extensions === 'object' && extensions !== null && TASKS_EXTENSION in extensions;
}

/** What a method of the extension needs. */
export const TASK_METHODS: ReadonlyMap<string, { readonly scope: Scope; readonly rate: 'reads' | 'writes' }> = new Map([
  ['tasks/get', { scope: 'generations:read', rate: 'reads' }],
  ['tasks/update', { scope: 'generations:write', rate: 'writes' }],
  ['tasks/cancel', { scope: 'generations:write', rate: 'writes' }],
]);

/** A handle in place of a result. The generation is the task: its id is the task's. */
export function taskHandle({ settings }: Pick<Context, 'settings'>, generation: Generation): CallToolResult {
  return { resultType: 'task', ...handleOf({ settings }, generation) } as unknown as CallToolResult;
}

/**
 * A task as `tasks/get` answers it, with the result of the call once there is one. A generation that failed is a call
 * that was answered. Throws TASK_NOT_FOUND and GENERATION_JOB_NOT_FOUND.
 */
export async function getTask(context: Context, caller: Caller, taskId: string): Promise<Record<string, unknown>> {
  const generation = await getGeneration(context, caller, taskId);
  const handle = handleOf(context, generation);
  if (handle.status !== 'completed') return { ...handle };
  return { ...handle, result: { resultType: 'complete', ...(await taskResult(context, generation)) } };
}

/** No task waits for input: a task that there is takes any and does nothing. Throws as `getTask` does. */
export async function updateTask(context: Context, caller: Caller, taskId: string): Promise<Record<string, unknown>> {
  await getGeneration(context, caller, taskId);
  return {};
}

/** Throws TASK_NOT_FOUND. */
export async function cancelTask(context: Context, caller: Caller, taskId: string): Promise<Record<string, unknown>> {
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

interface Handle {
  readonly taskId: string;
  readonly status: 'working' | 'completed' | 'cancelled';
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
}

function handleOf({ settings }: Pick<Context, 'settings'>, generation: Generation): Handle {
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
