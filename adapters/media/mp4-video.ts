import { setImmediate } from 'node:timers/promises';
import { CustomSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import type { InputVideoTrack } from 'mediabunny';
import type { MediaFacts } from '../../core/ports/media-probe.js';
import type { Mp4Outline } from './mp4-outline.js';
import { hasOtherTracks } from './mp4-tracks.js';
import { sizeFault } from './probe-limits.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';

const BROKEN: Invalid = { invalid: 'The file starts like an MP4 video but cannot be read.' };
const OTHER_TRACKS: Invalid = {
  invalid: 'The video has a track that is neither pictures nor sound, such as subtitles or metadata.',
};
/** A day: longer than any video here, and short enough to be counted exactly in milliseconds. */
const MAX_DURATION_MS = 24 * 60 * 60 * 1000;
/** No sample of H.264 is larger, at its highest level. */
const MAX_SAMPLE_BYTES = 32 * 1024 * 1024;
const WORD_BYTES = 4;
/** Other work of the process is let in after so many samples. */
const SAMPLES_A_TURN = 1024;
/** And after so many reads, of which each header of a box in the file takes one. */
export const READS_A_TURN = 256;

/**
 * Looks at the entry of every sample, so that tables that cannot be read are found, and at whether the first sample that has
 * content lies within the file.
 */
async function hasSamples(track: InputVideoTrack): Promise<boolean> {
  const sink = new EncodedPacketSink(track);
  let isFound = false;
  let packet = await sink.getFirstPacket();
  for (let count = 1; packet !== null; count += 1) {
    isFound ||= packet.byteLength > 0;
    if (count % SAMPLES_A_TURN === 0) await setImmediate();
    packet = await sink.getNextPacket(packet, { metadataOnly: isFound });
  }
  return isFound;
}

async function probeTrack(track: InputVideoTrack, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  if ((await track.getCodec()) !== 'avc') return { invalid: 'The video is not encoded as H.264.' };
  const [widthPx, heightPx] = [await track.getDisplayWidth(), await track.getDisplayHeight()];
  const tooLarge = sizeFault(widthPx, heightPx, 1, limits.maxPixels);
  if (tooLarge !== undefined) return tooLarge;
  const durationMs = Math.round((await track.computeDuration()) * 1000);
  if (!(durationMs > 0 && durationMs <= MAX_DURATION_MS)) return { invalid: 'The video has no usable duration.' };
  if (limits.decode === 'full' && !(await hasSamples(track))) return BROKEN;
  return { kind: 'video', mediaType: 'video/mp4', widthPx, heightPx, durationMs };
}

/**
 * The outline as a file: what is asked of it is an index box, a box header, or the content of a sample, which does not matter here.
 * The last word of a file, which may say where an `mfra` box is, is none: the place could be any.
 */
function sourceOf(outline: Mp4Outline): CustomSource {
  let reads = 0;
  return new CustomSource({
    getSize: () => outline.byteSize,
    read: (from, to) => {
      if (to - from > MAX_SAMPLE_BYTES) throw new RangeError('A sample is too large.');
      reads += 1;
      const bytes = from >= outline.byteSize - WORD_BYTES ? new Uint8Array(to - from) : outline.bytes(from, to);
      return reads % READS_A_TURN === 0 ? setImmediate(bytes) : bytes;
    },
    maxCacheSize: 0,
  });
}

/**
 * Size and duration of the video track. H.264 is not decoded here, and no sample is read: `full` looks at the table of samples
 * instead. A video with tracks of another kind is refused: `MediaCleaner` cannot remove their samples.
 */
export async function probeVideo(outline: Mp4Outline, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  if (hasOtherTracks(outline)) return OTHER_TRACKS;
  const input = new Input({ formats: [MP4], source: sourceOf(outline) });
  try {
    const track = await input.getPrimaryVideoTrack();
    return track === null ? { invalid: 'The file has no video track.' } : await probeTrack(track, limits);
  } catch {
    return BROKEN;
  } finally {
    input.dispose();
  }
}
