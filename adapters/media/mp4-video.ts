import { BufferSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import type { InputVideoTrack } from 'mediabunny';
import type { MediaFacts } from '../../core/ports/media-probe.js';
import { hasOtherTracks } from './mp4-tracks.js';
import { sizeFault } from './probe-limits.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';

const BROKEN: Invalid = { invalid: 'The file starts like an MP4 video but cannot be read.' };
const OTHER_TRACKS: Invalid = {
  invalid: 'The video has a track that is neither pictures nor sound, such as subtitles or metadata.',
};
/** A day: longer than any video here, and short enough to be counted exactly in milliseconds. */
const MAX_DURATION_MS = 24 * 60 * 60 * 1000;

/** Reads every sample, so that a table that points outside the file is found; answers the bytes they have together. */
async function sampleBytes(track: InputVideoTrack): Promise<number> {
  let byteSize = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) byteSize += packet.byteLength;
  return byteSize;
}

async function probeTrack(track: InputVideoTrack, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  if ((await track.getCodec()) !== 'avc') return { invalid: 'The video is not encoded as H.264.' };
  const [widthPx, heightPx] = [await track.getDisplayWidth(), await track.getDisplayHeight()];
  const tooLarge = sizeFault(widthPx, heightPx, 1, limits.maxPixels);
  if (tooLarge !== undefined) return tooLarge;
  const durationMs = Math.round((await track.computeDuration()) * 1000);
  if (!(durationMs > 0 && durationMs <= MAX_DURATION_MS)) return { invalid: 'The video has no usable duration.' };
  if (limits.decode === 'full' && (await sampleBytes(track)) === 0) return BROKEN;
  return { kind: 'video', mediaType: 'video/mp4', widthPx, heightPx, durationMs };
}

/**
 * Size and duration of the video track. H.264 is not decoded here: `full` reads every sample of the file instead, which
 * finds missing data but not corrupt data. A video with tracks of another kind is refused: `MediaCleaner` cannot remove
 * their samples.
 */
export async function probeVideo(bytes: Uint8Array, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  if (hasOtherTracks(bytes)) return OTHER_TRACKS;
  const input = new Input({ formats: [MP4], source: new BufferSource(bytes) });
  try {
    const track = await input.getPrimaryVideoTrack();
    return track === null ? { invalid: 'The file has no video track.' } : await probeTrack(track, limits);
  } catch {
    return BROKEN;
  } finally {
    input.dispose();
  }
}
