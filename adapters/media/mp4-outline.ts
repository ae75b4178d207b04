import { setImmediate } from 'node:timers/promises';
import type { ProbedFile } from '../../core/ports/media.js';
import { viewOf } from './container-end.js';
import {
  type Box,
  BOXES_A_TURN,
  boxesOf,
  boxIn,
  contentsOf,
  type InnerBox,
  LOOKED_AT_BYTES,
  maySkip,
  wordAt,
} from './mp4-box.js';
import { isTopBox, SAMPLE_ENTRIES, sampleEntryIn, STSD_BYTES, TRACK_HANDLERS } from './mp4-layout.js';
import { DAMAGED, type Invalid } from './probe-limits.js';

/** A file of which some parts are known, as it can be sent to a thread. In the order of the file. */
export interface KnownParts {
  /** The offset at which its last box ends. */
  readonly byteSize: number;
  readonly parts: readonly Part[];
}

interface Part {
  readonly at: number;
  readonly bytes: Uint8Array;
}

interface IndexBox {
  readonly type: string;
  readonly content: Buffer;
}

/**
 * The parts of an MP4 file that state the places of its samples: its index boxes, and the headers of all boxes. It
 * holds at most `MAX_INDEX_BYTES`, however long the file is.
 */
export interface Mp4Outline {
  readonly known: KnownParts;
  /** In the order of the file. */
  readonly indexBoxes: readonly IndexBox[];
  readonly heldBytes: number;
}

/**
 * Walks the top-level boxes, of the kinds an MP4 file has. After an index and media data were seen, bytes that are not
 * a box end the file. Other bytes are read only where they share a block with what the outline has.
 */
export async function readOutline(reader: BlockReader, byteSize: number): Promise<Mp4Outline | Invalid> {
  const parts: Part[] = [];
  const indexBoxes: IndexBox[] = [];
  const seen = new Set<string>();
  let [at, heldBytes] = [0, 0];
  while (at + 8 <= byteSize) {
    const head = await reader.bytes(at, Math.min(byteSize, at + LOOKED_AT_BYTES));
    const found = boxAt(head, byteSize - at);
    if (found === 'none') break;
    if ('invalid' in found) return found;
    const { box, boxBytes } = found;
    const end = at + boxBytes;
    const isIndex = INDEX_BOXES.has(box.type);
    const partEnd = Math.min(byteSize, Math.max(at + HEADER_BYTES, isIndex ? end : 0));
    heldBytes += BOX_BYTES + partEnd - at;
    if (heldBytes > MAX_INDEX_BYTES) return LONG_INDEX;
    const bytes = isIndex ? await reader.bytes(at, partEnd) : head.subarray(0, HEADER_BYTES);
    if (bytes.length !== partEnd - at) return DAMAGED;
    parts.push({ at, bytes });
    if (isIndex) indexBoxes.push({ type: box.type, content: bytes.subarray(box.headerBytes, boxBytes) });
    seen.add(box.type);
    at = end;
    if (parts.length % BOXES_A_TURN === 0) await setImmediate();
  }
  if (at === 0 || (at < byteSize && !(seen.has('moov') && seen.has('mdat')))) return DAMAGED;
  return { known: { byteSize: at, parts }, indexBoxes, heldBytes };
}

/** The box that begins with these bytes; `none` if they are not a box of an MP4 file. */
function boxAt(head: Buffer, leftBytes: number): { readonly box: Box; readonly boxBytes: number } | 'none' | Invalid {
  const type = head.toString('latin1', 4, 8);
  const box = boxIn(head, leftBytes);
  const boxBytes = box === undefined ? 0 : box.headerBytes + box.contentBytes;
  if (isTopBox(type)) {
    if (head.readUInt32BE(0) === 0) return NO_SIZE;
    return box === undefined ? DAMAGED : { box, boxBytes };
  }
  return box === undefined || !maySkip(box) ? 'none' : { box, boxBytes };
}

/** The number of bytes that one request to the store reads. */
export const BLOCK_BYTES = 1024 * 1024;

/** So much of one block stays with the next, for what lies in both. */
const KEPT_BYTES = 64;

/**
 * Reads a file forwards in blocks, and holds one. Each byte is read once at most: never more bytes than the file has,
 * in no more than one request for every `BLOCK_BYTES` of it, including partial blocks.
 */
export class BlockReader {
  #block: Buffer = Buffer.alloc(0);
  #blockAt = 0;

  constructor(private readonly file: ProbedFile) {}

