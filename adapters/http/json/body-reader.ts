/** Reads a body piece by piece, and remembers how far in a piece its reader is. */
export class BodyReader {
  /** What of `piece` was read. */
  at = 0;
  private current: Uint8Array | undefined;
  private readonly pieces: AsyncIterator<Uint8Array>;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.pieces = body[Symbol.asyncIterator]();
  }

  /** The piece with the next bytes, which begin at `at`; undefined at the end. */
  async piece(): Promise<Uint8Array | undefined> {
    while (this.current === undefined || this.at >= this.current.byteLength) {
      const { done, value } = await this.pieces.next();
      if (done === true) return undefined;
      [this.current, this.at] = [value, 0];
    }
    return this.current;
  }

  /** Leaves what was not read. */
  async leave(): Promise<void> {
    await this.pieces.return?.();
  }
}
