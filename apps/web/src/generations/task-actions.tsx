import { announce } from '../announce.js';
import type { Task } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { ActionButton } from '../parts/action-button.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { change, remove } from '../server.js';
import { isOpen } from './task-text.js';

interface TaskActionsProps {
  readonly appId: string;
  readonly task: Task;
  readonly isCancelling: boolean;
  readonly took: (task: Task) => void;
  readonly deleted: () => Promise<void>;
}

/** Cancels one that has not ended, and deletes one that has. */
export function TaskActions({ appId, task, isCancelling, took, deleted }: TaskActionsProps) {
  const path = inApp(appId, `/generations/${task.generation_id}`);
  if (isOpen(task)) return <CancelButton path={path} isCancelling={isCancelling} took={took} />;
  return (
    <ConfirmButton
      label="Delete"
      fullLabel="Delete this generation"
      question="Delete this generation?"
      consequence="What was asked for and what was made are removed. What it cost stays charged. This cannot be undone."
      doIt="Delete it"
      action={() => remove(path)}
      done={deleted}
    />
  );
}

interface CancelButtonProps {
  readonly path: string;
  readonly isCancelling: boolean;
  readonly took: (task: Task) => void;
}

export function CancelButton({ path, isCancelling, took }: CancelButtonProps) {
  const cancel = async (): Promise<void> => {
    const task = await change<Task>(`${path}/cancel`);
    took(task);
    announce(isOpen(task) ? 'It is asked to stop.' : 'It is cancelled.');
  };
  return (
    <ActionButton action={cancel} kind="danger" isDisabled={isCancelling}>
      {isCancelling ? 'Cancelling' : 'Cancel'}
    </ActionButton>
  );
}
