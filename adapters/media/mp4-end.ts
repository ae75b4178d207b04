import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';

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

/** Walks the top-level boxes, which must fill the file exactly and be of the kinds an MP4 file has. */
export function mp4End(bytes: Uint8Array): ContainerEnd {
  const view = viewOf(bytes);
  let at = 0;
  while (at + 8 <= view.length && TOP_BOXES.has(view.toString('latin1', at + 4, at + 8))) {
    const declared = view.readUInt32BE(at);
    let boxBytes = declared;
    if (declared === 0) boxBytes = view.length - at;
    else if (declared === 1) {
      if (at + 16 > view.length) return BROKEN;
      boxBytes = Number(view.readBigUInt64BE(at + 8));
    }
    if (boxBytes < 8 || at + boxBytes > view.length) return BROKEN;
    at += boxBytes;
  }
  return at === 0 ? BROKEN : { complete: true, byteSize: at, frames: 1 };
}
