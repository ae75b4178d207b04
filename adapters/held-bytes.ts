/** Counts the bytes that all users of one kind hold in memory, up to a limit. */
export class HeldBytes {
  #byteSize = 0;

  constructor(private readonly maxBytes: number) {}

  /** False where there is no room. */
  take(byteSize: number): boolean {
    if (this.#byteSize + byteSize > this.maxBytes) return false;
    this.#byteSize += byteSize;
    return true;
  }

  release(byteSize: number): void {
    this.#byteSize -= byteSize;
  }

  /** Counts bytes that take the place of others. */
  replace(before: number, after: number): void {
    this.#byteSize += after - before;
  }
}

/** Bytes that are held in one buffer while they arrive: many small buffers would take several times their length. */
export class HeldPiece {
  #memory: Uint8Array = NOTHING;
  /** The bytes of it that are counted, also while they are on another thread. */
  #counted = 0;
  #byteSize = 0;

  /** `maxBytes`: the most that this one holds. */
  constructor(
    private readonly room: HeldBytes,
    private readonly maxBytes: number,
  ) {}

  /** All that was added, not copied. */
  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#byteSize);
  }

  /** Copies a chunk, as its source may use its memory again; false, and nothing is added, where there is no room. */
  add(chunk: Uint8Array): boolean {
    const after = this.#byteSize + chunk.byteLength;
    if (after > this.maxBytes) return false;
    if (after > this.#memory.byteLength) {
      const capacity = Math.min(this.maxBytes, Math.max(after, 2 * this.#memory.byteLength));
      if (!this.room.take(capacity - this.#counted)) return false;
      this.#counted = capacity;
      const larger = new Uint8Array(capacity);
      larger.set(this.bytes);
      this.#memory = larger;
    }
    this.#memory.set(chunk, this.#byteSize);
    this.#byteSize = after;
    return true;
  }

  /** Replaces all that was added by these bytes, whatever room there is. */
  replaceWith(bytes: Uint8Array): void {
    this.room.replace(this.#counted, bytes.byteLength);
    this.#counted = bytes.byteLength;
    this.#memory = bytes;
    this.#byteSize = bytes.byteLength;
  }

  /** Frees the memory. */
  release(): void {
    this.room.release(this.#counted);
    this.#counted = 0;
    this.#memory = NOTHING;
    this.#byteSize = 0;
  }
}

const NOTHING = new Uint8Array(0);
