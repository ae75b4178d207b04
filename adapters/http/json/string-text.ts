import type { BodyReader } from './body-reader.js';
import type { ReadFailure } from './read-failure.js';
import { StringUnescaper } from './string-unescaper.js';

/**
 * The text of one large JSON string, from behind its opening quote to its closing one, as it comes. It is for base64 and
 * data URLs, which are ASCII; see `StringUnescaper`. A reader may leave it early: `skip` reads the rest.
 */
export class StringText implements AsyncIterable<Uint8Array> {
  private readonly unescaper = new StringUnescaper();
  private isLeft = false;

  constructor(
    private readonly body: BodyReader,
    private readonly fail: ReadFailure,
  ) {}

  /** It has no `return`: what a reader leaves is still to be skipped. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        if (this.isLeft) throw new Error('A large string is read before the next one.');
        const value = await this.read();
        return value === undefined ? { done: true, value: undefined } : { done: false, value };
      },
    };
  }

  async skip(): Promise<void> {
    this.isLeft = !this.unescaper.hasEnded;
    while ((await this.read()) !== undefined);
  }

  private async read(): Promise<Uint8Array | undefined> {
    if (this.unescaper.hasEnded) return undefined;
    const piece = await this.body.piece();
    if (piece === undefined) throw this.fail('bad-answer', 'The answer ends within a string.');
    const { text, at } = this.unescaper.read(piece, this.body.at);
    this.body.at = at;
    return text;
  }
}
