import { MAX_HEADER_BYTES } from '../../core/media/image-header.js';

/** Takes bytes out of a stream in two steps: the first of them, then all. A failure of the stream is passed on. */
export class BytesCollector {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #head: Uint8Array[] = [];
  #byteSize = 0;
  #isAtEnd = false;

  constructor(
    bytes: AsyncIterable<Uint8Array>,
    readonly maxBytes: number,
  ) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  /** The first bytes: until `isEnough` says so, the stream ends, or there are more than a head or the file may have. */
  async head(isEnough: (head: Uint8Array) => boolean): Promise<Uint8Array> {
    let head: Uint8Array = new Uint8Array();
    while (this.#byteSize <= Math.min(MAX_HEADER_BYTES, this.maxBytes)) {
      const chunk = await this.#next();
      if (chunk === undefined) break;
      this.#head.push(chunk);
      head = this.#head.length === 1 ? chunk : Buffer.concat(this.#head, this.#byteSize);
      if (isEnough(head)) break;
    }
    return head;
  }

  /**
   * All bytes, the head among them, in memory of `maxBytes`; undefined as soon as they are more. To be called once, or
   * `close`.
   */
  async all(): Promise<Uint8Array | undefined> {
    if (this.#byteSize > this.maxBytes) {
      await this.close();
      return undefined;
    }
    const all = new Uint8Array(this.maxBytes);
    let at = 0;
    for (const chunk of this.#head.splice(0)) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) {
      if (this.#byteSize > this.maxBytes) {
        await this.close();
        return undefined;
      }
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all.subarray(0, at);
  }

  async close(): Promise<void> {
    this.#isAtEnd = true;
    await this.#source.return?.();
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.#isAtEnd) return undefined;
    const next = await this.#source.next();
    if (next.done === true) {
      this.#isAtEnd = true;
      return undefined;
    }
    this.#byteSize += next.value.byteLength;
    return next.value;
  }
}
