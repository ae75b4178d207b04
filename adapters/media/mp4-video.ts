import { CustomSource, EncodedPacketSink, Input, type InputVideoTrack, MP4 } from 'mediabunny';
import type { MediaFacts } from '../../core/ports/media.js';
import { bytesOf, type KnownParts } from './mp4-outline.js';
import { editedMs, fragmentsAlone, samplesFault } from './mp4-samples.js';
import { hideShortColours, shownSizeOf } from './mp4-shown-size.js';
import { type Invalid, type ProbeLimits, sizeFault, UNREADABLE_VIDEO } from './probe-limits.js';

/** A day: longer than any video here, and short enough to be counted exactly in milliseconds. */
const MAX_DURATION_MS = 24 * 60 * 60 * 1000;
/** No sample of H.264 is larger, at its highest level. */
const MAX_SAMPLE_BYTES = 32 * 1024 * 1024;
const WORD_BYTES = 4;
/** The codecs that browsers play: H.264, AV1 and VP9, as mediabunny names them. */
const CODECS: ReadonlySet<string> = new Set(['avc', 'av1', 'vp9']);

/**
 * Examines the entry of every sample, to find unreadable tables and to check that the first sample with content is
 * within the file.
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

/** When its pictures are shown, in seconds. */
interface Span {
  readonly from: number;
  readonly to: number;
}

async function spanOf(track: InputVideoTrack): Promise<Span> {
  const to = await track.computeDuration();
  // A video without a length has no first picture.
  return { from: to > 0 ? Math.max(0, await track.getFirstTimestamp()) : 0, to };
}

/** The span of the pictures that the fragments of a file have beside others; undefined without any. */
async function spanOfFragments(known: KnownParts, limits: ProbeLimits): Promise<Span | Invalid | undefined> {
  const fragments = fragmentsAlone(known);
  if (fragments === undefined) return undefined;
  return withVideoTrack(fragments, async (track) => {
    const span = await spanOf(track);
    if (!(span.to > 0)) return undefined;
    return limits.decode === 'full' && !(await hasSamples(track)) ? UNREADABLE_VIDEO : span;
  });
}

/** From its first picture to the end of its last one, and no longer than its edit list says. */
async function durationOf(track: InputVideoTrack, known: KnownParts, limits: ProbeLimits): Promise<number | Invalid> {
  const spans = [await spanOf(track)];
  const more = await spanOfFragments(known, limits);
  if (more !== undefined && 'invalid' in more) return more;
  if (more !== undefined) spans.push(more);
  const playedMs = (Math.max(...spans.map(({ to }) => to)) - Math.min(...spans.map(({ from }) => from))) * 1_000;
  const durationMs = Math.round(Math.min(playedMs, editedMs(known, track.id) ?? Infinity));
  return durationMs > 0 && durationMs <= MAX_DURATION_MS
    ? durationMs
    : { invalid: 'The video has no usable duration.' };
}

async function probeTrack(
  track: InputVideoTrack,
  known: KnownParts,
  limits: ProbeLimits,
): Promise<MediaFacts | Invalid> {
  const codec = await track.getCodec();
  if (codec === null || !CODECS.has(codec)) return { invalid: 'The video is not encoded as H.264, AV1 or VP9.' };
  const described = { widthPx: await track.getCodedWidth(), heightPx: await track.getCodedHeight() };
  const { stored, shown } = shownSizeOf(known, track.id, described);
  const tooLarge =
    sizeFault(described.widthPx, described.heightPx, 1, limits.maxPixels) ??
    sizeFault(stored.widthPx, stored.heightPx, 1, limits.maxPixels) ??
    sizeFault(shown.widthPx, shown.heightPx, 1, Infinity);
  if (tooLarge !== undefined) return tooLarge;
  const durationMs = await durationOf(track, known, limits);
  if (typeof durationMs === 'object') return durationMs;
  const missing = samplesFault(known);
  if (missing !== undefined) return missing;
  if (limits.decode === 'full' && !(await hasSamples(track))) return UNREADABLE_VIDEO;
  return { kind: 'video', mediaType: 'video/mp4', ...shown, durationMs, contentBytes: known.byteSize };
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
 * Size and duration of the video track, of a file that has every sample its index names. Pictures are not decoded here,
 * and no sample is read: `full` looks at the tables of samples with the demuxer, too. The index boxes of the file and
 * the headers of all boxes must be known; an index that the demuxer does not read is changed.
 */
export async function probeVideo(known: KnownParts, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  hideShortColours(known);
  return withVideoTrack(known, (track) => probeTrack(track, known, limits));
}

async function withVideoTrack<T>(
  known: KnownParts,
  look: (track: InputVideoTrack) => Promise<T>,
): Promise<T | Invalid> {
  const input = new Input({ formats: [MP4], source: sourceOf(known) });
  try {
    const track = await input.getPrimaryVideoTrack();
    return track === null ? { invalid: 'The file has no video track.' } : await look(track);
  } catch {
    return UNREADABLE_VIDEO;
  } finally {
    input.dispose();
  }
}
