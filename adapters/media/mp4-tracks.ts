import { SAMPLE_ENTRIES, TRACK_HANDLERS } from './cleaning/mp4-layout.js';
import { boxesOf, contentsOf } from './mp4-box.js';
import type { Mp4Outline } from './mp4-outline.js';
import { STSD_BYTES } from './mp4-sample-entry.js';

/** Where in a handler box its type is. */
const HANDLER_TYPE_AT = 8;

/**
 * Whether a track of an MP4 file is anything but pictures or sound: subtitles, chapters or timed metadata. Their texts are
 * samples, so that they stay in the file when their track is removed from its index.
 */
export function hasOtherTracks({ indexBoxes }: Mp4Outline): boolean {
  const movies = indexBoxes.filter(({ type }) => type === 'moov').map(({ content }) => content);
  return contentsOf(movies, ['trak']).some((track) => {
    const handlers = contentsOf([track], ['mdia', 'hdlr']).map((content) =>
      content.toString('latin1', HANDLER_TYPE_AT, HANDLER_TYPE_AT + 4),
    );
    const formats = contentsOf([track], ['mdia', 'minf', 'stbl', 'stsd']);
    return (
      handlers.length === 0 ||
      !handlers.every((type) => TRACK_HANDLERS.has(type)) ||
      !formats.every((content) => hasOnlyKnownFormats(content.subarray(STSD_BYTES)))
    );
  });
}

function hasOnlyKnownFormats(entries: Buffer): boolean {
  for (const { type } of boxesOf(entries)) if (!SAMPLE_ENTRIES.has(type)) return false;
  return true;
}
