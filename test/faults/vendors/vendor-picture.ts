import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { pngChunk } from '../../fixtures/tagged-images.js';

const SIDE_PX = 8;
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const [COLOR_DEPTH_BITS, TRUE_COLOR] = [8, 2];

/** A distinct picture for each maker and prompt, without metadata: the delivered output has the same bytes. */
export function vendorPicture(maker: string, prompt: string): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE_PX, 0);
  header.writeUInt32BE(SIDE_PX, 4);
  header.set([COLOR_DEPTH_BITS, TRUE_COLOR], 8);
  const digest = createHash('sha256').update(`${maker}\n${prompt}`).digest();
  const row = Buffer.concat([Buffer.of(0), digest.subarray(0, 3 * SIDE_PX)]);
  const rows = Buffer.concat(Array.from({ length: SIDE_PX }, () => row));
  return Buffer.concat([
    SIGNATURE,
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', ''),
  ]);
}
