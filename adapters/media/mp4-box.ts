/** The longest header: size, type, long size, and the type of a box of type `uuid`. */
export const LOOKED_AT_BYTES = 32;

/** The number of boxes after which other work of the process may run. */
export const BOXES_A_TURN = 1024;

const HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
const MANIFEST_UUID = 'd8fec3d61b0e483c92975828877ec481';

export interface Box {
  readonly type: string;
  readonly headerBytes: 8 | 16;
  /** Infinity for a box that ends with the file. */
  readonly contentBytes: number;
  /** Whether it has a C2PA manifest. */
  readonly isManifest: boolean;
}

/** The box that begins with these bytes, within `leftBytes`; undefined where there is none that is valid. */
export function boxIn(ahead: Buffer, leftBytes: number): Box | undefined {
  if (ahead.length < HEADER_BYTES) return undefined;
  const size = ahead.readUInt32BE(0);
  const headerBytes = size === 1 ? LONG_HEADER_BYTES : HEADER_BYTES;
  if (ahead.length < headerBytes) return undefined;
  let boxBytes = size;
  // Only the last box of a file may have no size.
  if (size === 0) boxBytes = leftBytes === Infinity ? Infinity : 0;
  if (size === 1) boxBytes = Number(ahead.readBigUInt64BE(HEADER_BYTES));
  if (boxBytes < headerBytes || boxBytes > leftBytes) return undefined;
  if (boxBytes !== Infinity && !Number.isSafeInteger(boxBytes)) return undefined;
  const type = ahead.toString('latin1', 4, HEADER_BYTES);
  const isManifest = type === 'uuid' && ahead.toString('hex', headerBytes, headerBytes + 16) === MANIFEST_UUID;
  return { type, headerBytes, contentBytes: boxBytes - headerBytes, isManifest };
}

/** The largest box of another kind that is part of a file, as players skip it; a larger one is what is behind the file. */
export const MAX_UNKNOWN_BYTES = 64 * 1024;
const BOX_NAME = /^[\x20-\x7e\xa9]{4}$/;

/** Whether a box of a kind that is not known at the top level is part of a file there. */
export function maySkip({ type, headerBytes, contentBytes }: Box): boolean {
  return headerBytes + contentBytes <= MAX_UNKNOWN_BYTES && BOX_NAME.test(type);
}

export interface InnerBox {
  readonly type: string;
  readonly content: Buffer;
  /** All that follows the header, up to the end of the box around it. */
  readonly rest: Buffer;
}

/** A demuxer that looks at the end of the box around it alone reads a box whose size is larger than any file. */
function boxBeyondAnyFile(ahead: Buffer): Box | undefined {
  if (ahead.length < LONG_HEADER_BYTES || ahead.readUInt32BE(0) !== 1) return undefined;
  if (ahead.readBigUInt64BE(HEADER_BYTES) <= Number.MAX_SAFE_INTEGER) return undefined;
  const type = ahead.toString('latin1', 4, HEADER_BYTES);
  return { type, headerBytes: LONG_HEADER_BYTES, contentBytes: Infinity, isManifest: false };
}

/** The boxes in a content, up to where it is not in order. */
export function* boxesOf(content: Buffer): Generator<InnerBox> {
  for (let at = 0; at < content.length;) {
    const ahead = content.subarray(at, at + LOOKED_AT_BYTES);
    const box = boxIn(ahead, Infinity) ?? boxBeyondAnyFile(ahead);
    if (box === undefined) return;
    const rest = content.subarray(at + box.headerBytes);
    yield { type: box.type, content: rest.subarray(0, box.contentBytes), rest };
    at += box.headerBytes + box.contentBytes;
  }
}

/** The contents of all boxes at this path. */
export function contentsOf(within: readonly Buffer[], path: readonly string[]): readonly Buffer[] {
  return path.reduce((contents, wanted) => contents.flatMap((content) => contentsIn(content, wanted)), within);
}

function contentsIn(within: Buffer, wanted: string): readonly Buffer[] {
  const contents: Buffer[] = [];
  for (const { type, content } of boxesOf(within)) if (type === wanted) contents.push(content);
  return contents;
}

/** The number of 32 bits at this place; 0 where there is none. */
export function wordAt(bytes: Buffer, at: number): number {
  return at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0;
}
