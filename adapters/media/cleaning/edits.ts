import type { AiMark } from '../../../core/media/ai-mark.js';
import type { CleanOptions } from '../../../core/ports/media.js';
import { viewOf } from '../container-end.js';
import { xmpPacket } from '../xmp-packet.js';

/** One step over a file, in the order of its bytes. */
export type Edit =
  /** Waits for this number of further bytes without consuming them. It returns fewer at the end of the file. */
  | { readonly do: 'look'; readonly byteCount: number }
  /**
   * Passes the next bytes on: unchanged, not at all, or as zeros. A file that ends before has no edits after this one.
   * Bytes of a manifest that are kept are searched for the words that say AI.
   */
  | { readonly do: 'keep' | 'keep manifest' | 'remove' | 'blank'; readonly byteCount: number }
  /**
   * Writes `bytes` in place of the next `byteCount`. If the file ends within those, only as many are written, and there
   * are no edits after this one. Bytes that are written for the mark do not count as a change of the provider's file,
   * and can be undone.
   */
  | { readonly do: 'replace'; readonly byteCount: number; readonly bytes: Uint8Array; readonly isForMark: boolean };

/**
 * The edits of one file, made as it is read. The answer to a `look` is the next bytes: so many as it asked for, or more
 * where they are at hand. After the last edit, the rest of the file is kept.
 */
export type Edits<Result = void> = Generator<Edit, Result, Buffer>;

export const look = (byteCount: number): Edit => ({ do: 'look', byteCount });
export const keep = (byteCount: number): Edit => ({ do: 'keep', byteCount });
export const keepManifest = (byteCount: number): Edit => ({ do: 'keep manifest', byteCount });
export const remove = (byteCount: number): Edit => ({ do: 'remove', byteCount });
export const blank = (byteCount: number): Edit => ({ do: 'blank', byteCount });
export const insert = (bytes: Uint8Array): Edit => replace(0, bytes);
/** Overwrites the next bytes of the file, whose length does not change. */
export const overwrite = (bytes: Uint8Array): Edit => replace(bytes.byteLength, bytes);
export const insertForMark = (bytes: Uint8Array): Edit => ({ ...replace(0, bytes), isForMark: true });
export const overwriteForMark = (bytes: Uint8Array): Edit => ({
  ...replace(bytes.byteLength, bytes),
  isForMark: true,
});

/** Removes all that follows the end of the content. */
export const removeRest = (): Edit => remove(Infinity);

export function replace(byteCount: number, bytes: Uint8Array): Extract<Edit, { do: 'replace' }> {
  return { do: 'replace', byteCount, bytes, isForMark: false };
}

/** The bytes that were written for the mark, by their place in the output, and the bytes that the file had there. */
export interface Patch {
  readonly at: number;
  readonly writtenBytes: number;
  readonly had: Uint8Array;
}

/** The options of a second pass, with what the first one knows. */
export interface SecondPass extends CleanOptions {
  readonly isSecond: true;
  /** The patches that `restore` undoes. */
  readonly patches?: readonly Patch[];
}

/** The values of a digital source type that say AI: a manifest has them as plain bytes, unless it is compressed. */
const SAYS_AI = ['trainedAlgorithmicMedia', 'compositeWithTrainedAlgorithmicMedia'];
const MAX_VALUE_BYTES = Math.max(...SAYS_AI.map((value) => value.length));

/**
 * The findings of one pass over a file. A manifest stays while nothing of the file had to change, in place of the mark.
 * Later bytes of the stream may make that wrong; then the result needs a second pass.
 */
export class CleaningPass {
  /** The mark's XMP packet; undefined where no mark is to be written. */
  readonly packet: Buffer | undefined;
  readonly isSecond: boolean;
  /** Whether the provider's file was changed, apart from the mark. */
  hasChanged = false;
  /** Whether the output has the mark. */
  isMarked = false;
  /** Set where a mark was written into a file that turned out to have it. */
  isMarkedTwice = false;
  /** Set when a mark was written into a file whose structure turned out to be invalid. */
  isUnreadable = false;
  readonly patches: Patch[] = [];
  readonly #mark: { readonly mark?: AiMark };
  readonly #keepsManifests: boolean;
  #hasManifest = false;
  #saysAi = false;
  /** The last bytes of the manifest so far: a value may lie across two pieces. */
  #tail = '';

