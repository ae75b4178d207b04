import type { Model } from '../../catalog/model.js';
import type { ProviderFailure } from '../../ports/provider.js';
import { taskError, type TaskErrorCode } from '../task-errors.js';

/**
 * Whether the model prefers a task run twice to one not run at all, if it is unknown whether its provider has the task.
 */
export function mayResubmit(model: Model): boolean {
  return model.onUnknownAcceptance === 'resubmit';
}

/** A failure that we state ourselves, with the message of its code where no other one is given. */
export function failure(code: TaskErrorCode, mayRetry: boolean, message?: string): ProviderFailure {
  return { code, message: taskError(code, message).message, mayRetry };
}
