/** The orientation of a picture that is stored as it is shown. */
export const UPRIGHT = 1;

/** Bytes of what `orientationTiff` makes. */
export const ORIENTATION_TIFF_BYTES = 26;

/** More of EXIF data is not looked at: the orientation is in its first directory. */
export const MAX_EXIF_LOOKED_AT_BYTES = 64 * 1024;

const ORIENTATION_TAG = 0x0112;
const SHORT = 3;
const ENTRY_BYTES = 12;

/** The orientation (1 to 8) that EXIF data in the form of TIFF states; `UPRIGHT` where it states none that is valid. */
export function orientationOf(tiff: Buffer): number {
  const order = tiff.toString('latin1', 0, 2);
  if (tiff.length < 8 || (order !== 'II' && order !== 'MM')) return UPRIGHT;
  const uint16 = (at: number) => (order === 'II' ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const uint32 = (at: number) => (order === 'II' ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at));
  const directoryAt = uint32(4);
  if (uint16(2) !== 42 || directoryAt + 2 > tiff.length) return UPRIGHT;
  const entries = uint16(directoryAt);
  for (let index = 0, at = directoryAt + 2; index < entries && at + ENTRY_BYTES <= tiff.length; index += 1) {
    if (uint16(at) === ORIENTATION_TAG && uint16(at + 2) === SHORT && isWithinEntry(uint32(at + 4))) {
      const orientation = uint16(at + 8);
      if (orientation >= 1 && orientation <= 8) return orientation;
    }
    at += ENTRY_BYTES;
  }
  return UPRIGHT;
}

/** Whether so many values of two bytes are in the entry itself: it has room for two, of which browsers take the first. */
function isWithinEntry(count: number): boolean {
  return count === 1 || count === 2;
}

/** Whether an orientation, if there is one, has width and height swapped when it is shown. */
export function swapsSides(orientation: number = UPRIGHT): boolean {
  return orientation >= 5 && orientation <= 8;
}

/** EXIF data with this orientation and nothing else, of `ORIENTATION_TIFF_BYTES`. */
export function orientationTiff(orientation: number): Buffer {
  const tiff = Buffer.alloc(ORIENTATION_TIFF_BYTES);
  tiff.write('MM', 0, 'latin1');
  tiff.writeUInt16BE(42, 2);
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(ORIENTATION_TAG, 10);
  tiff.writeUInt16BE(SHORT, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  return tiff;
}
