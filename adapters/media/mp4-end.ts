import { BROKEN, viewOf } from './container-end.js';
import type { ContainerEnd } from './container-end.js';
import { boxIn } from './mp4-box.js';

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
    const box = boxIn(view.subarray(at), Infinity);
    if (box === undefined) return BROKEN;
    at = box.contentBytes === Infinity ? view.length : at + box.headerBytes + box.contentBytes;
    if (at > view.length) return BROKEN;
  }
  return at === 0 ? BROKEN : { complete: true, byteSize: at, frames: 1 };
}
