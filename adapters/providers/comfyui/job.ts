import { shownStatus, statusMeaning } from '../shared/status-words.js';
import { isObject } from './workflow.js';

/** A file that a node has saved, as the server names it. */
export interface SavedFile {
  readonly filename: string;
  readonly subfolder: string;
}

/** The error of a failed task. */
export interface ExecutionError {
  /** The server's own text; not to be shown unless the workflow has it. */
  readonly node?: string;
  /** The name of a class of errors, such as `torch.OutOfMemoryError`. */
  readonly exceptionType?: string;
}

/** The server's record of a task. */
export type Job =
  | { readonly state: 'queued' | 'unknown' }
  | { readonly state: 'running'; readonly unknownStatus?: string }
  | { readonly state: 'completed' | 'cancelled'; readonly files: readonly SavedFile[] }
  | { readonly state: 'failed'; readonly error: ExecutionError };

/** An answer that is none of this API. The message repeats nothing of it. */
export class AnswerUnreadable extends Error {
  constructor(what: string) {
    super(`The answer of the server ${what}.`);
    this.name = 'AnswerUnreadable';
  }
}

/** More files than any task here has are not looked at. */
const MAX_FILES = 1_000;
/** No text, key or path passes for one. */
const ERROR_CLASS = /^[A-Za-z_][\w.]{0,80}(?:Error|Exception)$/;
/** The lists of a node's outputs that have files: pictures and videos of ComfyUI, and videos of its packages. */
const LISTS = ['images', 'gifs', 'video', 'videos'] as const;

/**
 * The answer of `GET /api/jobs/{id}`. A status that is not known counts as running: a later version may have more of them.
 * Throws `AnswerUnreadable`.
 */
export function jobOf(token: string, answer: unknown): Job {
  const { id, status, outputs, execution_error: error } = objectOf(answer);
  // Without the id it may be the answer of a proxy, which has a status of its own.
  if (id !== token || typeof status !== 'string' || status === '')
    throw new AnswerUnreadable('is not about the job that was asked for');
  if (status === 'pending') return { state: 'queued' };
  switch (statusMeaning(status)) {
    case 'running':
      return { state: 'running' };
    case 'succeeded':
      return { state: 'completed', files: filesOf(outputs) };
    case 'cancelled':
      return { state: 'cancelled', files: filesOf(outputs) };
    case 'failed':
      return { state: 'failed', error: errorOf(error) };
    case undefined:
      return { state: 'running', unknownStatus: shownStatus(status) };
  }
}

/**
 * The responses of `GET /queue` and then of `GET /history/{id}`, for servers without jobs. A history without the task
 * is empty: anything else, such as the error of a proxy, does not prove that the task does not exist. Throws
 * `AnswerUnreadable`.
 */
export function jobOfHistory(token: string, queue: unknown, history: unknown): Job {
  const { queue_running: running, queue_pending: pending } = objectOf(queue);
  const [isRunning, isPending] = [listHas(running, token), listHas(pending, token)];
  const entries = objectOf(history);
  const entry = Object.hasOwn(entries, token) ? entries[token] : undefined;
  if (entry !== undefined) return endedJob(objectOf(entry));
  if (Object.keys(entries).length > 0) throw new AnswerUnreadable('is not the history of the task');
  if (isRunning) return { state: 'running' };
  return { state: isPending ? 'queued' : 'unknown' };
}

function endedJob({ status, outputs }: Readonly<Record<string, unknown>>): Job {
  const { status_str: text, messages } = objectOf(status ?? {});
  const files = filesOf(outputs);
  if (text !== 'error') return { state: 'completed', files };
  const said = Array.isArray(messages) ? messages : [];
  const found = (event: string): unknown =>
    said.find((message) => Array.isArray(message) && message[0] === event) as unknown;
  if (found('execution_interrupted') !== undefined) return { state: 'cancelled', files };
  const broke = found('execution_error');
  return { state: 'failed', error: errorOf(Array.isArray(broke) ? broke[1] : undefined) };
}

function listHas(list: unknown, token: string): boolean {
  if (!Array.isArray(list)) throw new AnswerUnreadable('has no queue');
  return list.some((item) => Array.isArray(item) && item[1] === token);
}

/** Files of the output folder; previews are in another one. */
function filesOf(outputs: unknown): readonly SavedFile[] {
  const files: SavedFile[] = [];
  for (const lists of Object.values(objectOf(outputs ?? {}))) {
    if (!isObject(lists)) continue;
    for (const list of LISTS) {
      for (const item of listOf(lists[list])) {
        const file = fileOf(item);
        if (file !== undefined) files.push(file);
        if (files.length > MAX_FILES) throw new AnswerUnreadable(`lists more than ${MAX_FILES} files`);
      }
    }
  }
  return files;
}

function fileOf(item: unknown): SavedFile | undefined {
  if (!isObject(item) || item['type'] !== 'output') return undefined;
  const { filename, subfolder = '' } = item;
  return typeof filename === 'string' && typeof subfolder === 'string' ? { filename, subfolder } : undefined;
}

function errorOf(error: unknown): ExecutionError {
  const { node_id: id, exception_type: type } = isObject(error) ? error : {};
  const node = typeof id === 'number' ? String(id) : id;
  return {
    ...(typeof node === 'string' ? { node } : {}),
    ...(typeof type === 'string' && ERROR_CLASS.test(type) ? { exceptionType: type } : {}),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new AnswerUnreadable('has no object where one was due');
  return value;
}
