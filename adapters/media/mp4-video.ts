import { CustomSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import type { InputVideoTrack } from 'mediabunny';
import type { MediaFacts } from '../../core/ports/media-probe.js';
import { bytesOf, type KnownParts } from './mp4-outline.js';
import { sizeFault, UNREADABLE_VIDEO } from './probe-limits.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';

/** A day: longer than any video here, and short enough to be counted exactly in milliseconds. */
const MAX_DURATION_MS = 24 * 60 * 60 * 1000;
/** No sample of H.264 is larger, at its highest level. */
const MAX_SAMPLE_BYTES = 32 * 1024 * 1024;
const WORD_BYTES = 4;

/**
 * Looks at the entry of every sample, so that tables that cannot be read are found, and at whether the first sample that has
 * content lies within the file.
 */
async function hasSamples(track: InputVideoTrack): Promise<boolean> {
  const sink = new EncodedPacketSink(track);
  let isFound = false;
  let packet = await sink.getFirstPacket();
  while (packet !== null) {
    isFound ||= packet.byteLength > 0;
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
  if (limits.decode === 'full' && !(await hasSamples(track))) return UNREADABLE_VIDEO;
  return { kind: 'video', mediaType: 'video/mp4', widthPx, heightPx, durationMs };
}

/**
 * The outline as a file: what is asked of it is an index box, a box header, or the content of a sample, which does not matter here.
 * The last word of a file, which may say where an `mfra` box is, is none: the place could be any.
 */
function sourceOf(known: KnownParts): CustomSource {
  return new CustomSource({
    getSize: () => known.byteSize,
    read: (from, to) => {
      if (to - from > MAX_SAMPLE_BYTES) throw new RangeError('A sample is too large.');
      return from >= known.byteSize - WORD_BYTES ? new Uint8Array(to - from) : bytesOf(known, from, to);
    },
    maxCacheSize: 0,
  });
}

/**
 * Size and duration of the video track. H.264 is not decoded here, and no sample is read: `full` looks at the table of samples
 * instead. Of the file, the index boxes and the headers of all boxes are to be known.
 */
export async function probeVideo(known: KnownParts, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  const input = new Input({ formats: [MP4], source: sourceOf(known) });
  try {
    const track = await input.getPrimaryVideoTrack();
    return track === null ? { invalid: 'The file has no video track.' } : await probeTrack(track, limits);
  } catch {
    return UNREADABLE_VIDEO;
  } finally {
    input.dispose();
  }
}