  /**
   * A copy of the bytes from `from` (inclusive) to `to` (exclusive), which lie within the file; fewer where the store
   * has fewer. Bytes more than `KEPT_BYTES` before the `to` of an earlier call may be gone: the reader then throws.
   */
  async bytes(from: number, to: number): Promise<Buffer> {
    if (from < this.#blockAt) throw new RangeError('These bytes have been read before.');
    const parts: Buffer[] = [];
    for (let at = from; at < to;) {
      if (at >= this.#blockAt + this.#block.length) await this.#load(at);
      const part = this.#block.subarray(at - this.#blockAt, to - this.#blockAt);
      if (part.length === 0) break;
      parts.push(part);
      at += part.length;
    }
    return Buffer.concat(parts);
  }

  async #load(from: number): Promise<void> {
    const to = Math.min(from + BLOCK_BYTES, this.file.byteSize);
    const isNext = from === this.#blockAt + this.#block.length;
    const kept = this.#block.subarray(isNext ? -KEPT_BYTES : this.#block.length);
    const block = Buffer.allocUnsafeSlow(kept.length + to - from);
    let filled = kept.copy(block);
    for await (const chunk of await this.file.read({ from, to })) {
      block.set(chunk.subarray(0, block.length - filled), filled);
      filled = Math.min(block.length, filled + chunk.byteLength);
    }
    this.#block = block.subarray(0, filled);
    this.#blockAt = from - kept.length;
  }
}

/** The limit for all index boxes and box headers: enough for ten hours with 30 pictures a second. */
export const MAX_INDEX_BYTES = 16 * 1024 * 1024;
/** The overhead of a box beside its bytes. */
const BOX_BYTES = 128;

/**
 * The boxes that say where samples are. An `mfra` box says again where the `moof` boxes are, and could name other places: bytes of
 * another box that look like one. It is left out.
 */
const INDEX_BOXES = new Set(['moov', 'moof']);
/** The number of bytes that a demuxer requests to read the header of a box. */
const HEADER_BYTES = 16;

const NO_SIZE: Invalid = {
  invalid: 'The last box of the video does not state its size; send a file in which every box does.',
};

const LONG_INDEX: Invalid = {
  invalid: `The index of the video takes more than ${MAX_INDEX_BYTES / (1024 * 1024)} MiB.`,
};

/** The file's bytes from `from` (inclusive) to `to` (exclusive), with zeros for all that is not known. */
export function bytesOf({ parts }: KnownParts, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  for (let index = lastUpTo(from, parts, ({ at }) => at); index < parts.length; index += 1) {
    const { at, bytes: known } = parts[index]!;
    if (at >= to) break;
    const begin = Math.max(at, from);
    bytes.set(known.subarray(begin - at, to - at), begin - from);
  }
  return bytes;
}

/** The index of the last of these that begins at or before this place; 0 without one. They are in the order of the file. */
export function lastUpTo<T>(place: number, all: readonly T[], placeOf: (one: T) => number): number {
  let [low, high] = [0, all.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (placeOf(all[middle]!) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A top-level box of a file of which some parts are known. */
export interface TopBox {
  readonly type: string;
  readonly at: number;
  readonly contentAt: number;
  readonly contentEnd: number;
  /** The known part of its content: all of an index box. */
  readonly content: Buffer;
}

export function* topBoxes({ parts }: KnownParts): Generator<TopBox> {
  for (const { at, bytes } of parts) {
    const view = viewOf(bytes);
    const box = boxIn(view.subarray(0, LOOKED_AT_BYTES), Infinity);
    if (box === undefined) continue;
    const { type, headerBytes, contentBytes } = box;
    const contentAt = at + headerBytes;
    const content = view.subarray(headerBytes).subarray(0, contentBytes);
    yield { type, at, contentAt, contentEnd: contentAt + contentBytes, content };
  }
}

/** The contents of all `moov` boxes. */
export function moviesIn(known: KnownParts): readonly Buffer[] {
  return [...topBoxes(known)].filter(({ type }) => type === 'moov').map(({ content }) => content);
}

export function trackIdOf(trak: Buffer): number | undefined {
  const [tkhd] = contentsOf([trak], ['tkhd']);
  return tkhd === undefined ? undefined : wordAfterTimes(tkhd);
}

/** Behind a version, flags and two times, which take eight bytes each in version 1. */
export function wordAfterTimes(content: Buffer): number {
  return wordAt(content, content[0] === 1 ? 20 : 12);
}

export interface SampleEntryBox {
  readonly type: string;
  readonly content: Buffer;
  readonly boxes: readonly InnerBox[];
}

/** The sample entries of a track that are of a known format. */
export function sampleEntriesOf(trak: Buffer): readonly SampleEntryBox[] {
  return contentsOf([trak], ['mdia', 'minf', 'stbl', 'stsd']).flatMap((stsd) =>
    [...boxesOf(stsd.subarray(STSD_BYTES))].flatMap(({ type, content }) => {
      const entry = { type, headerBytes: 8, contentBytes: content.length, isManifest: false } as const;
      const ahead = Buffer.concat([Buffer.alloc(8), content.subarray(0, LOOKED_AT_BYTES)]);
      const known = sampleEntryIn(ahead, entry, stsd[0] ?? 0);
      return known === undefined ? [] : [{ type, content, boxes: [...boxesOf(content.subarray(known.fixedBytes))] }];
    }),
  );
}

/** The offset of the type in a handler box. */
const HANDLER_TYPE_AT = 8;

/**
 * Whether a track of an MP4 file is anything but pictures or sound: subtitles, chapters or timed metadata. Their texts are
 * samples, so that they stay in the file when their track is removed from its index.
 */
export function hasOtherTracks({ indexBoxes }: Mp4Outline): boolean {
  const movies = indexBoxes.filter(({ type }) => type === 'moov').map(({ content }) => content);
  return contentsOf(movies, ['trak']).some((track) => {
    const handlers = contentsOf([track], ['mdia', 'hdlr']).map((content) =>
      content.toString('latin1', HANDLER_TYPE_AT, HANDLER_TYPE_AT + 4),
    );
    const formats = contentsOf([track], ['mdia', 'minf', 'stbl', 'stsd']);
    return (
      handlers.length === 0 ||
      !handlers.every((type) => TRACK_HANDLERS.has(type)) ||
      !formats.every((content) => hasOnlyKnownFormats(content.subarray(STSD_BYTES)))
    );
  });
}

function hasOnlyKnownFormats(entries: Buffer): boolean {
  for (const { type } of boxesOf(entries)) if (!SAMPLE_ENTRIES.has(type)) return false;
  return true;
}
