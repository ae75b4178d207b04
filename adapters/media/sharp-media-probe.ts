import PQueue from 'p-queue';
import { alphaBytes, decodeBytesOf, MAX_HEADER_BYTES, readImageHeader } from '../../core/media/image-header.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { MediaFacts, MediaProbe, ProbedFile } from '../../core/ports/media.js';
import type { ContainerEnd } from './container-end.js';
import { jpegEnd } from './jpeg-file.js';
import { BlockReader, hasOtherTracks, readOutline } from './mp4-outline.js';
import { tableBytes } from './mp4-work.js';
import { pngEnd } from './png-file.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';
import type { ImageType } from './sharp-image.js';
import { VideoProber } from './video-prober.js';
import { webpEnd } from './webp-file.js';

export interface SharpMediaProbeOptions {
  /**
   * Probes that read at the same time; 3 when absent, which leaves one of the threads that Node decodes on for files.
   */
  readonly concurrency?: number;
  /** The memory budget for bytes and pixels, shared with other decoders; one of 192 MiB when absent. */
  readonly memory?: MemoryBudget;
}

/**
 * Probes with file-type, sharp and mediabunny. A probe reads the head of its file, or the outline of a video, then
 * waits until the memory for all its bytes, or for the tables of the video, and for decoding them where they are
 * decoded, is free. At most `concurrency` probes read at the same time; the bytes of others are unread. The libraries
 * are loaded with the first file of their kind: most processes never read one. mediabunny runs in a thread of its own,
 * as a file may make it do more than was computed. A failure of the source of the bytes is passed on, as it says
 * nothing about them.
 *
 * However long a video is, one block of `BLOCK_BYTES` and an index of `MAX_INDEX_BYTES` are held at most, and beside
 * them the demuxer's view of its tables: about eight times the index, and 160 bytes for each of `MAX_SAMPLES` samples
 * at most. It is read forwards, each byte once at most.
 */
export class SharpMediaProbe implements MediaProbe {
  readonly #queue: PQueue;
  readonly #memory: MemoryBudget;
  readonly #videos = new VideoProber();

  constructor({ concurrency = 3, memory = new MemoryBudget(192 * MIB) }: SharpMediaProbeOptions = {}) {
    this.#queue = new PQueue({ concurrency });
    this.#memory = memory;
  }

  async probe(file: ProbedFile, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
    return this.#queue.add(async () => {
      // A file that is expected to be a video is not read from its start on.
      if (limits.kind !== 'video') return this.#probeImage(file, limits);
      const reader = new BlockReader(file);
      const head = await reader.bytes(0, Math.min(file.byteSize, SNIFFED_BYTES));
      return (await sniff(head)) === VIDEO ? this.#probeVideo(reader, file, limits) : this.#probeImage(file, limits);
    });
  }

  async #probeImage(file: ProbedFile, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
    const collector = new BytesCollector(await file.read(), file.byteSize);
    const head = await collector.head((bytes) => readImageHeader(bytes) !== 'more');
    const kind = readImageHeader(head) === 'none' ? await sniff(head) : 'image';
    if (kind === undefined || kind === VIDEO) await collector.close();
    if (kind === undefined) return notMeant(limits);
    if (kind === VIDEO) return this.#probeVideo(new BlockReader(file), file, limits);
    return this.#memory.during(file.byteSize + decodedBytes(head, limits), async () => {
      const collected = await collector.all();
      if (collected === undefined) return { invalid: `The file has more than ${file.byteSize} bytes.` };
      return probeBytes(collected, limits);
    });
  }

  async #probeVideo(reader: BlockReader, file: ProbedFile, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
    const outline = await readOutline(reader, file.byteSize);
    if ('invalid' in outline) return outline;
    const neededBytes = await tableBytes(outline);
    if (typeof neededBytes !== 'number') return neededBytes;
    if (hasOtherTracks(outline)) return OTHER_TRACKS;
    return this.#memory.during(neededBytes, async () => this.#videos.probe(outline.known, limits));
  }
}

/** Takes bytes out of a stream in two steps: the first of them, then all. A failure of the stream is passed on. */
export class BytesCollector {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #head: Uint8Array[] = [];
  #byteSize = 0;
  #isAtEnd = false;

