export const API = '/console/api';
const TIMEOUT_MS = 30_000;

/** The details of a refusal besides its message. */
interface Refusal {
  /** Empty if the page received no readable response. */
  readonly code: string;
  /** JSON Pointer of the field at fault. */
  readonly pointer?: string | undefined;
}

/** A refusal or a failure, described by a sentence for the person. */
export class RequestFailed extends Error {
  constructor(
    message: string,
    readonly refusal: Refusal = { code: '' },
  ) {
    super(message);
  }
}

export interface Envelope {
  readonly success: boolean;
  readonly code: string;
  readonly message: string;
  readonly pointer?: string;
  readonly data?: unknown;
}

const OWN_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * A signed address as this page can read it: where it is one of this server under another name of this computer, at the page's own
 * origin. Any other address stays as it is.
 */
export function readable(address: string): string {
  const { protocol, port, hostname, pathname, search } = new URL(address);
  const isOwn = protocol === 'http:' && location.protocol === protocol && port === location.port;
  return isOwn && OWN_NAMES.has(hostname) && OWN_NAMES.has(location.hostname)
    ? location.origin + pathname + search
    : address;
}

/** An address of the page's own part of the server, or, with `/api/` in front, of its public API. */
export function addressOf(path: string): string {
  return path.startsWith('/api/') ? path : API + path;
}

export function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>(path, { method: 'GET' }, signal);
}

export interface ChangeOptions {
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  /** The same for every try of one intent: it then has one effect. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export function change<T = object>(
  path: string,
  body: object = {},
  { method = 'POST', idempotencyKey, signal }: ChangeOptions = {},
): Promise<T> {
  return send<T>(
    path,
    {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
      },
      body: JSON.stringify(body),
    },
    signal,
  );
}

/** Removes something. There is nothing to say about it. */
export function remove(path: string): Promise<object> {
  return send(path, { method: 'DELETE' });
}

/** A key that no other intent has. It needs no secure context, which a page without TLS is not. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** To the sign-in page, and back to this one. */
function leaveToSignIn(): void {
  const { pathname, search } = window.location;
  window.location.assign(`/sign-in?return=${encodeURIComponent(pathname + search)}`);
}

async function send<T>(path: string, init: RequestInit, cancelled?: AbortSignal): Promise<T> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const timer = setTimeout(end, TIMEOUT_MS);
  cancelled?.addEventListener('abort', end);
  const request = fetch(addressOf(path), { ...init, signal: ending.signal, cache: 'no-store' });
  const envelope = await envelopeOf(request).finally(() => {
    clearTimeout(timer);
    cancelled?.removeEventListener('abort', end);
  });
  if (envelope.success) return envelope.data as T;
  throw refusalOf(envelope);
}

/** Why a request was refused. A person without a session is redirected to the sign-in page. */
export function refusalOf({ code, message, pointer }: Pick<Envelope, 'code' | 'message' | 'pointer'>): RequestFailed {
  if (code === 'SESSION_REQUIRED') leaveToSignIn();
  return new RequestFailed(message, { code, pointer });
}

async function envelopeOf(request: Promise<Response>): Promise<Envelope> {
  const response = await request.catch(() => {
    throw new RequestFailed('The server could not be reached. Check your connection and try again.');
  });
  return envelopeIn(response);
}

/** The envelope in a response. A proxy may have responded instead of the server. */
export function envelopeIn(response: Response): Promise<Envelope> {
  return (response.json() as Promise<Envelope>).catch(() => {
    throw unreadable();
  });
}

export function unreadable(): RequestFailed {
  return new RequestFailed('The server gave an answer that this page cannot read. Try again.');
}

/** The sentence to show for an error. */
export function sentenceOf(error: unknown): string {
  return error instanceof RequestFailed ? error.message : 'Something went wrong in this page. Reload it.';
}

/** The JSON Pointer of the field at fault; empty where none is. */
export function pointerOf(error: unknown): string {
  return error instanceof RequestFailed ? (error.refusal.pointer ?? '') : '';
}

/** Code of a refusal; empty for any other error. */
export function codeOf(error: unknown): string {
  return error instanceof RequestFailed ? error.refusal.code : '';
}