  constructor({ mark, manifests, ...others }: CleanOptions) {
    this.#mark = mark === undefined ? {} : { mark };
    this.packet = mark === undefined ? undefined : xmpPacket(mark);
    this.#keepsManifests = manifests === 'keep';
    this.isSecond = 'isSecond' in others;
  }

  /** Whether the mark is to be written, at its place. */
  get writesMark(): boolean {
    return this.packet !== undefined && !this.isMarked && !this.#hasManifest;
  }

  /** Whether a manifest that begins here stays. */
  keepsManifest(): boolean {
    const isKept = this.#keepsManifests && !this.hasChanged;
    if (isKept) this.#hasManifest = true;
    return isKept;
  }

  /** The same, in a format of which a file has one manifest at most: readers take none of two for valid. */
  keepsOnlyManifest(): boolean {
    return !this.#hasManifest && this.keepsManifest();
  }

  /** Takes the next bytes of a manifest that is kept. */
  scanManifest(bytes: Buffer): void {
    if (this.#saysAi) return;
    const seam = this.#tail + bytes.toString('latin1', 0, MAX_VALUE_BYTES);
    this.#saysAi = SAYS_AI.some((value) => seam.includes(value) || bytes.includes(value, 0, 'latin1'));
    this.#tail = (this.#tail + bytes.subarray(-MAX_VALUE_BYTES).toString('latin1')).slice(-MAX_VALUE_BYTES);
  }

  /** Takes a mark as it is that the file has at its place. A manifest beside it would not be alone. */
  adoptMark(): void {
    this.isMarked = true;
    this.hasChanged = true;
  }

  /** With which options the output is to be cleaned once more. */
  secondPass(): SecondPass | undefined {
    if (this.isSecond) return undefined;
    const drop: SecondPass = { ...this.#mark, manifests: 'drop', isSecond: true };
    const restore: SecondPass = { ...drop, manifests: 'restore', patches: this.patches };
    if (this.isUnreadable) return restore;
    if (!this.#hasManifest) return this.isMarkedTwice ? restore : undefined;
    if (this.hasChanged || !this.#saysAi) return drop;
    return this.patches.length === 0 ? undefined : restore;
  }
}

/** The bytes of a stream that are at hand. Neighbours that are kept come out as one piece, without a copy. */
export class ReadWindow {
  readonly #bytes: Uint8Array;
  #at = 0;
  #keptFrom = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get aheadBytes(): number {
    return this.#bytes.byteLength - this.#at;
  }

  ahead(): Buffer {
    return viewOf(this.#bytes.subarray(this.#at));
  }

  keep(byteCount: number): void {
    this.#at += byteCount;
  }

  /** To be called after `kept`. */
  skip(byteCount: number): void {
    this.#at += byteCount;
    this.#keptFrom = this.#at;
  }

  /** The bytes that were kept and not yet taken. */
  *kept(): Generator<Uint8Array> {
    if (this.#at > this.#keptFrom) yield this.#bytes.subarray(this.#keptFrom, this.#at);
    this.#keptFrom = this.#at;
  }
}

/**
 * No file that was made in good faith has more metadata, or more behind its end. After more removed bytes than this,
 * the output ends: it is incomplete, unless only bytes after the file's end are left out. Removed bytes do not count
 * against the limit of the bytes that are stored.
 */
export const MAX_REMOVED_BYTES = 64 * 1024 * 1024;

const MAX_BLANK_BYTES = 64 * 1024;
const ZEROS = Buffer.alloc(MAX_BLANK_BYTES);
/** The most pieces of one chunk; more are joined into one. */
const MAX_PIECES = 16;
const NOTHING = Buffer.alloc(0);

/**
 * Applies edits to a stream, and notes in `pass` what they did. Kept bytes are passed on without a copy if a chunk has
 * few edits; only the bytes that an edit looks at are held. Throws only what the source throws, and closes the source
 * when the reader stops.
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
  /** The number of bytes by which the output is shorter than the input. */
  shrunkBytes = 0;
  readonly #edits: Edits;
  readonly #pass: CleaningPass;
  #edit: Edit | undefined;
  /** The bytes that the current edit has still to keep, remove or blank. */
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
