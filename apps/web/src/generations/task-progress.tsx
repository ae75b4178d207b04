import type { Task } from '../api-types.js';
import { isOpen, STATUS_TEXTS } from './task-text.js';

interface TaskProgressProps {
  readonly task: Task;
  /** 0 to 1, where its provider says. */
  readonly progress: number | undefined;
  readonly isCancelling: boolean;
}

/** How far one is that has not ended. */
export function TaskProgress({ task, progress, isCancelling }: TaskProgressProps) {
  if (!isOpen(task)) return null;
  const text = isCancelling ? 'Cancelling' : STATUS_TEXTS[task.status];
  return (
    <div class="task-progress">
      <p aria-live="polite">
        {progress === undefined || isCancelling ? `${text}…` : `${text}: ${Math.floor(progress * 100)} %`}
      </p>
      <progress
        aria-label="Progress of the generation"
        {...(progress === undefined ? {} : { value: progress, max: 1 })}
      />
    </div>
  );
}
