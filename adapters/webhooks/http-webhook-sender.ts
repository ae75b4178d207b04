import type { AbortSignalLike } from '../../core/cancellation.js';
import type { Clock } from '../../core/ports/machine.js';
import type { SendOutcome, WebhookMessage, WebhookSender } from '../../core/ports/outside.js';
import { type AnswerBody, type AttemptFault, KEPT_BODY_BYTES } from '../../core/webhooks/delivery.js';
import { SEND_MS } from '../../core/webhooks/send-delivery.js';
import { AllowList, literalAddress, mayBeCalled, readTarget, specialAddress } from '../http/allow-list.js';
import { byNameServers, type Resolver } from '../http/connections.js';
import type { HttpAnswer } from '../http/http-answer.js';
import { HttpClient } from '../http/http-client.js';
import { HttpError, readRetryAfter } from '../http/http-error.js';
import { signedHeaders } from './signature.js';

const MAX_URL_CHARACTERS = 2_048;
const MAX_ANSWER_BYTES = 64 * 1024;
/** More than one process sends at once. */
const MAX_CONNECTIONS = 1_024;
/** The status counts, so nobody waits long for the rest of a body. */
const BODY_PAUSE_MS = 1_000;

const NO_ADDRESS = 'must be an address such as https://app.example/webhooks';
/** Characters that are left out of addresses, or read differently by different readers. */
const READ_OTHERWISE = /[\s\\\p{Cc}]/u;

export interface WebhookSenderOptions {
  /** Networks and hosts in addition to the public internet; see `AllowList`. Throws a `RangeError` for one that is none. */
  readonly allow: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  /** The body of a message, as JSON. */
  readonly render: (message: WebhookMessage) => string;
  /** Certificate authorities, in PEM, that are trusted in addition to the machine's own. */
  readonly extraCa?: readonly string[];
  /** Instead of name servers. */
  readonly resolve?: Resolver;
  /** Whether clients may see the body of an answer from this address; those of the public internet alone when absent. */
  readonly mayShow?: (address: string) => boolean;
}

/**
 * Posts messages to addresses that clients choose, through the guarded client: only over verified TLS to the public
 * internet and to what the operator lists, on a connection to the address that was checked, each on its own. It follows no
 * redirect and reads at most 64 KiB of an answer. Only the status counts; the beginning of the body is for people.
 */
export class HttpWebhookSender implements WebhookSender {
  private readonly allow: AllowList;
  private readonly client: HttpClient;

  constructor(private readonly options: WebhookSenderOptions) {
    const { allow, extraCa } = options;
    this.allow = new AllowList(allow);
    const { resolve = byNameServers({ allow: this.allow }) } = options;
    this.client = new HttpClient({
      allow,
      ...(extraCa === undefined ? {} : { extraCa }),
      resolve,
      // How many are sent at once is for core to say: endpoints of one host may be of different clients.
      maxConnectionsPerOrigin: MAX_CONNECTIONS,
      limits: {
        connectTimeoutMs: SEND_MS,
        headersTimeoutMs: SEND_MS,
        idleTimeoutMs: BODY_PAUSE_MS,
        totalTimeoutMs: SEND_MS,
        // The beginning of a long body is kept; `bodyOf` leaves it after `MAX_ANSWER_BYTES`.
        maxBodyBytes: Number.MAX_SAFE_INTEGER,
      },
    });
  }

  addressFault(url: string): string | undefined {
    if (url.length > MAX_URL_CHARACTERS) return `must have at most ${MAX_URL_CHARACTERS} characters`;
    if (url.includes('#')) return 'must not have a fragment';
    if (READ_OTHERWISE.test(url)) return NO_ADDRESS;
    try {
      if (mayBeCalled(this.allow, readTarget(url))) return undefined;
      return 'must be https, and name a public host or one that the operator allows (webhooks.allowed_hosts)';
    } catch (error) {
      if (error instanceof HttpError) return NO_ADDRESS;
      throw error;
    }
  }

  async send(message: WebhookMessage, signal: AbortSignalLike): Promise<SendOutcome> {
    const { clock, render } = this.options;
    // An address that was allowed when it was registered may no longer be allowed.
    if (this.addressFault(message.url) !== undefined) return { fault: 'address' };
    const body = render(message);
    const headers = {
      'content-type': 'application/json',
      ...signedHeaders({ messageId: message.messageId, sentAt: clock.now(), body }, message.keys),
    };
    try {
      const answer = await this.client.request({ method: 'POST', url: message.url, headers, body, signal });
      const { status } = answer;
      const waitMs = readRetryAfter(answer.header('retry-after'), answer.header('date'), clock.now());
      const { mayShow = isPublicAddress } = this.options;
      const isShown = answer.peer !== undefined && mayShow(answer.peer);
      const answered = await bodyOf(answer);
      return {
        status,
        ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
        ...(isShown && answered !== undefined ? { body: answered } : {}),
      };
    } catch (error) {
      if (signal.aborted || !(error instanceof HttpError)) throw error;
      return { fault: FAULTS[error.kind] };
    }
  }

  /** Aborts what is being sent. */
  close(): Promise<void> {
    return this.client.close();
  }
}

function isPublicAddress(address: string): boolean {
  const known = literalAddress(address);
  return known !== undefined && specialAddress(known) === undefined;
}

/** The body of an answer, or of one that is cut or long what has come of it; undefined without one. */
async function bodyOf(answer: HttpAnswer): Promise<AnswerBody | undefined> {
  const kept = Buffer.alloc(KEPT_BODY_BYTES);
  let bytes = 0;
  try {
    for await (const piece of answer.body()) {
      if (bytes < kept.byteLength) kept.set(piece.subarray(0, kept.byteLength - bytes), bytes);
      bytes = Math.min(bytes + piece.byteLength, MAX_ANSWER_BYTES);
      if (bytes === MAX_ANSWER_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
  }
  if (bytes === 0) return undefined;
  const text = shownText(kept.subarray(0, Math.min(bytes, kept.byteLength)));
  return { bytes, ...(text === undefined ? {} : { text }) };
}

/** Content with more than this fraction of characters that are not text is binary. */
const BINARY_FRACTION = 0.1;

/**
 * Bytes as text that is safe to show: what is not UTF-8 is replaced; control characters, and marks that reverse the
 * direction of what follows, are removed. A character that is cut at the end is left out. Undefined for binary content.
 */
export function shownText(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder('utf-8').decode(bytes, { stream: true });
  const shown = text.replaceAll('\r\n', '\n').replaceAll(UNSHOWN, '');
  const unreadable = [...text.matchAll(UNREADABLE)].length;
  return unreadable > text.length * BINARY_FRACTION || text.includes('\0') || shown === '' ? undefined : shown;
}

const UNSHOWN = /[^\P{Cc}\t\n]|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;
const UNREADABLE = /[^\P{Cc}\t\n\r]|\uFFFD/gu;

const FAULTS: Readonly<Record<HttpError['kind'], AttemptFault>> = {
  'refused-address': 'address',
  'not-connected': 'connection',
  'unknown-outcome': 'connection',
  'aborted': 'connection',
  'timed-out': 'timeout',
  'too-large': 'answer',
  'bad-answer': 'answer',
};
