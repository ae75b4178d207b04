/** Pauses and resumes the reading of a connection. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** How much of an answer waits in memory to be read. */
const MAX_WAITING_BYTES = 256 * 1024;
/** What a piece takes beside its bytes. */
const PIECE_BYTES = 128;
/** Pieces that are shorter together are joined, so that whoever keeps them does not pay for each. */
const JOINED_BYTES = 16 * 1024;

/**
 * The pieces of one answer's body, as they come, for one reader. The connection is not read further while enough of
 * them wait.
 */
export class BodyQueue {
  private readonly pieces: Uint8Array[] = [];
  private waitingBytes = 0;
  private ending: { readonly error?: Error } | undefined;
  private wakeReader: (() => void) | undefined;

  constructor(private readonly flow: Flow) {}

  push(piece: Uint8Array): void {
    if (this.ending) return;
    this.pieces.push(piece);
    this.waitingBytes += PIECE_BYTES + piece.byteLength;
    if (this.waitingBytes > MAX_WAITING_BYTES) this.flow.pause();
    this.wakeReader?.();
  }

  end(): void {
    this.ending ??= {};
    this.wakeReader?.();
  }

  /** What has not been read by then is dropped: a body that broke is of no use. */
  fail(error: Error): void {
    this.ending ??= { error };
    this.pieces.length = 0;
    this.wakeReader?.();
  }

  /**
   * The next piece, or undefined at the end. `waits` is called when there is none yet, and what it returns when there
   * is.
   */
  async next(waits: () => () => void): Promise<Uint8Array | undefined> {
    while (this.pieces.length === 0) {
      if (this.ending?.error) throw this.ending.error;
      if (this.ending) return undefined;
      const ready = waits();
      await new Promise<void>((resolve) => {
        this.wakeReader = resolve;
      });
      this.wakeReader = undefined;
      ready();
    }
    const taken = this.pieces.splice(0, this.countToJoin());
    for (const { byteLength } of taken) this.waitingBytes -= PIECE_BYTES + byteLength;
    if (this.waitingBytes <= MAX_WAITING_BYTES / 2) this.flow.resume();
    return taken.length === 1 ? taken[0] : Buffer.concat(taken);
  }

  /** Of the pieces that wait, at least one. */
  private countToJoin(): number {
    let [count, bytes] = [1, this.pieces[0]?.byteLength ?? 0];
    for (; count < this.pieces.length; count += 1) {
      bytes += this.pieces[count]?.byteLength ?? 0;
      if (bytes > JOINED_BYTES) break;
    }
    return count;
  }
}
