import { useState } from 'preact/hooks';
import { announce } from '../announce.js';
import type { Task } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { change, remove, sentenceOf } from '../server.js';
import { isOpen } from './task-text.js';
import { Fault } from '../parts/fault.js';

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
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const cancel = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    try {
      const task = await change<Task>(`${path}/cancel`);
      took(task);
      announce(isOpen(task) ? 'It is asked to stop.' : 'It is cancelled.');
    } catch (error) {
      setFault(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        class="outline small danger"
        aria-busy={isBusy}
        disabled={isBusy || isCancelling}
        onClick={() => void cancel()}
      >
        {isCancelling ? 'Cancelling' : 'Cancel'}
      </button>
      <Fault text={fault} />
    </>
  );
}
