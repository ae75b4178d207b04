import { CHUNK_HEADER_BYTES, RIFF_HEADER_BYTES } from '../webp-file.js';
import {
  blank,
  type CleaningPass,
  type Edits,
  insert,
  insertForMark,
  keep,
  keepManifest,
  look,
  overwrite,
  overwriteForMark,
  removeRest,
} from './edits.js';
import {
  MAX_EXIF_LOOKED_AT_BYTES,
  ORIENTATION_TIFF_BYTES,
  orientationOf,
  orientationTiff,
} from './exif-orientation.js';

const FRAME_HEADER_BYTES = 16;
const HAS_ALPHA = 0x10;
const HAS_XMP = 0x04;
const EXIF = 'Exif\0\0';

const CANVAS_BYTES = 10;
/** Up to where the first chunk has the size of its picture. */
const HEAD_BYTES = 30;
const MAX_RIFF_BYTES = 0xffff_fffe;

type KeptBytes = Readonly<Record<string, number>>;

/** The most bytes that are kept of a frame's chunks, and of the file's: picture, colours, animation. */
const FRAME: KeptBytes = { 'ALPH': Infinity, 'VP8 ': Infinity, 'VP8L': Infinity };
const FILE: KeptBytes = { ...FRAME, ICCP: Infinity, ANIM: 6 };
/** Readers ignore chunks of names that they do not know; this one is usual for bytes without meaning. */
const FILLER = Buffer.from('JUNK');

interface Chunk {
  readonly name: string;
  readonly dataBytes: number;
  /** With the byte that makes it even. */
  readonly paddedBytes: number;
}

/** How a file gets its mark, which has to be decided when its first bytes are known: they state its length. */
interface MarkPlan {
  /** The chunk of the mark; undefined where the file gets none. */
  readonly chunk?: Buffer;
  /** The chunk that turns a simple file into an extended one, which may have more chunks than the picture. */
  readonly canvas?: Buffer;
  /** Whether the file begins with its picture: readers look at nothing else then. */
  readonly isSimple: boolean;
  /** Whether the file says that it has XMP, which may be the mark already. */
  readonly hasXmp: boolean;
}

/**
 * The file keeps its length, as that is stated first, apart from the mark: what is not in the list becomes filler. EXIF data
 * is replaced by its orientation alone: whether there is any is stated before it.
 */
export function* webpEdits(pass: CleaningPass): Edits {
  const head = yield look(HEAD_BYTES);
  const riffBytes = head.readUInt32LE(4);
  const plan = markPlan(head, pass);
  // Some programs do not count the byte that makes the last chunk even.
  const lacksPadding = riffBytes % 2 === 1 && plan.chunk !== undefined;
  yield keep(4);
  if (plan.chunk !== undefined) {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(riffBytes + (lacksPadding ? 1 : 0) + plan.chunk.length + (plan.canvas?.length ?? 0));
    yield overwriteForMark(size);
  } else yield keep(4);
  yield keep(RIFF_HEADER_BYTES - 8);
  if (plan.canvas) yield insertForMark(plan.canvas);
  const isComplete = yield* chunksEdits(riffBytes + 8 - RIFF_HEADER_BYTES, plan, pass);
  if (!isComplete) {
    // The size that was written for the mark may be that of the whole file, which would make it valid without a mark.
    pass.isUnreadable = plan.chunk !== undefined;
    return;
  }
  if (lacksPadding) yield insert(Buffer.alloc(1));
  if (plan.chunk) {
    pass.isMarkedTwice = pass.isMarked;
    yield insertForMark(plan.chunk);
  }
  yield removeRest();
}

