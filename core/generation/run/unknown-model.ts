import type { Model } from '../../catalog/model.js';
import type { Context } from '../../context.js';
import type { Provider } from '../../ports/provider.js';
import { changeGeneration } from '../change-generation.js';
import { isTerminal, type Generation } from '../generation.js';
import { settleGeneration } from '../settle-generation.js';
import { taskError, type TaskError } from '../task-errors.js';
import { wake } from '../wake.js';

export interface Execution {
  readonly model: Model;
  readonly provider: Provider;
}

/**
 * The model and provider that run a generation in this process, or undefined if its catalog lacks the model or the
 * provider is not connected.
 */
export function executionOf(
  { catalog, providers }: Pick<Context, 'catalog' | 'providers'>,
  g: Generation,
): Execution | undefined {
  const model = catalog.find(g.modelKey);
  const provider = model && providers.find(model.provider);
  return model && provider ? { model, provider } : undefined;
}

/**
 * For a process that does not know the model: another one may, during an upgrade or once the catalog was reloaded. So
 * the generation is left as it is and examined later, each time after as long as it has been idle, within the bounds of
 * a retry. Past its deadline it fails without charge.
 */
export async function leaveToOthers(context: Context, g: Generation): Promise<null> {
  if (isTerminal(g.status)) return null;
  const now = context.clock.now();
  const deadlineAt = deadlineOf(g);
  if (now > deadlineAt) return fail(context, g);
  const { retryBaseMs, retryCapMs } = context.settings;
  const delayMs = Math.min(retryCapMs, Math.max(retryBaseMs, now - g.updatedAt));
  wake(context, g.generationId, Math.min(now + delayMs, deadlineAt + 1));
  return null;
}

/** The error of a generation that no worker ran before its deadline, as far as this process can tell. */
export function lateError(context: Pick<Context, 'catalog' | 'providers'>, g: Generation): TaskError {
  return taskError(executionOf(context, g) === undefined ? 'MODEL_UNAVAILABLE' : 'TASK_TIMEOUT');
}

/** When a generation that no worker runs ends. */
export function deadlineOf(g: Generation): number {
  return g.status === 'queued' ? g.terms.queueDeadlineAt : (g.runDeadlineAt ?? Infinity);
}

async function fail(context: Context, g: Generation): Promise<null> {
  const event = g.status === 'queued' ? 'give-up' : 'expire';
  const { generation, refused } = await changeGeneration(context, g, { event, error: taskError('MODEL_UNAVAILABLE') });
  if (refused === undefined) await settleGeneration(context, generation);
  return null;
}
