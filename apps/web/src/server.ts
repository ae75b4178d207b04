import type { GenerationTask as Task } from '../../../clients/typescript/src/generated/api.js';
import { ApiError } from '../../../clients/typescript/src/errors.js';
import { Transport } from '../../../clients/typescript/src/transport.js';

/** A key that no other intent has. */
export { randomKey } from '../../../clients/typescript/src/bytes.js';

/** The path of what the console alone uses. Every request carries the session's cookie. */
export const API = '/console/api';

/** Reads are tried twice: a page that stays open tries again by itself. */
const READ_TRIES = 2;

const own = new Transport(window.location.origin, undefined, API);

/** Requests to the API as an App of the account, with the rights of the person who is signed in. */
export function transportOf(appId: string): Transport {
  return new Transport(window.location.origin, undefined, API + inApp(appId, ''));
}

/** Requests that a generation end. It may still succeed. */
export function cancelGeneration(appId: string, generationId: string): Promise<Task> {
  return change<Task>(inApp(appId, `/generations/${generationId}/cancel`));
}

/** The path of an endpoint of the API for an App, below `API`. */
export function inApp(appId: string, path: string): string {
  return `/apps/${encodeURIComponent(appId)}${path}`;
}

/** Throws `ApiError` for a refusal and `ConnectionError` without an answer, as all requests here do. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return checked(() => own.get<T>(path, { signal, maxTries: READ_TRIES }));
}

/**
 * Orders the answers of repeated reads. Call the result before each read. It returns a function to call after the read, which
 * returns whether a later read has already ended.
 */
export function inOrder(): () => () => boolean {
  let [begun, ended] = [0, 0];
  return () => {
    begun += 1;
    const turn = begun;
    return () => {
      if (turn < ended) return true;
      ended = turn;
      return false;
    };
  };
}

interface ChangeOptions {
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  /** The same for every try of one intent: it then has one effect. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** Without an Idempotency-Key a change is sent once, since its first try may have had its effect. */
export async function change<T = object>(
  path: string,
  body: object = {},
  { method = 'POST', idempotencyKey, signal }: ChangeOptions = {},
): Promise<T> {
  const options = { signal, ...(idempotencyKey === undefined ? { maxTries: 1 } : { idempotencyKey }) };
  return checked(() => own.call<T>({ method, path, ...(method === 'DELETE' ? {} : { body }) }, options));
}

export function remove(path: string): Promise<object> {
  return change(path, {}, { method: 'DELETE' });
}

async function checked<T>(send: () => Promise<{ readonly data: T }>): Promise<T> {
  try {
    return (await send()).data;
  } catch (error) {
    if (codeOf(error) === 'SESSION_REQUIRED') leaveToSignIn();
    throw error;
  }
}

/** To the sign-in page, and back to this one. */
function leaveToSignIn(): void {
  const { pathname, search } = window.location;
  window.location.assign(`/sign-in?return=${encodeURIComponent(pathname + search)}&ended=1`);
}

/** An address of the console's own part of the server, or, with `/api/` in front, of its public API. */
export function addressOf(path: string): string {
  return path.startsWith('/api/') ? path : API + path;
}

/** An error of this page, whose message is for the person, with the JSON Pointer of the field at fault if there is one. */
export class Explained extends Error {
  constructor(
    message: string,
    readonly pointer = '',
  ) {
    super(message);
  }
}

/** The refusal in a response that another part of the page requested by itself. */
export function refusalOf(response: Response): Promise<Error> {
  return own.refusalOf(response);
}

/** The sentence to show for an error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof Explained) return error.message;
  if (error instanceof ApiError) return error.refusal.message;
  if (error instanceof Error && error.name === 'ConnectionError') return 'Can’t reach the server.';
  if (error instanceof Error && error.name === 'TransferError') return error.message;
  return 'Something went wrong in this page. Reload it.';
}

/** Whether the server gave no answer, so that the same request may succeed soon. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConnectionError';
}

/** Whether the server would refuse the same request again: there is nothing at its path, or a value in it is wrong. */
export function isRefusedAgain(error: unknown): boolean {
  return error instanceof ApiError && [404, 422].includes(error.status);
}

/** The JSON Pointer of the field at fault; empty where none is. The console's own requests have one. */
export function pointerOf(error: unknown): string {
  if (error instanceof Explained) return error.pointer;
  return error instanceof ApiError ? ((error.refusal as { readonly pointer?: string }).pointer ?? '') : '';
}

/** A refusal as a sentence at its field: without the path of the field in the API, by the field's JSON Pointer. */
export function atField(sentence: string, pointer: string): string {
  const path = pointer.slice(1).replaceAll('/', '.');
  if (!sentence.startsWith(path) || !/^[ .]/.test(sentence.slice(path.length))) return sentence;
  return sentence.slice(path.length + 1).replace(/^./, (first) => first.toUpperCase());
}

/** Code of a refusal; empty for any other error. */
export function codeOf(error: unknown): string {
  return error instanceof ApiError ? error.code : '';
}

/** Whether another sign-in lifts a refusal. */
export function needsSignIn(error: unknown): boolean {
  return ['RECENT_SIGN_IN_REQUIRED', 'PASSKEY_SIGN_IN_REQUIRED'].includes(codeOf(error));
}

const OWN_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * A signed address as this page can read it: where it is one of this server under another name of this computer, at the page's own
 * origin. Any other address stays as it is.
 */
export function readable(address: string): string {
  const { protocol, port, hostname, pathname, search } = new URL(address, window.location.origin);
  const isOwn = protocol === 'http:' && location.protocol === protocol && port === location.port;
  return isOwn && OWN_NAMES.has(hostname) && OWN_NAMES.has(location.hostname)
    ? location.origin + pathname + search
    : address;
}
