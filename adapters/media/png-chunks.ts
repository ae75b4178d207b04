export const PNG_SIGNATURE_BYTES = 8;
const LENGTH_BYTES = 4;
const TYPE_BYTES = 4;
const CHECKSUM_BYTES = 4;

export const IHDR = typeNamed('IHDR');
export const PLTE = typeNamed('PLTE');
export const IDAT = typeNamed('IDAT');
export const IEND = typeNamed('IEND');
export const ACTL = typeNamed('acTL');
export const EXIF = typeNamed('eXIf');
export const PHYS = typeNamed('pHYs');
export const TEXT = typeNamed('tEXt');
export const ZTXT = typeNamed('zTXt');
export const ITXT = typeNamed('iTXt');

/** Where a chunk is: a file can have millions, so that none is cut out before it is wanted. */
export interface PngChunk {
  /** The four letters of its name as a number. */
  readonly type: number;
  readonly typeAt: number;
  readonly contentAt: number;
  /** Where the content ends and its checksum, of type and content, begins. */
  readonly checksumAt: number;
  /** Where the next chunk begins. */
  readonly end: number;
}

/** The chunks of a file that begins with a PNG's signature, up to the first that is not whole. Checksums are not checked. */
export function* pngChunks(bytes: Buffer): Generator<PngChunk> {
  for (let at = PNG_SIGNATURE_BYTES; at + LENGTH_BYTES + TYPE_BYTES + CHECKSUM_BYTES <= bytes.length;) {
    const typeAt = at + LENGTH_BYTES;
    const contentAt = typeAt + TYPE_BYTES;
    const checksumAt = contentAt + bytes.readUInt32BE(at);
    const end = checksumAt + CHECKSUM_BYTES;
    if (end > bytes.length) return;
    yield { type: bytes.readUInt32BE(typeAt), typeAt, contentAt, checksumAt, end };
    at = end;
  }
}

function typeNamed(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE(0);
}
