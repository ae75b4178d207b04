import { numberText } from '../format.js';
import type { EventType, Status, Task } from '../api-types.js';

export const STATUS_TEXTS: Readonly<Record<Status, string>> = {
  queued: 'Queued',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const EVENT_TEXTS: Readonly<Record<Exclude<EventType, 'progress'>, string>> = {
  queued: 'Created',
  running: 'Running',
  cancel_requested: 'Cancel requested',
  ended: 'Ended',
};

export function isOpen({ status }: Pick<Task, 'status'>): boolean {
  return status === 'queued' || status === 'running';
}

/** What it cost, or may cost at most while it has not ended. */
export function costText(task: Task, currency: string): string {
  return isOpen(task)
    ? `${numberText(task.reserved_credits)} ${currency} reserved`
    : `${numberText(task.charged_credits)} ${currency}`;
}

/** What it is, for those who do not see it. */
export function spokenText({ modality, model_key: model, status }: Task): string {
  return `${modality === 'video' ? 'Video' : 'Picture'} of ${model}, ${STATUS_TEXTS[status].toLowerCase()}`;
}
