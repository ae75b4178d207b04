import { WebhookVerificationError } from './errors.js';

const PREFIX = 'whsec_';
const TOLERANCE_SECONDS = 5 * 60;
/** Signatures of one message that are looked at; a rotation makes two. */
const MAX_SIGNATURES = 16;

export interface VerifyOptions {
  /** How far the time of signing may be from now, in seconds; 300 when absent. */
  readonly toleranceSeconds?: number;
  /** In milliseconds since 1970; the present when absent. */
  readonly now?: number;
}

/** The headers of a request, as fetch, Node or a web framework has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a webhook by the Standard Webhooks scheme and returns its parsed body. Pass the body as it was received,
 * not parsed and serialised again. Throws `WebhookVerificationError`.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions = {},
): Promise<unknown> {
  requireText(body, secrets);
  const id = required(headers, 'webhook-id');
  const timestamp = required(headers, 'webhook-timestamp');
  const signatures = required(headers, 'webhook-signature').split(' ').slice(0, MAX_SIGNATURES);
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now / 1_000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookVerificationError('The webhook was not signed within the last minutes.');
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const secret of typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await keyOf(secret);
    for (const entry of signatures) {
      const signature = entry.startsWith('v1,') ? fromBase64(entry.slice('v1,'.length)) : undefined;
      // WebCrypto compares in constant time.
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return parsed(text);
    }
  }
  throw new WebhookVerificationError(
    'No signature of the webhook fits: it has another secret, or the body is not as it was sent.',
  );
}

/**
 * Rejects mistakes of the calling program, which are not faults of a message: a parsed body, or a variable that is
 * not set.
 */
function requireText(body: unknown, secrets: unknown): void {
  if (typeof body !== 'string' && !(body instanceof ArrayBuffer) && !ArrayBuffer.isView(body))
    throw new TypeError('The body of a webhook must be the text or the bytes that were received, not parsed.');
  const given: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (given.length === 0 || given.some((secret) => typeof secret !== 'string')) throw notSecret();
}

function required(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : plain(headers, name);
  if (typeof value !== 'string' || value === '')
    throw new WebhookVerificationError(`The webhook has no header ${name}.`);
  return value;
}

function plain(headers: Exclude<WebhookHeaders, Headers>, name: string): unknown {
  const found = Object.keys(headers).filter((key) => key.toLowerCase() === name);
  return found.length === 1 ? headers[found[0] as string] : undefined;
}

function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (bytes === undefined || bytes.length === 0) throw notSecret();
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function notSecret(): TypeError {
  return new TypeError('A webhook secret is whsec_ and base64.');
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new WebhookVerificationError('The body of the webhook is not JSON.');
  }
}
