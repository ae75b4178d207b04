import { viewOf } from '../container-end.js';
import type { CleaningPass } from './cleaning-pass.js';
import type { Edit, Edits } from './edits.js';
import { ReadWindow } from './read-window.js';

/**
 * No file that was made in good faith has more metadata, or more behind its end. Where more was removed, the output ends:
 * it is incomplete, unless only what follows its end is left out. Removed bytes do not count against the limit of the bytes
 * that are stored.
 */
export const MAX_REMOVED_BYTES = 64 * 1024 * 1024;

const MAX_BLANK_BYTES = 64 * 1024;
const ZEROS = Buffer.alloc(MAX_BLANK_BYTES);
/** Of one chunk; more are joined into one. */
const MAX_PIECES = 16;
const NOTHING = Buffer.alloc(0);

/**
 * Applies edits to a stream, and notes in `pass` what they did. What is kept is passed on without a copy, where a chunk has few
 * edits; only what an edit looks at is held. Throws only what the source throws, and closes the source when the reader stops.
 */
export async function* edited(
  bytes: AsyncIterable<Uint8Array>,
  edits: Edits,
  pass: CleaningPass,
): AsyncGenerator<Uint8Array> {
  const editor = new Editor(edits, pass);
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
  readonly #pass: CleaningPass;
  #edit: Edit | undefined;
  /** What the current edit has still to keep, remove or blank. */
  #leftBytes = 0;
  #writtenBytes = 0;
  /** Chunks that are held because an edit looks at them. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  constructor(edits: Edits, pass: CleaningPass) {
    this.#edits = edits;
    this.#pass = pass;
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
    while (this.#edit !== undefined && !this.#waits(this.#edit, window.aheadBytes, isLast))
      yield* this.#step(this.#edit, window);
    if (this.#edit === undefined) window.keep(window.aheadBytes);
    yield* window.kept();
    if (isLast && this.#edit?.do === 'replace') yield this.#edit.bytes.subarray(0, window.aheadBytes);
    this.#heldBytes = window.aheadBytes;
    this.#held = this.#heldBytes === 0 ? [] : [window.ahead()];
  }

  #waits(edit: Edit, aheadBytes: number, isLast: boolean): boolean {
    if (edit.do === 'look') return aheadBytes < edit.byteCount && !isLast;
    if (edit.do === 'replace') return aheadBytes < edit.byteCount;
    return this.#leftBytes > 0 && aheadBytes === 0;
  }

  *#step(edit: Edit, window: ReadWindow): Generator<Uint8Array> {
    if (edit.do === 'look') this.#next(window.ahead());
    else if (edit.do === 'replace') {
      yield* this.#replace(edit, window);
      this.#next(NOTHING);
    } else {
      yield* this.#consume(edit.do, window);
      if (this.#leftBytes === 0) this.#next(NOTHING);
    }
  }

  *#replace(
    { byteCount, bytes, isForMark }: Extract<Edit, { do: 'replace' }>,
    window: ReadWindow,
  ): Generator<Uint8Array> {
    const had = window.ahead().subarray(0, byteCount);
    if (had.equals(bytes)) window.keep(byteCount);
    else {
      yield* window.kept();
      window.skip(byteCount);
      yield bytes;
      this.shrunkBytes += byteCount - bytes.byteLength;
      if (isForMark)
        this.#pass.patches.push({ at: this.#writtenBytes, writtenBytes: bytes.byteLength, had: Buffer.from(had) });
      else this.#pass.hasChanged = true;
    }
    this.#writtenBytes += bytes.byteLength;
  }

  *#consume(how: 'keep' | 'keep manifest' | 'remove' | 'blank', window: ReadWindow): Generator<Uint8Array> {
    const most = how === 'blank' ? MAX_BLANK_BYTES : Infinity;
    const byteCount = Math.min(this.#leftBytes, window.aheadBytes, most);
    this.#leftBytes -= byteCount;
    if (byteCount === 0) return;
    if (how !== 'remove') this.#writtenBytes += byteCount;
    if (how === 'keep manifest') this.#pass.scanManifest(window.ahead().subarray(0, byteCount));
    const isKept = how === 'keep' || how === 'keep manifest';
    if (isKept || (how === 'blank' && isBlank(window.ahead().subarray(0, byteCount)))) return window.keep(byteCount);
    this.#pass.hasChanged = true;
    yield* window.kept();
    window.skip(byteCount);
    if (how === 'remove') this.shrunkBytes += byteCount;
    else yield new Uint8Array(byteCount);
  }

  #next(seen: Buffer): void {
    const { done, value } = this.#edits.next(seen);
    this.#edit = done === true ? undefined : value;
    this.#leftBytes = this.#edit && this.#edit.do !== 'replace' ? this.#edit.byteCount : 0;
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return viewOf(bytes).equals(ZEROS.subarray(0, bytes.byteLength));
}
