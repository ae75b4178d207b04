const PIECE_BYTES = 64 * 1024;

/**
 * A body on its way out, in pieces, so that its progress is seen and it can be ended. `onProgress` is called when a piece has
 * been taken.
 */
export class OutgoingBody implements AsyncIterable<Uint8Array> {
  private readonly source: AsyncIterable<Uint8Array>;
  private stopWaiting: ((reason: Error) => void) | undefined;
  private stopped: Error | undefined;

  constructor(
    body: Uint8Array | AsyncIterable<Uint8Array>,
    private readonly onProgress: () => void,
  ) {
    this.source = body instanceof Uint8Array ? piecesOf(body) : body;
  }

  /** Nothing more comes, even if the source is waited for. */
  stop(reason: Error): void {
    this.stopped ??= reason;
    this.stopWaiting?.(reason);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const pieces = this.source[Symbol.asyncIterator]();
    let isOver = false;
    try {
      for (;;) {
        const { done, value } = await this.nextOf(pieces);
        isOver = done === true;
        if (done === true) return;
        yield value;
        this.onProgress();
      }
    } finally {
      // A source that is waited for ends when it comes to it.
      if (!isOver) pieces.return?.().catch(() => undefined);
    }
  }

  private async nextOf(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    if (this.stopped !== undefined) throw this.stopped;
    const stop = new Promise<never>((_, reject) => {
      this.stopWaiting = reject;
    });
    return Promise.race([pieces.next(), stop]);
  }
}

async function* piecesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.byteLength; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}
