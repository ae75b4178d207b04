import { blank, type Edits, keep, look, overwrite } from './edits.js';
import {
  MAX_EXIF_LOOKED_AT_BYTES,
  ORIENTATION_TIFF_BYTES,
  orientationOf,
  orientationTiff,
} from './exif-orientation.js';

const RIFF_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
const FRAME_HEADER_BYTES = 16;
const HAS_XMP = 0x04;
const EXIF = 'Exif\0\0';

const CANVAS_BYTES = 10;

type KeptBytes = Readonly<Record<string, number>>;

/** The most bytes that are kept of a frame's chunks, and of the file's: picture, colours, animation, C2PA manifest. */
const FRAME: KeptBytes = { 'ALPH': Infinity, 'VP8 ': Infinity, 'VP8L': Infinity };
const FILE: KeptBytes = { ...FRAME, ICCP: Infinity, ANIM: 6, C2PA: Infinity };
/** Readers ignore chunks of names that they do not know; this one is usual for bytes without meaning. */
const FILLER = Buffer.from('JUNK');

interface Chunk {
  readonly name: string;
  readonly dataBytes: number;
  /** With the byte that makes it even. */
  readonly paddedBytes: number;
}

/**
 * The file keeps its length, as that is stated first: what is not in the list becomes filler. EXIF data is replaced by
 * its orientation alone: whether there is any is stated before it.
 */
export function* webpEdits(): Edits {
  const riff = yield look(RIFF_HEADER_BYTES);
  yield keep(RIFF_HEADER_BYTES);
  let leftBytes = riff.readUInt32LE(4) + 8 - RIFF_HEADER_BYTES;
  for (;;) {
    const chunk = chunkIn(yield look(CHUNK_HEADER_BYTES), leftBytes);
    if (chunk === undefined) return;
    leftBytes -= CHUNK_HEADER_BYTES + chunk.paddedBytes;
    if (chunk.name === 'EXIF' && chunk.dataBytes >= ORIENTATION_TIFF_BYTES) yield* exifEdits(chunk);
    else if (chunk.name === 'VP8X' && chunk.dataBytes >= CANVAS_BYTES) yield* canvasEdits(chunk);
    else if (chunk.name === 'ANMF' && chunk.dataBytes >= FRAME_HEADER_BYTES) yield* frameEdits(chunk);
    else yield* chunkEdits(chunk, FILE);
  }
}

function chunkIn(header: Buffer, leftBytes: number): Chunk | undefined {
  if (header.length < CHUNK_HEADER_BYTES) return undefined;
  const dataBytes = header.readUInt32LE(4);
  const paddedBytes = dataBytes + (dataBytes % 2);
  if (CHUNK_HEADER_BYTES + paddedBytes > leftBytes) return undefined;
  return { name: header.toString('latin1', 0, 4), dataBytes, paddedBytes };
}

function* chunkEdits({ name, paddedBytes }: Chunk, keptBytes: KeptBytes): Edits {
  const most = keptBytes[name];
  if (most === undefined) {
    yield* overwrite(FILLER);
    yield keep(CHUNK_HEADER_BYTES - FILLER.length);
  } else yield keep(CHUNK_HEADER_BYTES + Math.min(paddedBytes, most));
  yield blank(Math.max(0, paddedBytes - (most ?? 0)));
}

/** The canvas and what the file has; but no XMP. */
function* canvasEdits({ paddedBytes }: Chunk): Edits {
  const flags = (yield look(CHUNK_HEADER_BYTES + 1))[CHUNK_HEADER_BYTES];
  yield keep(CHUNK_HEADER_BYTES);
  if (flags !== undefined) yield* overwrite(Uint8Array.of(flags & ~HAS_XMP));
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
  yield* overwrite(tiff);
  yield blank(paddedBytes - tiff.length);
}

/** The chunks within a frame. Where they are not in order, the rest of the frame is blanked: a reader may skip it. */
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
