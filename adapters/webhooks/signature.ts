import { createHmac } from 'node:crypto';

/** The headers that prove to a receiver that we sent a message, as defined by Standard Webhooks. */
export interface SignedHeaders extends Readonly<Record<string, string>> {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/**
 * Signs a message by the scheme of Standard Webhooks: HMAC-SHA256 of the id, the time in seconds and the body, once
 * for each key, with keys in hex. A receiver accepts the message if one of the signatures matches its secret.
 */
export function signedHeaders(
  { messageId, sentAt, body }: { readonly messageId: string; readonly sentAt: number; readonly body: string },
  keys: readonly string[],
): SignedHeaders {
  const timestamp = String(Math.floor(sentAt / 1_000));
  const signatures = keys.map((key) => {
    const digest = createHmac('sha256', Buffer.from(key, 'hex')).update(`${messageId}.${timestamp}.${body}`);
    return `v1,${digest.digest('base64')}`;
  });
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

/** A key in hex as its owner is shown it. */
export function secretText(key: string): string {
  return `whsec_${Buffer.from(key, 'hex').toString('base64')}`;
}
