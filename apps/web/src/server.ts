export const API = '/console/api';
const TIMEOUT_MS = 30_000;

/** A refusal or a failure, in a sentence for the person. */
export class RequestFailed extends Error {
  constructor(
    sentence: string,
    /** The code of a refusal; absent where there was no answer. */
    readonly code?: string,
  ) {
    super(sentence);
  }
}

export interface Envelope {
  readonly success: boolean;
  readonly code: string;
  readonly message: string;
  readonly data?: unknown;
}

export function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>(path, { method: 'GET' }, signal);
}

export function change<T = object>(path: string, body: object = {}): Promise<T> {
  return send<T>(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** To the sign-in page, and back to this one. */
export function leaveToSignIn(): void {
  window.location.assign(`/sign-in?return=${encodeURIComponent(window.location.pathname)}`);
}

async function send<T>(path: string, init: RequestInit, cancelled?: AbortSignal): Promise<T> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const timer = setTimeout(end, TIMEOUT_MS);
  cancelled?.addEventListener('abort', end);
  const envelope = await envelopeOf(fetch(API + path, { ...init, signal: ending.signal, cache: 'no-store' })).finally(
    () => {
      clearTimeout(timer);
      cancelled?.removeEventListener('abort', end);
    },
  );
  if (envelope.success) return envelope.data as T;
  throw refusalOf(envelope);
}

/** Why a request was refused. Without a session the person is led to the sign-in page. */
export function refusalOf({ code, message }: Pick<Envelope, 'code' | 'message'>): RequestFailed {
  if (code === 'SESSION_REQUIRED') leaveToSignIn();
  return new RequestFailed(message, code);
}

async function envelopeOf(request: Promise<Response>): Promise<Envelope> {
  const response = await request.catch(() => {
    throw new RequestFailed('The server could not be reached. Check your connection and try again.');
  });
  return (response.json() as Promise<Envelope>).catch(() => {
    throw new RequestFailed('The server gave an answer that this page cannot read. Try again.');
  });
}

/** What to say of an error. */
export function sentenceOf(error: unknown): string {
  return error instanceof RequestFailed ? error.message : 'Something went wrong in this page. Reload it.';
}
