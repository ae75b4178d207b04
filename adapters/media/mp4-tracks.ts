import { viewOf } from './container-end.js';
import { SAMPLE_ENTRIES, TRACK_HANDLERS } from './cleaning/mp4-layout.js';
import { boxIn, LOOKED_AT_BYTES } from './mp4-box.js';
import { STSD_BYTES } from './mp4-sample-entry.js';

/** Where in a handler box its type is. */
const HANDLER_TYPE_AT = 8;

/**
 * Whether a track of an MP4 file is anything but pictures or sound: subtitles, chapters or timed metadata. Their texts are
 * samples, so that they stay in the file when their track is removed from its index.
 */
export function hasOtherTracks(bytes: Uint8Array): boolean {
  return contentsOf([viewOf(bytes)], ['moov', 'trak']).some((track) => {
    const handlers = contentsOf([track], ['mdia', 'hdlr']).map((content) =>
      content.toString('latin1', HANDLER_TYPE_AT, HANDLER_TYPE_AT + 4),
    );
    const formats = contentsOf([track], ['mdia', 'minf', 'stbl', 'stsd']).flatMap((content) =>
      [...boxesOf(content.subarray(STSD_BYTES))].map(({ type }) => type),
    );
    return (
      handlers.length === 0 ||
      !handlers.every((type) => TRACK_HANDLERS.has(type)) ||
      !formats.every((type) => SAMPLE_ENTRIES.has(type))
    );
  });
}

/** The contents of all boxes at this path. */
function contentsOf(within: readonly Buffer[], path: readonly string[]): readonly Buffer[] {
  return path.reduce(
    (contents, wanted) =>
      contents.flatMap((content) =>
        [...boxesOf(content)].filter(({ type }) => type === wanted).map((box) => box.content),
      ),
    within,
  );
}

function* boxesOf(content: Buffer): Generator<{ readonly type: string; readonly content: Buffer }> {
  for (let at = 0; at < content.length;) {
    const box = boxIn(content.subarray(at, at + LOOKED_AT_BYTES), Infinity);
    if (box === undefined) return;
    const from = at + box.headerBytes;
    yield { type: box.type, content: content.subarray(from, from + box.contentBytes) };
    at = from + box.contentBytes;
  }
}
