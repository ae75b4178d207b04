import type { Task } from '../api-types.js';
import { preciseTimeText, spanText } from '../format.js';
import { EVENT_TEXTS, STATUS_TEXTS } from './task-text.js';
import type { FollowedTask } from './use-followed-task.js';

interface TimelineProps {
  readonly task: Task;
  readonly times: FollowedTask['times'];
}

/** When what happened to a generation, and how long it took from one to the next. */
export function Timeline({ task, times }: TimelineProps) {
  const known = times.length > 0 ? times : knownTimes(task);
  return (
    <ol class="timeline">
      {known.map(({ type, at }, index) => {
        const before = known[index - 1]?.at;
        const text = type === 'ended' ? STATUS_TEXTS[task.status] : type === 'progress' ? '' : EVENT_TEXTS[type];
        return (
          <li key={type}>
            <strong>{text}</strong>
            <span>
              <time dateTime={at}>{preciseTimeText(at)}</time>
              {before === undefined ? null : (
                <span class="quiet">{` after ${spanText(Date.parse(at) - Date.parse(before))}`}</span>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** What the task itself says, until its events are here. */
function knownTimes({ created_at: created, completed_at: completed }: Task): FollowedTask['times'] {
  return [
    { type: 'queued', at: created },
    ...(completed === undefined ? [] : [{ type: 'ended', at: completed } as const]),
  ];
}
