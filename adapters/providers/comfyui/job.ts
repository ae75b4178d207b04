import { isObject } from './workflow.js';

/** A file that a node has saved, as the server names it. */
export interface SavedFile {
  readonly filename: string;
  readonly subfolder: string;
}

/** What broke a task. */
export interface ExecutionError {
  /** As the server says; not to be shown unless the workflow has it. */
  readonly node?: string;
  /** The name of a class of errors, such as `torch.OutOfMemoryError`. */
  readonly exceptionType?: string;
}

/** What a server knows of a task. */
export type Job =
  | { readonly state: 'queued' | 'running' | 'unknown' }
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

/** The answer of `GET /api/jobs/{id}`. Throws `AnswerUnreadable`. */
export function jobOf(answer: unknown): Job {
  const { status, outputs, execution_error: error } = objectOf(answer);
  switch (status) {
    case 'pending':
      return { state: 'queued' };
    case 'in_progress':
      return { state: 'running' };
    case 'completed':
    case 'cancelled':
      return { state: status, files: filesOf(outputs) };
    case 'failed':
      return { state: 'failed', error: errorOf(error) };
    default:
      throw new AnswerUnreadable('has a job without a known status');
  }
}

/** The answers of `GET /queue` and then of `GET /history/{id}`, for servers without jobs. Throws `AnswerUnreadable`. */
export function jobOfHistory(token: string, queue: unknown, history: unknown): Job {
  const entries = objectOf(history);
  const entry = Object.hasOwn(entries, token) ? entries[token] : undefined;
  if (entry !== undefined) return endedJob(objectOf(entry));
  const { queue_running: running, queue_pending: pending } = objectOf(queue);
  if (listHas(running, token)) return { state: 'running' };
  return { state: listHas(pending, token) ? 'queued' : 'unknown' };
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
