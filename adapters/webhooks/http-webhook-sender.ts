import type { AbortSignalLike } from '../../core/cancellation.js';
import type { Clock } from '../../core/ports/machine.js';
import type { SendOutcome, WebhookMessage, WebhookSender } from '../../core/ports/outside.js';
import type { AttemptFault } from '../../core/webhooks/delivery.js';
import { SEND_MS } from '../../core/webhooks/send-delivery.js';
import { AllowList, mayBeCalled, readTarget } from '../http/allow-list.js';
import { byNameServers, type Resolver } from '../http/connections.js';
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
}

/**
 * Posts messages to addresses that clients choose, through the guarded client: only over verified TLS to the public
 * internet and to what the operator lists, on a connection to the address that was checked, each on its own. It follows no
 * redirect and reads at most 64 KiB of an answer, of which the status alone counts.
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
        maxBodyBytes: MAX_ANSWER_BYTES,
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
      await answer.bytes().catch(() => undefined);
      return { status, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
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

const FAULTS: Readonly<Record<HttpError['kind'], AttemptFault>> = {
  'refused-address': 'address',
  'not-connected': 'connection',
  'unknown-outcome': 'connection',
  'aborted': 'connection',
  'timed-out': 'timeout',
  'too-large': 'answer',
  'bad-answer': 'answer',
};
