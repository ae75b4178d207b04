import { STATUSES, type Status, type Task } from '../api-types.js';
import type { Look } from '../parts/parts.js';
import type { AccountGeneration, Creator, TimelineEntry } from '../server-types.js';

export const STATUS_TEXTS: Readonly<Record<Status, string>> = {
  queued: 'Queued',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export const STATUS_LOOKS: Readonly<Record<Status, Look | undefined>> = {
  queued: undefined,
  running: 'active',
  succeeded: 'ok',
  failed: 'fail',
  cancelled: 'plain',
};

export function statusOf(text: string | undefined): Status | undefined {
  return STATUSES.find((one) => one === text);
}

export function isOpen({ status }: Pick<Task, 'status'>): boolean {
  return status === 'queued' || status === 'running';
}

/** The title of a generation: its prompt, or its model without one. */
export function promptOf(generation: Pick<AccountGeneration, 'prompt' | 'model_key'> | undefined): string {
  return generation === undefined ? 'Generation' : generation.prompt || generation.model_key;
}

/** The name of what created a generation. */
export function creatorText({ kind, name }: Creator): string {
  if (kind === 'person') return name ?? 'Playground';
  if (kind === 'service') return name === undefined ? 'Internal service' : `Service ${name}`;
  if (kind === 'unknown') return 'Unknown';
  return name ?? (kind === 'key' ? 'A deleted key' : 'A disconnected program');
}

export const TIMELINE_TEXTS: Readonly<Record<TimelineEntry['event'], string>> = {
  created: 'Created',
  started: 'Started',
  attempt: 'Sent to the provider',
  retry: 'Next attempt',
  cancel_requested: 'Cancel requested',
  completed: 'Completed',
  settled: 'Settled',
  outputs_removed: 'Outputs expired',
  content_removed: 'Request removed',
};
