// Goal: objects of any size are transferred with little memory, and an incomplete object leaves nothing behind.
// Method: streams generated while they are read; their bytes are counted and memory is sampled meanwhile.
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { SharpMediaProbe } from '../../../adapters/media/sharp-media-probe.js';
import type { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import { breakingOff } from '../../fixtures/byte-streams.js';
import { largeMp4 } from '../../fixtures/large-media.js';
import { collectGarbage } from '../../fixtures/resident-memory.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server, type S3Server } from '../../servers/servers.js';
import { incompleteUploads, openIn, outcomeOf } from './minio-buckets.js';

type Range = Parameters<MinioObjectStore['read']>[1];

const MIB = 1024 * 1024;
const PIECE = 64 * 1024;
const unlimited = { mediaType: 'video/mp4', maxBytes: 1024 * MIB } as const;

/** `byteCount` bytes, each piece in the same memory: a piece that is kept is overwritten by the next one. */
async function* made(
  byteCount: number,
  watch: (madeBytes: number) => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(PIECE);
  for (let at = 0; at < byteCount; at += PIECE) {
    piece.fill((at / PIECE) & 0xff);
    watch(at);
    yield piece.subarray(0, Math.min(PIECE, byteCount - at));
  }
}

/**
 * The most that byte arrays held above what they held at the start. Garbage is collected only where it matters to the
 * bound.
 */
class HeldBytes {
  mostBytes = 0;
  private readonly before: number;

  constructor(private readonly boundBytes: number) {
    collectGarbage();
    this.before = process.memoryUsage().arrayBuffers;
  }

  readonly sample = (): void => {
    // Well before the bound, since collected memory is released a little later.
    if (this.held() >= this.boundBytes / 2) collectGarbage();
    this.mostBytes = Math.max(this.mostBytes, this.held());
  };

  private held(): number {
    return process.memoryUsage().arrayBuffers - this.before;
  }
}

async function sha256(bytes: AsyncIterable<Uint8Array>, watch: () => void = () => undefined): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) {
    watch();
    hash.update(chunk);
  }
  return hash.digest('hex');
}

for (const kind of S3_KINDS) {
  describe(`MinioObjectStore with large objects on ${kind}`, () => {
    let server: S3Server;
    let bucket: FreshBucket;
    let store: MinioObjectStore;
    before(async function findServer() {
      server = await orSkip(this, s3Server(kind));
    });
    beforeEach(async () => {
      bucket = freshBucket(server);
      store = await openIn(bucket);
    });
    afterEach(async () => bucket.remove());

    it('stores and reads 64 MiB within a fraction of that memory', async () => {
      const byteSize = 64 * MIB + 12_345;
      const expected = await sha256(made(byteSize));
      const written = new HeldBytes(byteSize / 6);
      expect(await store.write('big', made(byteSize, written.sample), unlimited)).to.deep.equal({
        byteSize,
        sha256: expected,
      });
      const read = new HeldBytes(byteSize / 3);
      expect(await sha256((await store.read('big'))!, read.sample)).to.equal(expected);
      console.log(
        `      held at most ${(written.mostBytes / MIB).toFixed(1)} MiB while writing, ${(read.mostBytes / MIB).toFixed(1)} MiB while reading`,
      );
      expect(written.mostBytes).to.be.below(byteSize / 6);
      expect(read.mostBytes).to.be.below(byteSize / 3);
      expect(await store.stat('big')).to.have.property('byteSize', byteSize);
    });

    it('is asked twice by the probe of a video of 64 MiB, and once by that of a video whose index comes first', async () => {
      for (const [index, expected] of [
        ['last', 2],
        ['first', 1],
      ] as const) {
        const video = await largeMp4(64 * MIB, index);
        await store.write('video', video.stream(), unlimited);
        const file = { byteSize: video.byteSize, read: async (range?: Range) => (await store.read('video', range))! };
        let requests = 0;
        const count = () => {
          requests += 1;
        };
        subscribe('http.client.request.start', count);
        try {
          const facts = await new SharpMediaProbe().probe(file, { maxPixels: 10_000, decode: 'full', kind: 'video' });
          expect(facts).to.include({ kind: 'video', durationMs: 6_400 });
        } finally {
          unsubscribe('http.client.request.start', count);
        }
        expect(requests).to.equal(expected);
      }
    });

    it('stores objects whole around the size of a part', async () => {
      for (const byteSize of [5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 10 * MIB, 10 * MIB + 1]) {
        const expected = { byteSize, sha256: await sha256(made(byteSize)) };
        expect(await store.write('key', made(byteSize), unlimited)).to.deep.equal(expected);
        expect(await sha256((await store.read('key'))!)).to.equal(expected.sha256);
      }
    });

    it('stops at the limit, stores nothing and leaves no incomplete upload', async () => {
      await store.write('key', made(3), unlimited);
      let taken = 0;
      const maxBytes = 11 * MIB;
      expect(
        await store.write(
          'key',
          made(100 * MIB, (at) => {
            taken = at;
          }),
          { ...unlimited, maxBytes },
        ),
      ).to.equal('too-large');
      expect(taken).to.be.at.most(maxBytes);
      expect(await store.stat('key')).to.have.property('byteSize', 3);
      expect(await incompleteUploads(bucket, 'key')).to.equal(0);
    });

    it('leaves no incomplete upload when its source fails', async () => {
      const outcome = await outcomeOf(store.write('key', breakingOff(new Uint8Array(12 * MIB)), unlimited));
      expect(outcome).to.have.property('message', 'the line broke');
      expect(await store.stat('key')).to.equal(null);
      expect(await incompleteUploads(bucket, 'key')).to.equal(0);
    });

    it('leaves no incomplete upload of a failed copy', async () => {
      await store.write('from', made(10), unlimited);
      await store.write('to', made(10), unlimited);
      const { etag } = (await store.stat('from'))!;
      const results = [
        await store.copy('none', 'to', etag),
        await store.copy('from', 'to', 'other'),
        await store.copy('from', 'to', etag),
      ];
      expect(results).to.deep.equal(['missing', 'changed', 'exists']);
      expect(await incompleteUploads(bucket, 'to')).to.equal(0);
    });

    it('copies objects that were written in parts, and empty ones', async () => {
      for (const byteSize of [0, 12 * MIB]) {
        await store.write('from', made(byteSize), unlimited);
        expect(await store.copy('from', `to/${byteSize}`, (await store.stat('from'))!.etag)).to.equal('copied');
        expect(await sha256((await store.read(`to/${byteSize}`))!)).to.equal(await sha256(made(byteSize)));
      }
    });

    it('never shows a mixture of large writes to one key', async () => {
      const sizes = [6, 7, 8].map((mib) => mib * MIB);
      await Promise.all(sizes.map(async (byteSize) => store.write('key', made(byteSize), unlimited)));
      const { byteSize } = (await store.stat('key'))!;
      expect(sizes).to.include(byteSize);
      expect(await sha256((await store.read('key'))!)).to.equal(await sha256(made(byteSize)));
      expect(await incompleteUploads(bucket, 'key')).to.equal(0);
    });
  });
}
