/** Bytes of pieces that do not last, up to a limit. */
export class KeptBytes {
  private buffer = new Uint8Array(256);
  private used = 0;

  /** `tooLong` makes the error for one byte more than `maxBytes`. */
  constructor(
    private readonly maxBytes: number,
    private readonly tooLong: () => Error,
  ) {}

  add(piece: Uint8Array): void {
    const needed = this.used + piece.byteLength;
    if (needed > this.maxBytes) throw this.tooLong();
    if (needed > this.buffer.byteLength) this.grow(needed);
    this.buffer.set(piece, this.used);
    this.used = needed;
  }

  /** What was added from this position on. It changes with what is added later. */
  since(from: number): Uint8Array {
    return this.buffer.subarray(from, this.used);
  }

  private grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.buffer.byteLength * 2));
    larger.set(this.since(0));
    this.buffer = larger;
  }
}
