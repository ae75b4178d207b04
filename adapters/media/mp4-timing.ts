import { viewOf } from './container-end.js';
import { boxesOf, boxIn, contentsOf, LOOKED_AT_BYTES, wordAt } from './mp4-box.js';
import { moviesIn, trackIdOf, wordAfterTimes } from './mp4-movie.js';
import type { KnownParts } from './mp4-outline.js';

/** Where the tables of samples say how many entries they have. */
const COUNT_AT: Readonly<Record<string, number>> = {
  stts: 4,
  ctts: 4,
  stsc: 4,
  stsz: 8,
  stz2: 8,
  stco: 4,
  co64: 4,
  stss: 4,
};
const TO_TABLES = ['trak', 'mdia', 'minf', 'stbl'];

/**
 * The file without the samples that its `moov` box names, where it has others in fragments: a demuxer that finds some there
 * does not go on to the fragments. Undefined where one of the two is all that there is.
 */
export function fragmentsAlone(known: KnownParts): KnownParts | undefined {
  if (!known.parts.some(({ bytes }) => typeOf(bytes) === 'moof')) return undefined;
  let hadSamples = false;
  const parts = known.parts.map((part) => {
    if (typeOf(part.bytes) !== 'moov') return part;
    const bytes = Buffer.from(part.bytes);
    for (const table of contentsOf([contentOf(bytes)], TO_TABLES))
      for (const { type, content } of boxesOf(table)) {
        const at = COUNT_AT[type];
        if (at === undefined || content.length < at + 4) continue;
        hadSamples ||= type === 'stts' && content.readUInt32BE(at) > 0;
        content.writeUInt32BE(0, at);
      }
    return { at: part.at, bytes };
  });
  return hadSamples ? { byteSize: known.byteSize, parts } : undefined;
}

/**
 * How long the edit list of a track has its media shown, in milliseconds; undefined where it has none that says. A file in
 * fragments is written before anybody knows.
 */
export function editedMs(known: KnownParts, trackId: number): number | undefined {
  const [moov] = moviesIn(known);
  if (moov === undefined) return undefined;
  const [mvhd] = contentsOf([moov], ['mvhd']);
  if (mvhd === undefined || contentsOf([moov], ['mvex']).length > 0) return undefined;
  const timescale = wordAfterTimes(mvhd);
  const tracks = contentsOf([moov], ['trak']).filter((trak) => trackIdOf(trak) === trackId);
  const [list] = contentsOf(tracks.slice(0, 1), ['edts', 'elst']);
  const shown = list === undefined ? 0 : shownIn(list);
  return shown > 0 && timescale > 0 ? (shown / timescale) * 1_000 : undefined;
}

/** The durations of all edits but the empty ones, together; 0 where one says none. */
function shownIn(list: Buffer): number {
  const isLong = list[0] === 1;
  const entryBytes = isLong ? 20 : 12;
  let sum = 0;
  for (let at = 8, left = wordAt(list, 4); left > 0 && at + entryBytes <= list.length; at += entryBytes, left -= 1) {
    const duration = isLong ? Number(list.readBigUInt64BE(at)) : list.readUInt32BE(at);
    const mediaTime = isLong ? list.readBigInt64BE(at + 8) : list.readInt32BE(at + 4);
    if (Number(mediaTime) === -1) continue;
    if (duration === 0) return 0;
    sum += duration;
  }
  return sum;
}

function contentOf(box: Buffer): Buffer {
  const { headerBytes = 0, contentBytes = 0 } = boxIn(box.subarray(0, LOOKED_AT_BYTES), Infinity) ?? {};
  return box.subarray(headerBytes).subarray(0, contentBytes);
}

function typeOf(bytes: Uint8Array): string {
  return viewOf(bytes).toString('latin1', 4, 8);
}