/** Whether the chunks fill the file exactly. */
function* chunksEdits(byteCount: number, plan: MarkPlan, pass: CleaningPass): Edits<boolean> {
  let leftBytes = byteCount;
  for (let isFirst = true; leftBytes > 0; isFirst = false) {
    const chunk = chunkIn(yield look(CHUNK_HEADER_BYTES), leftBytes, plan);
    if (chunk === undefined) return false;
    const { name, dataBytes, paddedBytes } = chunk;
    leftBytes -= CHUNK_HEADER_BYTES + paddedBytes;
    const mayBeMark = plan.hasXmp && name === 'XMP ' && leftBytes === 0 && !pass.isSecond;
    if (mayBeMark) yield* lastXmpEdits(chunk, plan, pass);
    else if (name === 'C2PA' && pass.keepsOnlyManifest()) yield keepManifest(CHUNK_HEADER_BYTES + paddedBytes);
    // Nothing but the picture was read in a simple file.
    else if (plan.isSimple && !isFirst) yield* chunkEdits(chunk, {});
    else if (name === 'EXIF' && dataBytes >= ORIENTATION_TIFF_BYTES) yield* exifEdits(chunk);
    else if (name === 'VP8X' && dataBytes >= CANVAS_BYTES) yield* canvasEdits(chunk, plan);
    else if (name === 'ANMF' && dataBytes >= FRAME_HEADER_BYTES) yield* frameEdits(chunk);
    else yield* chunkEdits(chunk, FILE);
  }
  return true;
}

function chunkIn(header: Buffer, leftBytes: number, plan?: MarkPlan): Chunk | undefined {
  if (header.length < CHUNK_HEADER_BYTES) return undefined;
  const dataBytes = header.readUInt32LE(4);
  const isUnpadded = plan?.chunk !== undefined && CHUNK_HEADER_BYTES + dataBytes === leftBytes;
  const paddedBytes = dataBytes + (isUnpadded ? 0 : dataBytes % 2);
  if (CHUNK_HEADER_BYTES + paddedBytes > leftBytes) return undefined;
  return { name: header.toString('latin1', 0, 4), dataBytes, paddedBytes };
}

/** A file whose first chunk is neither a canvas nor a picture gets no mark: it is not valid. */
function markPlan(head: Buffer, pass: CleaningPass): MarkPlan {
  const first = chunkIn(head.subarray(RIFF_HEADER_BYTES), Infinity);
  const isSimple = first?.name === 'VP8 ' || first?.name === 'VP8L';
  const chunk = pass.packet && webpChunk('XMP ', pass.packet);
  const riffBytes = head.readUInt32LE(4);
  if (chunk === undefined || first === undefined || riffBytes + 2 * chunk.length > MAX_RIFF_BYTES)
    return { hasXmp: false, isSimple };
  const data = head.subarray(RIFF_HEADER_BYTES + CHUNK_HEADER_BYTES);
  if (first.name === 'VP8X' && first.dataBytes >= CANVAS_BYTES && data.length > 0)
    return { chunk, hasXmp: (data[0]! & HAS_XMP) !== 0, isSimple };
  const canvas = first.name === 'VP8 ' ? lossyCanvas(data) : first.name === 'VP8L' ? losslessCanvas(data) : undefined;
  return canvas === undefined ? { hasXmp: false, isSimple } : { chunk, canvas, hasXmp: false, isSimple };
}

function lossyCanvas(data: Buffer): Buffer | undefined {
  if (data.length < 10 || data.readUIntBE(3, 3) !== 0x9d012a) return undefined;
  const [widthPx, heightPx] = [data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff];
  return widthPx === 0 || heightPx === 0 ? undefined : canvasOf(widthPx - 1, heightPx - 1, false);
}

function losslessCanvas(data: Buffer): Buffer | undefined {
  if (data.length < 5 || data[0] !== 0x2f) return undefined;
  const bits = data.readUInt32LE(1);
  return canvasOf(bits & 0x3fff, (bits >>> 14) & 0x3fff, ((bits >>> 28) & 1) === 1);
}

