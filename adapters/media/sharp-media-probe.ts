import PQueue from 'p-queue';
import { decodeBytesOf } from '../../core/media/decode-cost.js';
import { readImageHeader } from '../../core/media/image-header.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { MediaFacts, MediaProbe } from '../../core/ports/media-probe.js';
import { BytesCollector } from './collect-bytes.js';
import type { ContainerEnd } from './container-end.js';
import { jpegEnd } from './jpeg-end.js';
import { mp4End } from './mp4-end.js';
import { pngEnd } from './png-end.js';
import type { Invalid, ProbeLimits } from './probe-limits.js';
import type { ImageType } from './sharp-image.js';
import { webpEnd } from './webp-end.js';

type Kind = ImageType | 'video/mp4';

const MIB = 1024 * 1024;

/** What the magic bytes may say, and what we take it for: an animated PNG is a PNG with more frames. */
const KINDS: Readonly<Record<string, Kind>> = {
  'image/png': 'image/png',
  'image/apng': 'image/png',
  'image/jpeg': 'image/jpeg',
  'image/webp': 'image/webp',
  'video/mp4': 'video/mp4',
};

const ENDS: Readonly<Record<Kind, (bytes: Uint8Array) => ContainerEnd>> = {
  'image/png': pngEnd,
  'image/jpeg': jpegEnd,
  'image/webp': webpEnd,
  'video/mp4': mp4End,
};

const MEANT = {
  image: 'a PNG, JPEG or WebP image',
  video: 'an MP4 video',
  either: 'a PNG, JPEG or WebP image or an MP4 video',
} as const;

async function sniff(bytes: Uint8Array): Promise<Kind | undefined> {
  const { fileTypeFromBuffer } = await import('file-type');
  try {
    return KINDS[(await fileTypeFromBuffer(bytes))?.mime ?? ''];
  } catch {
    // Bytes that break off inside their own magic are of no kind.
    return undefined;
  }
}

export interface SharpMediaProbeOptions {
  /** Probes that have begun to read; 2 when absent. */
  readonly concurrency?: number;
  /** The memory budget for bytes and pixels, shared with other decoders; one of 192 MiB when absent. */
  readonly memory?: MemoryBudget;
}

/**
 * Probes with file-type, sharp and mediabunny. A probe reads the head of its file, then waits until the memory for all
 * its bytes, and for decoding them where they are decoded, is free. At most `concurrency` probes have begun; the bytes
 * of others are unread. The libraries are loaded with the first file of their kind: most processes never read one. A failure of the source of the bytes is passed on, as it says nothing about them.
 */
export class SharpMediaProbe implements MediaProbe {
  readonly #queue: PQueue;
  readonly #memory: MemoryBudget;

  constructor({ concurrency = 2, memory = new MemoryBudget(192 * MIB) }: SharpMediaProbeOptions = {}) {
    this.#queue = new PQueue({ concurrency });
    this.#memory = memory;
  }

  async probe(bytes: AsyncIterable<Uint8Array>, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
    return this.#queue.add(async () => {
      const collector = new BytesCollector(bytes, limits.maxBytes);
      const neededBytes = limits.maxBytes + (limits.decode === 'full' ? await decodeBytesOfHead(collector) : 0);
      return this.#memory.during(neededBytes, async () => {
        const collected = await collector.all();
        if (collected === undefined) return { invalid: `The file has more than ${limits.maxBytes} bytes.` };
        return probeBytes(collected, limits);
      });
    });
  }
}

async function decodeBytesOfHead(collector: BytesCollector): Promise<number> {
  return decodeBytesOf(await collector.head((head) => readImageHeader(head) !== 'more'));
}

async function probeBytes(bytes: Uint8Array, limits: ProbeLimits): Promise<MediaFacts | Invalid> {
  if (bytes.byteLength === 0) return { invalid: 'The file is empty.' };
  const kind = await sniff(bytes);
  if (kind === undefined) return { invalid: `The file is not ${MEANT[limits.kind ?? 'either']}.` };
  const end = ENDS[kind](bytes);
  if (!end.complete) return { invalid: 'The file is damaged or incomplete.' };
  const trailing = bytes.byteLength - end.byteSize;
  if (trailing > 0) return { invalid: `The file has ${trailing} extra bytes after the end of its content.` };
  if (kind === 'video/mp4') {
    const { probeVideo } = await import('./mp4-video.js');
    return probeVideo(bytes, limits);
  }
  const { probeImage } = await import('./sharp-image.js');
  return probeImage(bytes, kind, end.frames, limits);
}
