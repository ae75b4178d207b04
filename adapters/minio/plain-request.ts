import type { IncomingMessage } from 'node:http';
import { textOf } from './answer-body.js';
import type { S3Bucket } from './s3-bucket.js';

export interface PlainRequest {
  readonly url: string;
  readonly method: 'PUT' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends a request that is already signed, as a client would, and answers the server's response. Throws
 * `StoreUnavailable`.
 */
export async function sendPlain(
  s3: S3Bucket,
  { url, method, headers, body }: PlainRequest,
): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port, pathname, search } = new URL(url);
  const to = {
    hostname: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port }),
    path: `${pathname}${search}`,
  };
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = s3.transport.request({ ...to, method, headers: { ...headers, ...length } }, resolve);
    sent.on('error', (error) => {
      reject(s3.unavailable(error));
    });
    sent.end(body);
  });
  return { status: answer.statusCode ?? 0, text: await textOf(s3, answer) };
}
