import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { HttpError } from './http-error.js';
import type { HttpLimits } from './limits.js';

type BodyLimits = Pick<HttpLimits, 'maxBodyBytes' | 'maxDecompressionRatio'>;
type Fail = (kind: 'too-large' | 'bad-answer', what: string) => HttpError;

const DECODERS = {
  'gzip': createGunzip,
  'x-gzip': createGunzip,
  'deflate': createInflate,
  'br': createBrotliDecompress,
} as const;

/** The encodings that answers may be compressed with. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br';

/** A small body may be compressed beyond any ratio: a few repeated bytes are harmless. */
const RATIO_COUNTS_FROM_BYTES = 64 * 1024;

/**
 * The body behind its content encoding, within bounds both as it is received and as it is decoded. `abandon` ends what is
 * still received, and is called however the reading ends.
 */
export async function* decodedBody(
  received: AsyncGenerator<Uint8Array>,
  abandon: () => void,
  encoding: string,
  limits: BodyLimits,
  fail: Fail,
): AsyncGenerator<Uint8Array> {
  const counted = new CountedBytes(limits, fail);
  const pieces = counted.received(received);
  try {
    if (encoding === '' || encoding === 'identity') yield* pieces;
    else yield* decompressed(pieces, encoding, counted, fail);
  } finally {
    // First: a piece that is waited for would be waited for until it comes.
    abandon();
    await received.return(undefined);
  }
}

async function* decompressed(
  pieces: AsyncGenerator<Uint8Array>,
  encoding: string,
  counted: CountedBytes,
  fail: Fail,
): AsyncGenerator<Uint8Array> {
  if (!Object.hasOwn(DECODERS, encoding))
    throw fail('bad-answer', 'The answer has a compression that was not requested.');
  const first = await pieces.next();
  // An answer without a body, to HEAD for one, may still name the encoding it would have had.
  if (first.done === true) return;
  const decoder = DECODERS[encoding as keyof typeof DECODERS]();
  const source = Readable.from(following(first.value, pieces), { objectMode: false });
  let sourceError: Error | undefined;
  source.once('error', (error) => {
    sourceError = error;
  });
  pipeline(source, decoder, () => undefined);
  try {
    for await (const piece of decoder as AsyncIterable<Uint8Array>) {
      counted.decode(piece);
      yield piece;
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw sourceError ?? fail('bad-answer', "The answer's compressed data is invalid.");
  } finally {
    source.destroy();
    decoder.destroy();
  }
}

/** Bytes of which the first bytes were read. */
export async function* following(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.byteLength > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

class CountedBytes {
  private receivedBytes = 0;
  private decodedBytes = 0;

  constructor(
    private readonly limits: BodyLimits,
    private readonly fail: Fail,
  ) {}

  async *received(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      this.receivedBytes += piece.byteLength;
      if (this.receivedBytes > this.limits.maxBodyBytes) throw this.tooLarge();
      yield piece;
    }
  }

  decode({ byteLength }: Uint8Array): void {
    this.decodedBytes += byteLength;
    if (this.decodedBytes > this.limits.maxBodyBytes) throw this.tooLarge();
    if (
      this.decodedBytes > RATIO_COUNTS_FROM_BYTES &&
      this.decodedBytes > this.receivedBytes * this.limits.maxDecompressionRatio
    ) {
      throw this.fail(
        'too-large',
        `The answer decompresses to more than ${this.limits.maxDecompressionRatio} times its size.`,
      );
    }
  }

  private tooLarge(): HttpError {
    return this.fail('too-large', `The answer's body has more than ${this.limits.maxBodyBytes} bytes.`);
  }
}
