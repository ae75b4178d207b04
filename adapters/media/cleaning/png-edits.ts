import { crc32 } from 'node:zlib';
import { type Edits, insert, keep, look, remove } from './edits.js';
import { MAX_EXIF_LOOKED_AT_BYTES, orientationOf, orientationTiff, UPRIGHT } from './exif-orientation.js';

const SIGNATURE_BYTES = 8;
/** A chunk's length and type. */
const HEADER_BYTES = 8;
const CHECKSUM_BYTES = 4;

/**
 * The most bytes of the chunks without which the picture is not shown the same: colours, transparency, density,
 * animation. A decoder ignores one of another size. `caBX` has a C2PA manifest.
 */
const KEPT_BYTES: Readonly<Record<string, number>> = {
  tRNS: 256,
  cHRM: 32,
  gAMA: 4,
  iCCP: Infinity,
  sBIT: 4,
  sRGB: 1,
  cICP: 4,
  mDCV: 24,
  cLLI: 8,
  bKGD: 6,
  hIST: 512,
  pHYs: 9,
  acTL: 8,
  fcTL: 26,
  fdAT: Infinity,
  caBX: Infinity,
};

/**
 * Whether the first letter is a capital: a decoder must not skip such a chunk. One that it does not know makes the file
 * invalid, so that all of them can be kept.
 */
function isCritical(type: string): boolean {
  return (type.charCodeAt(0) & 0x20) === 0;
}

/** Removes chunks that are neither critical nor in the list. Of EXIF data, an orientation stays: browsers apply it. */
export function* pngEdits(): Edits {
  yield keep(SIGNATURE_BYTES);
  for (;;) {
    const header = yield look(HEADER_BYTES);
    if (header.length < HEADER_BYTES) return;
    const dataBytes = header.readUInt32BE(0);
    const type = header.toString('latin1', 4, HEADER_BYTES);
    const chunkBytes = HEADER_BYTES + dataBytes + CHECKSUM_BYTES;
    if (type === 'eXIf') yield* exifEdits(dataBytes);
    else yield isCritical(type) || dataBytes <= (KEPT_BYTES[type] ?? -1) ? keep(chunkBytes) : remove(chunkBytes);
    if (type === 'IEND') return;
  }
}

function* exifEdits(dataBytes: number): Edits {
  const lookedAtBytes = Math.min(dataBytes, MAX_EXIF_LOOKED_AT_BYTES);
  const chunk = yield look(HEADER_BYTES + lookedAtBytes);
  const orientation = orientationOf(chunk.subarray(HEADER_BYTES, HEADER_BYTES + lookedAtBytes));
  yield remove(HEADER_BYTES + dataBytes + CHECKSUM_BYTES);
  if (orientation !== UPRIGHT) yield insert(pngChunk('eXIf', orientationTiff(orientation)));
}

function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(HEADER_BYTES + data.length + CHECKSUM_BYTES);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, HEADER_BYTES);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, HEADER_BYTES + data.length)), HEADER_BYTES + data.length);
  return chunk;
}
