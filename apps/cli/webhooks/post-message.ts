import { verifyWebhook } from '../../../clients/typescript/src/index.js';
import { signedHeaders } from '../../../adapters/webhooks/signature.js';
import { SEND_MS } from '../../../core/webhooks/send-delivery.js';
import type { ListenedMessage } from './listened-message.js';

/** What became of one attempt. */
export interface Posted {
  /** Absent when no answer came. */
  readonly status?: number;
  /** Why none came, as a clause. */
  readonly fault?: string;
  /** What `Retry-After` asks for, in seconds. */
  readonly retryAfter?: number;
  readonly tookMs: number;
}

export interface PostTarget {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
}

/**
 * Posts a message as the service does: signed afresh, for 15 seconds at most, and no redirect is followed. A receiver that
 * checks with the secret accepts it: that is checked before it leaves.
 */
export async function postMessage(
  { messageId, body }: ListenedMessage,
  { url, secret }: PostTarget,
  signal: AbortSignal,
): Promise<Posted> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex');
  const signed = signedHeaders({ messageId, sentAt: Date.now(), body }, [key]);
  await verifyWebhook(body, signed, secret);
  const startedAt = performance.now();
  const tookMs = () => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'darkroom', ...signed },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(SEND_MS)]),
    });
    // The status alone counts.
    await response.body?.cancel().catch(() => undefined);
    const asked = response.headers.get('retry-after') ?? '';
    return {
      status: response.status,
      tookMs: tookMs(),
      ...(/^[0-9]{1,6}$/.test(asked) ? { retryAfter: Number(asked) } : {}),
    };
  } catch (error) {
    signal.throwIfAborted();
    return { fault: faultOf(error), tookMs: tookMs() };
  }
}

function faultOf(error: unknown): string {
  const { cause, name } = error as { readonly cause?: { readonly code?: string }; readonly name?: string };
  if (name === 'TimeoutError') return `no answer within ${SEND_MS / 1_000} seconds`;
  return cause?.code === 'ECONNREFUSED' ? 'nothing listens there' : `the connection failed (${cause?.code ?? name})`;
}
