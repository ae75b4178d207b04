import type { IncomingMessage } from 'node:http';
import type { S3Bucket } from './s3-bucket.js';
import { StoreUnavailable } from '../../core/errors.js';

/** The whole body of a small answer. Throws `StoreUnavailable`. */
export async function textOf(s3: S3Bucket, answer: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytesOf(s3, answer)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/**
 * The bytes of an answer, once. Each wait for the server is bounded, and no wait for the consumer: one that is slow
 * loses nothing. Leaving it closes the connection. Written as an iterator, not a generator: leaving a generator before
 * its first step would not run its `finally`, and the connection would stay open.
 */
export function bytesOf(s3: S3Bucket, answer: IncomingMessage): AsyncIterableIterator<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
  answer.setTimeout(0);
  // A connection failure before the first step is reported at that step.
  answer.on('error', () => undefined);
  return {
    next: async () => {
      const waiting = setTimeout(() => {
        answer.destroy(new StoreUnavailable(`The object store's ${s3.where} sent nothing within ${s3.timeoutMs} ms.`));
      }, s3.timeoutMs);
      try {
        return await pieces.next();
      } catch (error) {
        throw s3.unavailable(error);
      } finally {
        clearTimeout(waiting);
      }
    },
    return: async () => {
      answer.destroy();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
