import { ApiError, type GenerationTask } from '../../../clients/typescript/src/index.js';
import { withMore, type Failure } from '../exit.js';
import type { ConnectionOptions } from './connection.js';
import { clientFailure } from './client-failure.js';

/** How far a cancel has come: not asked for, on its way to the server, or taken by it. */
export type Cancelling = 'no' | 'asked' | 'taken';

const STATES: Readonly<Record<Cancelling, string>> = {
  no: 'continues',
  asked: 'continues unless the server has received the cancel',
  taken: 'is being cancelled',
};

/** Tells a user who stops before the results are on the disk where to find them. */
export function whereToFind(
  { generation_id, completed_at }: GenerationTask,
  { url }: ConnectionOptions,
  cancelling: Cancelling = 'no',
): string {
  const state = completed_at === undefined ? STATES[cancelling] : 'has ended';
  return `Generation ${generation_id} ${state}; fetch it with: npx darkroom status ${generation_id} --out <path>${url === undefined ? '' : ` --url ${url}`}`;
}

/** A failure after the acceptance ends with where the generation is to be found. */
export function cutShort(
  error: unknown,
  task: GenerationTask,
  options: ConnectionOptions,
  cancelling: Cancelling = 'no',
): Failure {
  return withMore(clientFailure(error), whereToFind(task, options, cancelling), { generation_id: task.generation_id });
}

/** What to do when it is not known whether a create was accepted. */
export function unheard(idempotencyKey: string): string {
  return `Whether it was accepted is not known; the same command with --idempotency-key ${idempotencyKey} finds out and does not spend twice.`;
}

/** A create without an answer, or with one that says nothing about what was done, may have been accepted. */
export function createFailure(error: unknown, idempotencyKey: string): unknown {
  const isDecided = error instanceof ApiError && error.status < 500;
  return isDecided
    ? error
    : withMore(clientFailure(error), unheard(idempotencyKey), { idempotency_key: idempotencyKey });
}