function canvasOf(lastX: number, lastY: number, hasAlpha: boolean): Buffer {
  const data = Buffer.alloc(CANVAS_BYTES);
  data[0] = HAS_XMP | (hasAlpha ? HAS_ALPHA : 0);
  data.writeUIntLE(lastX, 4, 3);
  data.writeUIntLE(lastY, 7, 3);
  return webpChunk('VP8X', data);
}

function webpChunk(name: string, data: Buffer): Buffer {
  const header = Buffer.alloc(CHUNK_HEADER_BYTES);
  header.write(name, 'latin1');
  header.writeUInt32LE(data.length, 4);
  return Buffer.concat([header, data, Buffer.alloc(data.length % 2)]);
}

/**
 * XMP at the end of a file that says that it has some is the mark of an earlier pass, or becomes filler. When it is found, the
 * stated length has room for another one, which a second pass takes back.
 */
function* lastXmpEdits(chunk: Chunk, { chunk: mark }: MarkPlan, pass: CleaningPass): Edits {
  const chunkBytes = CHUNK_HEADER_BYTES + chunk.paddedBytes;
  const ahead = chunkBytes === mark?.length ? (yield look(chunkBytes)).subarray(0, chunkBytes) : undefined;
  if (ahead === undefined || mark?.equals(ahead) !== true) return yield* chunkEdits(chunk, FILE);
  pass.adoptMark();
  yield keep(chunkBytes);
}

function* chunkEdits({ name, paddedBytes }: Chunk, keptBytes: KeptBytes): Edits {
  const most = keptBytes[name];
  if (most === undefined) {
    yield overwrite(FILLER);
    yield keep(CHUNK_HEADER_BYTES - FILLER.length);
  } else yield keep(CHUNK_HEADER_BYTES + Math.min(paddedBytes, most));
  yield blank(Math.max(0, paddedBytes - (most ?? 0)));
}

/** The canvas and what the file has; of XMP, only the mark. */
function* canvasEdits({ paddedBytes }: Chunk, { chunk: mark }: MarkPlan): Edits {
  const flags = (yield look(CHUNK_HEADER_BYTES + 1))[CHUNK_HEADER_BYTES];
  yield keep(CHUNK_HEADER_BYTES);
  if (flags !== undefined)
    yield mark ? overwriteForMark(Uint8Array.of(flags | HAS_XMP)) : overwrite(Uint8Array.of(flags & ~HAS_XMP));
  yield keep(CANVAS_BYTES - 1);
  yield blank(paddedBytes - CANVAS_BYTES);
}

function* exifEdits({ dataBytes, paddedBytes }: Chunk): Edits {
  const lookedAtBytes = Math.min(dataBytes, MAX_EXIF_LOOKED_AT_BYTES);
  const ahead = yield look(CHUNK_HEADER_BYTES + lookedAtBytes);
  const exif = ahead.subarray(CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES + lookedAtBytes);
  const hasPrefix = exif.toString('latin1', 0, EXIF.length) === EXIF;
  const tiff = orientationTiff(orientationOf(hasPrefix ? exif.subarray(EXIF.length) : exif));
  yield keep(CHUNK_HEADER_BYTES);
  yield overwrite(tiff);
  yield blank(paddedBytes - tiff.length);
}

/**
 * The chunks within a frame. If they are not in order, the rest of the frame is blanked, since a reader may skip it.
 */
function* frameEdits({ paddedBytes }: Chunk): Edits {
  yield keep(CHUNK_HEADER_BYTES + FRAME_HEADER_BYTES);
  let leftBytes = paddedBytes - FRAME_HEADER_BYTES;
  while (leftBytes > 0) {
    const chunk = chunkIn(yield look(CHUNK_HEADER_BYTES), leftBytes);
    if (chunk === undefined) yield blank(leftBytes);
    else yield* chunkEdits(chunk, FRAME);
    leftBytes -= chunk === undefined ? leftBytes : CHUNK_HEADER_BYTES + chunk.paddedBytes;
  }
}
