import type { Edit, Edits } from './edits.js';
import { ReadWindow } from './read-window.js';

/**
 * No file that was made in good faith has more metadata. Where more was removed, the output ends, so that the file is
 * found incomplete: removed bytes do not count against the limit of the bytes that are stored.
 */
export const MAX_REMOVED_BYTES = 64 * 1024 * 1024;

const MAX_BLANK_BYTES = 64 * 1024;
/** Of one chunk; more are joined into one. */
const MAX_PIECES = 16;
const NOTHING = Buffer.alloc(0);

/**
 * Applies edits to a stream. What is kept is passed on without a copy, where a chunk has few edits; only what an edit
 * looks at is held. Throws only what the source throws, and closes the source when the reader stops.
 */
export async function* edited(bytes: AsyncIterable<Uint8Array>, edits: Edits): AsyncGenerator<Uint8Array> {
  const editor = new Editor(edits);
  for await (const chunk of bytes) {
    yield* joined([...editor.take(chunk)]);
    if (editor.shrunkBytes > MAX_REMOVED_BYTES) return;
  }
  yield* editor.end();
}

/** A store may take as long for a byte as for many. */
function joined(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  return pieces.length > MAX_PIECES ? [Buffer.concat(pieces)] : pieces;
}

class Editor {
  /** By how much the output is shorter than what was read. */
  shrunkBytes = 0;
  readonly #edits: Edits;
  #edit: Edit | undefined;
  /** What the current edit has still to keep, remove or blank. */
  #leftBytes = 0;
  /** Chunks that are held because an edit looks at them. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  constructor(edits: Edits) {
    this.#edits = edits;
    this.#next(NOTHING);
  }

  *take(chunk: Uint8Array): Generator<Uint8Array> {
    this.#held.push(chunk);
    this.#heldBytes += chunk.byteLength;
    if (this.#edit?.do !== 'look' || this.#heldBytes >= this.#edit.byteCount) yield* this.#apply(false);
  }

  *end(): Generator<Uint8Array> {
    yield* this.#apply(true);
  }

  *#apply(isLast: boolean): Generator<Uint8Array> {
    const [first, ...others] = this.#held;
    const window = new ReadWindow(
      first !== undefined && others.length === 0 ? first : Buffer.concat(this.#held, this.#heldBytes),
    );
    while (this.#edit !== undefined && !this.#waits(window.aheadBytes, isLast)) yield* this.#step(this.#edit, window);
    if (this.#edit === undefined) window.keep(window.aheadBytes);
    yield* window.kept();
    this.#heldBytes = window.aheadBytes;
    this.#held = this.#heldBytes === 0 ? [] : [window.ahead()];
  }

  #waits(aheadBytes: number, isLast: boolean): boolean {
    if (this.#edit?.do === 'look') return aheadBytes < this.#edit.byteCount && !isLast;
    return this.#leftBytes > 0 && aheadBytes === 0;
  }

  *#step(edit: Edit, window: ReadWindow): Generator<Uint8Array> {
    if (edit.do === 'look') this.#next(window.ahead());
    else if (edit.do === 'insert') {
      yield* window.kept();
      this.shrunkBytes -= edit.bytes.byteLength;
      yield edit.bytes;
      this.#next(NOTHING);
    } else {
      yield* this.#consume(edit.do, window);
      if (this.#leftBytes === 0) this.#next(NOTHING);
    }
  }

  *#consume(how: 'keep' | 'remove' | 'blank', window: ReadWindow): Generator<Uint8Array> {
    const most = how === 'blank' ? MAX_BLANK_BYTES : Infinity;
    const byteCount = Math.min(this.#leftBytes, window.aheadBytes, most);
    this.#leftBytes -= byteCount;
    if (how === 'keep') return window.keep(byteCount);
    yield* window.kept();
    window.skip(byteCount);
    if (how === 'remove') this.shrunkBytes += byteCount;
    else if (byteCount > 0) yield new Uint8Array(byteCount);
  }

  #next(seen: Buffer): void {
    const { done, value } = this.#edits.next(seen);
    this.#edit = done === true ? undefined : value;
    this.#leftBytes = this.#edit && 'byteCount' in this.#edit ? this.#edit.byteCount : 0;
  }
}
