import { setImmediate } from 'node:timers/promises';
import type { BlockReader } from './block-reader.js';
import { type Box, boxIn, BOXES_A_TURN, LOOKED_AT_BYTES, maySkip } from './mp4-box.js';
import type { Invalid } from './probe-limits.js';

/** What all index boxes and all box headers take: enough for ten hours with 30 pictures a second. */
export const MAX_INDEX_BYTES = 16 * 1024 * 1024;
/** What a box takes beside its bytes. */
const BOX_BYTES = 128;

const TOP_BOXES = new Set([
  'ftyp',
  'moov',
  'mdat',
  'free',
  'skip',
  'wide',
  'udta',
  'meta',
  'uuid',
  'moof',
  'mfra',
  'sidx',
  'styp',
  'ssix',
  'prft',
  'emsg',
  'pdin',
]);
/**
 * The boxes that say where samples are. An `mfra` box says again where the `moof` boxes are, and could name other places: bytes of
 * another box that look like one. It is left out.
 */
const INDEX_BOXES = new Set(['moov', 'moof']);
/** What a demuxer asks for to read the header of a box. */
const HEADER_BYTES = 16;

const DAMAGED: Invalid = { invalid: 'The file is damaged or incomplete.' };
const NO_SIZE: Invalid = {
  invalid: 'The last box of the video does not state its size; send a file in which every box does.',
};
const LONG_INDEX: Invalid = {
  invalid: `The index of the video takes more than ${MAX_INDEX_BYTES / (1024 * 1024)} MiB.`,
};

interface Part {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A file of which some parts are known, as it can be sent to a thread. In the order of the file. */
export interface KnownParts {
  /** Where its last box ends. */
  readonly byteSize: number;
  readonly parts: readonly Part[];
}

interface IndexBox {
  readonly type: string;
  readonly content: Buffer;
}

/**
 * What of an MP4 file says where its samples are: its index boxes, and the headers of all boxes. It holds at most
 * `MAX_INDEX_BYTES`, however long the file is.
 */
export interface Mp4Outline {
  readonly known: KnownParts;
  /** In the order of the file. */
  readonly indexBoxes: readonly IndexBox[];
  readonly heldBytes: number;
}

/** The file's bytes from `from` (inclusive) to `to` (exclusive), with zeros for all that is not known. */
export function bytesOf({ parts }: KnownParts, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  for (let index = partAt(parts, from); index < parts.length; index += 1) {
    const { at, bytes: known } = parts[index]!;
    if (at >= to) break;
    const begin = Math.max(at, from);
    bytes.set(known.subarray(begin - at, to - at), begin - from);
  }
  return bytes;
}

/** The index of the last part that begins at or before this place. */
function partAt(parts: readonly Part[], place: number): number {
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (parts[middle]!.at <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Walks the top-level boxes, of the kinds an MP4 file has. Once an index and media data were seen, bytes that are no box end the
 * file. Other bytes are read only where they share a block with what the outline has.
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

/** The box that begins with these bytes; `none` where they are no box of an MP4 file. */
function boxAt(head: Buffer, leftBytes: number): { readonly box: Box; readonly boxBytes: number } | 'none' | Invalid {
  const type = head.toString('latin1', 4, 8);
  const box = boxIn(head, leftBytes);
  const boxBytes = box === undefined ? 0 : box.headerBytes + box.contentBytes;
  if (TOP_BOXES.has(type)) {
    if (head.readUInt32BE(0) === 0) return NO_SIZE;
    return box === undefined ? DAMAGED : { box, boxBytes };
  }
  return box === undefined || !maySkip(box) ? 'none' : { box, boxBytes };
}
