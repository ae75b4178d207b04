import type { Task } from '../api-types.js';
import { isOpen, STATUS_TEXTS } from './task-text.js';

interface TaskProgressProps {
  readonly task: Task;
  /** 0 to 1, where its provider says. */
  readonly progress: number | undefined;
  /** While it is queued: how many are before it. */
  readonly position: number | undefined;
  readonly isCancelling: boolean;
}

/** How far one is that has not ended. */
export function TaskProgress({ task, progress, position, isCancelling }: TaskProgressProps) {
  if (!isOpen(task)) return null;
  return (
    <div class="task-progress">
      <p aria-live="polite">{isCancelling ? 'Cancelling…' : textOf(task, progress, position)}</p>
      <progress
        aria-label="Progress of the generation"
        {...(progress === undefined ? {} : { value: progress, max: 1 })}
      />
    </div>
  );
}

function textOf({ status }: Task, progress: number | undefined, position: number | undefined): string {
  const text = STATUS_TEXTS[status];
  if (progress !== undefined) return `${text}: ${Math.floor(progress * 100)} %`;
  if (status === 'queued' && position !== undefined && position > 0) return `${text}, with ${position} before it…`;
  return `${text}…`;
}
