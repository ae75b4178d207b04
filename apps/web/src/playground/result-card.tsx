import type { Task } from '../api-types.js';
import { CancelButton } from '../generations/task-actions.js';
import { OutputList } from '../generations/output-list.js';
import { TaskProgress } from '../generations/task-progress.js';
import { costText, isOpen, STATUS_TEXTS } from '../generations/task-text.js';
import { useFollowedTask } from '../generations/use-followed-task.js';
import { inApp } from '../apps/usable-apps.js';
import { Card } from '../parts/card.js';
import { SectionLink } from '../parts/section-link.js';
import { useEffect } from 'preact/hooks';
import { announce } from '../announce.js';
import { Fault } from '../parts/fault.js';

interface ResultCardProps {
  readonly appId: string;
  readonly created: Task;
  readonly currency: string;
  readonly again: () => void;
  /** After its end, when what was not used is given back. */
  readonly ended: () => void;
}

/** What became of what was created last. */
export function ResultCard({ appId, created, currency, again, ended }: ResultCardProps) {
  const {
    task = created,
    times,
    progress,
    position,
    fault,
    reload,
    take,
  } = useFollowedTask(appId, created.generation_id, created);
  const { status } = task;
  useEffect(() => {
    if (isOpen({ status })) return;
    announce(
      `The generation has ${status === 'succeeded' ? 'succeeded' : `ended: ${STATUS_TEXTS[status].toLowerCase()}`}.`,
    );
    ended();
    // Once, when it ends.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [status]);
  const isCancelling = times.some(({ type }) => type === 'cancel_requested');
  return (
    <Card id="result" title={STATUS_TEXTS[status]} note={costText(task, currency)}>
      <Fault text={fault} />
      <TaskProgress task={task} progress={progress} position={position} isCancelling={isCancelling} />
      {task.error === undefined ? null : <p class="fault">{task.error.message}</p>}
      <OutputList task={task} reload={reload} />
      <div class="actions">
        {isOpen(task) ? (
          <CancelButton
            path={inApp(appId, `/generations/${task.generation_id}`)}
            isCancelling={isCancelling}
            took={take}
          />
        ) : (
          <button type="button" class="outline secondary small" onClick={again}>
            Again with the same input
          </button>
        )}
        <SectionLink name="generations" id={task.generation_id} class="button-like">
          Details
        </SectionLink>
      </div>
    </Card>
  );
}