  constructor(
    bytes: AsyncIterable<Uint8Array>,
    readonly maxBytes: number,
  ) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  /** The first bytes: until `isEnough` says so, the stream ends, or there are more than a head or the file may have. */
  async head(isEnough: (head: Uint8Array) => boolean): Promise<Uint8Array> {
    let head: Uint8Array = new Uint8Array();
    while (this.#byteSize <= Math.min(MAX_HEADER_BYTES, this.maxBytes)) {
      const chunk = await this.#next();
      if (chunk === undefined) break;
      this.#head.push(chunk);
      head = this.#head.length === 1 ? chunk : Buffer.concat(this.#head, this.#byteSize);
      if (isEnough(head)) break;
    }
    return head;
  }

  /**
   * All bytes, the head among them, in memory of `maxBytes`; undefined as soon as they are more. To be called once, or
   * `close`.
   */
  async all(): Promise<Uint8Array | undefined> {
    const all = new Uint8Array(this.maxBytes);
    let at = 0;
    const next = async () => this.#head.shift() ?? this.#next();
    for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
      if (this.#byteSize > this.maxBytes) {
        await this.close();
        return undefined;
      }
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all.subarray(0, at);
  }

  async close(): Promise<void> {
    this.#isAtEnd = true;
    await this.#source.return?.();
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.#isAtEnd) return undefined;
    const next = await this.#source.next();
    if (next.done === true) {
      this.#isAtEnd = true;
      return undefined;
    }
    this.#byteSize += next.value.byteLength;
    return next.value;
  }
}

const MIB = 1024 * 1024;
const VIDEO = 'video/mp4';

/** The types by magic bytes, and the types that we treat them as: an animated PNG is a PNG with more frames. */
const KINDS: Readonly<Record<string, ImageType | typeof VIDEO>> = {
  'image/png': 'image/png',
  'image/apng': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/webp': 'image/webp',
  [VIDEO]: VIDEO,
  // Its brand names the program that made it; the boxes are those of MP4.
  'video/x-m4v': VIDEO,
};

/** `file-type` looks at no more than this for a PNG, and takes longer than a small one takes to be read. */
const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const ENDS: Readonly<Record<ImageType, (bytes: Uint8Array) => ContainerEnd | Promise<ContainerEnd>>> = {
  'image/png': pngEnd,
  'image/jpeg': jpegEnd,
  'image/webp': webpEnd,
};

const MEANT = {
  image: 'a PNG, JPEG or WebP image',
  video: 'an MP4 video',
  either: 'a PNG, JPEG or WebP image or an MP4 video',
} as const;

/** `MediaCleaner` cannot remove the samples of such a track. */
const OTHER_TRACKS: Invalid = {
  invalid: 'The video has a track that is neither pictures nor sound, such as subtitles or metadata.',
};

/** More bytes than `file-type` looks at. */
const SNIFFED_BYTES = 64 * 1024;

async function sniff(bytes: Uint8Array): Promise<ImageType | typeof VIDEO | undefined> {
  if (PNG_SIGNATURE.every((byte, at) => bytes[at] === byte)) return 'image/png';
  const { fileTypeFromBuffer } = await import('file-type');
  try {
    return KINDS[(await fileTypeFromBuffer(bytes))?.mime ?? ''];
  } catch {
    // Bytes that break off inside their own magic are of no kind.
    return undefined;
  }
}

async function probeBytes(bytes: Uint8Array, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  if (bytes.byteLength === 0) return { invalid: 'The file is empty.' };
  const kind = await sniff(bytes);
  if (kind === undefined || kind === VIDEO) return notMeant(limits);
  const end = await ENDS[kind](bytes);
  if (!end.complete) return { invalid: end.invalid };
  const { probeImage } = await import('./sharp-image.js');
  return probeImage(bytes.subarray(0, end.byteSize), kind, end, limits);
}

/** The memory for decoding beside the bytes of the file, by its first bytes: 0 if only the header is read. */
function decodedBytes(head: Uint8Array, { decode, findsTransparency }: ProbeLimits): number {
  const header = readImageHeader(head);
  const isSearched = findsTransparency === true && typeof header === 'object' && header.mayHaveAlpha;
  return (decode === 'full' || isSearched ? decodeBytesOf(head) : 0) + (isSearched ? alphaBytes(header) : 0);
}

function notMeant({ kind }: ProbeLimits): Invalid {
  return { invalid: `The file is not ${MEANT[kind ?? 'either']}.` };
}
