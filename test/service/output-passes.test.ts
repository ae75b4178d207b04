// Goal: a picture of 2 MB is written once, read once, decoded once and digested once from its arrival until it is delivered; a
// video is written once and digested once, and of its file little is read.
// Method: the adapters that ship, with their calls counted; the bytes that go through digests counted in Node's own class.
import { expect } from 'chai';
import { createHash, Hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { BLOCK_BYTES } from '../../adapters/media/mp4-outline.js';
import { StreamingMediaCleaner } from '../../adapters/media/streaming-media-cleaner.js';
import type { Context } from '../../core/context.js';
import type { Output } from '../../core/generation/generation.js';
import { collectOutputs, outputKey } from '../../core/generation/run/collect-outputs.js';
import type { Execution } from '../../core/generation/run/executions.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { collected, inPieces } from '../fixtures/byte-streams.js';
import { image } from '../fixtures/images.js';
import { largeMp4 } from '../fixtures/large-media.js';
import { COMPOSITE, countOf, packetOf, withMark } from '../fixtures/marked-media.js';
import { MEDIA_PROBE } from '../fixtures/media-probe.js';
import { aGeneration } from '../fixtures/stored-records.js';
import {
  jpegSegment,
  jumbfSegments,
  pngChunk,
  webpChunk,
  webpChunks,
  webpOf,
  withJpegSegments,
  withPngChunks,
} from '../fixtures/tagged-images.js';

const SIDE = 1_000;
/** The size of the packet and the box around it. */
const MP4_MARK_BYTES = 24 + packetOf(COMPOSITE.sourceType).byteLength;
const MANIFEST = 'c2pa.actions digitalSourceType .../trainedAlgorithmicMedia';

/** A picture whose pixels do not compress. */
async function noise(): Promise<Uint8Array> {
  const pixels = Buffer.alloc(SIDE * SIDE * 3);
  for (let at = 0, value = 1; at < pixels.length; at += 1) {
    value = (Math.imul(value, 1_103_515_245) + 12_345) & 0x7fffffff;
    pixels[at] = value >> 16;
  }
  return sharp(pixels, { raw: { width: SIDE, height: SIDE, channels: 3 } })
    .png()
    .toBuffer();
}

/** Counts calls of a method, and the bytes given to it, while `work` runs. */
async function counted<T extends object>(
  owner: T,
  method: keyof T & string,
  work: () => Promise<unknown>,
): Promise<{ readonly calls: number; readonly bytes: number }> {
  const original = owner[method] as (...args: unknown[]) => unknown;
  const count = { calls: 0, bytes: 0 };
  owner[method] = function (this: unknown, ...args: unknown[]) {
    count.calls += 1;
    if (args[0] instanceof Uint8Array) count.bytes += args[0].byteLength;
    return original.apply(this, args);
  } as T[keyof T & string];
  try {
    await work();
  } finally {
    owner[method] = original as T[keyof T & string];
  }
  return count;
}

/** Counts the passes over data while `bytes` arrive and are delivered; returns the counts and the delivered bytes. */
async function delivered(folder: string, modality: 'image' | 'video', offered: AsyncIterable<Uint8Array>) {
  const objects = await FileObjectStore.open({
    folder,
    publicBaseUrl: () => 'http://localhost',
    secret: new Uint8Array(32),
    clock: { now: () => 0 },
  });
  const g = aGeneration(1, { modality, fence: 1, terms: { ...aGeneration(1).terms, creditsByOutputs: [0, 1] } });
  const context = {
    objects,
    mediaCleaner: new StreamingMediaCleaner(),
    mediaProbe: MEDIA_PROBE,
    settings: DEFAULT_SETTINGS,
    ids: { uuid: () => 'media' },
  } as unknown as Context;
  const execution = {
    provider: { output: async () => offered },
    model: { price: { kind: 'fixed' } },
  } as unknown as Execution;
  const call = { signal: new AbortController().signal };
  const task = {
    reference: 'task',
    offered: 1,
    isLastTry: true,
    arrived: new Map(),
    call,
    otherKeys: async () => ({ fence: 2 }),
  };
  const totals = { writes: 0, reads: 0, readBytes: 0, decodes: 0, digested: 0 };
  let output: Output | undefined;
  const read = objects.read.bind(objects);
  objects.read = async (key, range) => {
    totals.readBytes += range === undefined ? Infinity : range.to - range.from;
    return read(key, range);
  };
  const digests = await counted(Hash.prototype, 'update', async () => {
    const decodes = await counted(sharp.prototype as { toBuffer: unknown }, 'toBuffer', async () => {
      const reads = await counted(objects, 'read', async () => {
        const writes = await counted(objects, 'write', async () => {
          const { outputs, faults } = await collectOutputs(context, execution, g, task);
          expect(faults).to.deep.equal([]);
          expect(outputs).to.have.length(1);
          [output] = outputs;
        });
        totals.writes = writes.calls;
      });
      totals.reads = reads.calls;
    });
    totals.decodes = decodes.calls;
  });
  totals.digested = digests.bytes;
  const isKept = async (fence: number) => (await objects.stat(outputKey(g.generationId, fence, 0))) !== null;
  const fences = [(await isKept(1)) ? 1 : undefined, (await isKept(2)) ? 2 : undefined].filter(Boolean);
  const bytes = await collected((await read(output!.objectKey))!);
  return { totals, output: output!, kept: await objects.stat(output!.objectKey), fences, bytes };
}

describe('the passes over an output', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-passes-'));
  });
  after(async () => rm(folder, { recursive: true, force: true }));

  it('are one write, one read, one decode and one digest of a picture of 2 MB', async () => {
    const picture = await noise();
    expect(picture.byteLength).to.be.above(2_000_000);
    const marked = withMark(picture, COMPOSITE);
    const { totals, output, kept } = await delivered(folder, 'image', inPieces(picture));
    expect(output).to.include({ widthPx: SIDE, heightPx: SIDE, byteSize: marked.byteLength });
    const expected = { writes: 1, reads: 1, readBytes: Infinity, decodes: 1, digested: marked.byteLength };
    expect(totals).to.deep.equal(expected);
    expect(kept?.etag).to.equal(createHash('sha256').update(marked).digest('hex'));
  });

  it('are one write and one digest of a video of 24 MiB, of which at most two blocks are read', async () => {
    const video = await largeMp4(24 * 1024 * 1024);
    const { totals, output, kept } = await delivered(folder, 'video', video.stream());
    expect(output).to.include({
      widthPx: 64,
      heightPx: 48,
      durationMs: 6_400,
      byteSize: video.byteSize + MP4_MARK_BYTES,
    });
    const { readBytes, ...others } = totals;
    expect(others).to.deep.equal({ writes: 1, reads: 2, decodes: 0, digested: video.byteSize + MP4_MARK_BYTES });
    expect(readBytes).to.be.at.most(2 * BLOCK_BYTES);
    expect(kept).to.deep.equal({ byteSize: output.byteSize, etag: output.sha256 });
  });

  for (const [what, make, writes] of [
    ['a PNG', async () => withPngChunks(await image('png'), [pngChunk('caBX', MANIFEST)]), 1],
    ['a JPEG', async () => withJpegSegments(await image('jpeg'), jumbfSegments('c2pa', MANIFEST, 1)), 1],
    ['a WebP', async () => webpOf(webpChunks(await image('webp')), webpChunk('C2PA', MANIFEST)), 2],
  ] as const) {
    it(`leave ${what} with a manifest that says AI as its provider made it, after ${writes} of them`, async () => {
      const made = await make();
      const other = await mkdtemp(join(folder, 'kept-'));
      const { totals, output, fences, bytes } = await delivered(other, 'image', inPieces(made));
      expect(bytes).to.deep.equal(made);
      expect(output).to.include({ byteSize: made.byteLength, sha256: createHash('sha256').update(made).digest('hex') });
      expect([totals.writes, fences]).to.deep.equal([writes, [writes]]);
    });
  }

  it('drop the manifest of an edited picture, and mark it, in a second write', async () => {
    const manifest = jumbfSegments('c2pa', MANIFEST, 1);
    const made = withJpegSegments(await image('jpeg'), [...manifest, jpegSegment(0xed, 'Photoshop 3.0\0 8BIM')]);
    const other = await mkdtemp(join(folder, 'dropped-'));
    const { totals, output, fences, bytes } = await delivered(other, 'image', inPieces(made));
    expect(bytes).to.deep.equal(withMark(await image('jpeg'), COMPOSITE));
    expect([countOf(bytes, 'c2pa'), output.mark]).to.deep.equal([0, COMPOSITE]);
    expect([totals.writes, totals.decodes, fences]).to.deep.equal([2, 1, [2]]);
  });
});
