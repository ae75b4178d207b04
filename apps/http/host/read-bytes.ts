import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../core/errors.js';
import { MAX_BODY_PIECES } from './limits.js';

/** How much is read, and how long it may take to arrive. */
export interface ReadingBounds {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** In how many pieces it may arrive; `MAX_BODY_PIECES` when absent. */
  readonly maxPieces?: number;
}

const EMPTY = Buffer.alloc(0);

/**
 * The bytes of a request's body; none when it has no body. Throws BODY_TOO_LARGE as soon as it is known, from the
 * declared length or while reading, REQUEST_TIMEOUT, and BODY_INVALID for one that arrives in too many pieces or is
 * incomplete.
 */
export function readBytes(
  req: IncomingMessage,
  { maxBytes, timeoutMs, maxPieces = MAX_BODY_PIECES }: ReadingBounds,
): Promise<Buffer> {
  const declared = declaredBytes(req);
  if (declared === 0) return Promise.resolve(EMPTY);
  if (declared !== undefined && declared > maxBytes) return Promise.reject(tooLarge(maxBytes));
  // The client may have left while its credential was looked up: nothing would tell us any more.
  if (req.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let byteSize = 0;
    const settle = (error: ServiceError | undefined): void => {
      clearTimeout(timer);
      req.off('data', take).off('end', finish).off('error', breakOff).off('close', breakOff);
      if (error === undefined)
        return resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, byteSize));
      req.on('error', ignore).pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      byteSize += chunk.byteLength;
      if (byteSize > maxBytes) settle(tooLarge(maxBytes));
      else if (chunks.push(chunk) > maxPieces)
        settle(
          new ServiceError(
            'BODY_INVALID',
            `The request body must arrive in at most ${maxPieces} pieces; send it in larger chunks, or with Content-Length.`,
          ),
        );
    };
    const finish = (): void => settle(undefined);
    const breakOff = (): void => settle(brokenOff());
    const timer = setTimeout(
      () => settle(new ServiceError('REQUEST_TIMEOUT', `The request body must arrive within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    req.on('data', take).on('end', finish).on('error', breakOff).on('close', breakOff);
  });
}

/** How long the body is by its headers; undefined when it comes in chunks, and its length is known at its end. */
export function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('BODY_TOO_LARGE', `The request body must have at most ${maxBytes} bytes.`);
}

function brokenOff(): ServiceError {
  return new ServiceError('BODY_INVALID', 'The request body ended before it was complete.');
}

function ignore(): void {
  // The client is gone, and the answer with it.
}
