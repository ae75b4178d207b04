import { pause } from './pause.js';

const BASE_MS = 250;
const CAP_MS = 8_000;
const MAX_RETRY_AFTER_MS = 30_000;
const NO_HOST = 'there is no such host';
const NOT_TRUSTED = 'its certificate is not trusted';

/** The maximum number of tries, including the first. */
export const MAX_TRIES = 6;

/**
 * The same for waits on an accepted generation: about a minute in total, so that a server may restart in the
 * meantime.
 */
export const PATIENT_TRIES = 14;

/** Statuses of responses that mean that nothing was done and the request may be repeated. */
export const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/**
 * Milliseconds before try number `tries` + 1 if the server does not specify a delay: doubled each time, with random
 * jitter.
 */
export function backOffMs(tries: number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}

/** Seconds that a `Retry-After` asks for; undefined if it is absent or a date. */
export function secondsOf(retryAfter: string | null): number | undefined {
  return retryAfter !== null && /^[0-9]{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined;
}

/** Waits before try number `tries` + 1: for the requested seconds, at most 30, or else as `backOffMs` determines. */
export function waitBeforeRetry(tries: number, seconds: number | undefined, signal?: AbortSignal): Promise<void> {
  return pause(seconds === undefined ? backOffMs(tries) : Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS), signal);
}

/** Whether another try cannot help: a name that does not exist, a certificate that is not trusted. */
export function isHopeless(error: unknown): boolean {
  const reason = networkReason(error);
  return reason === NO_HOST || reason === NOT_TRUSTED;
}

/** Why a request got no response, in words that a user can act on. */
export function networkReason(error: unknown): string {
  const { cause, name } = error as { readonly cause?: { readonly code?: string }; readonly name?: string };
  switch (cause?.code ?? name ?? '') {
    case 'ECONNREFUSED':
      return 'nothing listens there';
    case 'ENOTFOUND':
      return NO_HOST;
    case 'EAI_AGAIN':
      return 'its name cannot be resolved';
    case 'TimeoutError':
      return 'it did not answer in time';
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return 'the connection was cut';
    case 'CERT_HAS_EXPIRED':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return NOT_TRUSTED;
    default:
      return 'the connection failed';
  }
}
