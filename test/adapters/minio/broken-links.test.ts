// Goal: while a store is cut off or silent, each call waits a bounded time and reports the outage; once the link is
// restored, everything works again.
// Method: a real server behind a TCP proxy that cuts, swallows and restores traffic; stored objects are checked past
// the proxy. Calls that must end get a short timeout. Calls that must succeed are retried with longer timeouts, since
// a busy machine may be slow.
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server, type S3Server, toxiproxyServer, type ToxiproxyServer } from '../../servers/servers.js';
import { incompleteUploads, openIn, openStore, outcomeOf, withEnoughTime } from './minio-buckets.js';

const MIB = 1024 * 1024;
const TIMEOUT_MS = 400;
const PATIENT_MS = 60_000;
const LIMIT = { mediaType: 'image/png', maxBytes: 100 * MIB } as const;
const bytes = (byteCount: number) => inPieces(new Uint8Array(byteCount).fill(7));

for (const kind of S3_KINDS) {
  describe(`MinioObjectStore on a broken link to ${kind}`, () => {
    let server: S3Server;
    let toxiproxy: ToxiproxyServer;
    let bucket: FreshBucket;
    let link: TcpLink;
    /** Past the link; through it, with a short timeout and with a long one. */
    let direct: MinioObjectStore;
    let linked: MinioObjectStore;
    let patient: MinioObjectStore;
    before(async function findServers() {
      server = await orSkip(this, s3Server(kind));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      bucket = freshBucket(server);
      direct = await openIn(bucket);
      link = await TcpLink.open(toxiproxy, new URL(server.endpoint).host);
      patient = await throughLink(PATIENT_MS);
      linked = await withEnoughTime(TIMEOUT_MS, () => throughLink(TIMEOUT_MS));
    });
    afterEach(async () => {
      await link.close();
      await bucket.remove();
    });

    const throughLink = (timeoutMs: number): Promise<MinioObjectStore> =>
      openStore({ ...bucket, endpoint: `http://${link.address}`, timeoutMs });
    /** Retries while the answer is an outage: the store works again, however slow the machine. */
    const again = <T>(call: () => Promise<T>): Promise<T> => withEnoughTime(TIMEOUT_MS, call);

    it('reports an outage when a read is cut, and reads again afterwards', async () => {
      await direct.write('key', bytes(MIB), LIMIT);
      await link.fail({ type: 'limit_data', stream: 'downstream', attributes: { bytes: 300_000 } });
      expect(await outcomeOf(collected((await patient.read('key'))!))).to.be.instanceOf(StoreUnavailable);
      await link.heal();
      expect(await collected((await patient.read('key'))!)).to.have.length(MIB);
    });

    for (const [what, byteSize, sentBytes] of [
      ['one request', MIB, 300_000],
      ['parts', 12 * MIB, 3 * MIB],
    ] as const) {
      it(`stores nothing when a write in ${what} is cut, and writes again afterwards`, async () => {
        await direct.write('key', bytes(3), LIMIT);
        await link.fail({ type: 'limit_data', stream: 'upstream', attributes: { bytes: sentBytes } });
        for (const key of ['key', 'new'])
          expect(await outcomeOf(patient.write(key, bytes(byteSize), LIMIT))).to.be.instanceOf(StoreUnavailable);
        expect(await direct.stat('key')).to.have.property('byteSize', 3);
        expect(await direct.stat('new')).to.equal(null);
        expect(await incompleteUploads(bucket, 'new'), 'the parts are given up').to.equal(0);
        await link.heal();
        expect(await patient.write('new', bytes(byteSize), LIMIT)).to.have.property('byteSize', byteSize);
      });
    }

    for (const fault of ['swallow', 'cut'] as const) {
      it(`ends every call when the link does ${fault}, and works once it is restored`, async () => {
        await direct.write('key', bytes(3), LIMIT);
        await link[fault]();
        const calls = [
          linked.stat('key'),
          linked.read('key'),
          linked.read('key', { from: 0, to: 1 }),
          linked.write('key', bytes(5), LIMIT),
          linked.write('key', bytes(6 * MIB), LIMIT),
          linked.copy('key', 'to', 'any'),
          linked.remove('key'),
          linked.installationId(),
          throughLink(TIMEOUT_MS),
          setUpBucket({ ...bucket, endpoint: `http://${link.address}`, timeoutMs: TIMEOUT_MS }),
        ];
        for (const [at, outcome] of (await Promise.all(calls.map(outcomeOf))).entries())
          expect(outcome, `call ${at}`).to.be.instanceOf(StoreUnavailable);
        expect(await direct.stat('key')).to.have.property('byteSize', 3);
        await link.heal();
        expect(await again(() => linked.stat('key'))).to.have.property('byteSize', 3);
        expect(await again(() => linked.write('key', bytes(6 * MIB), LIMIT))).to.have.property('byteSize', 6 * MIB);
      });
    }

    it('ends a read whose link goes silent midway', async () => {
      await direct.write('key', bytes(32 * MIB), LIMIT);
      await link.fail({ type: 'bandwidth', stream: 'downstream', attributes: { rate: 4_000 } });
      const reading = await again(async () => (await linked.read('key'))!);
      let byteCount = 0;
      let swallowed: Promise<void> | undefined;
      const readAll = async () => {
        for await (const chunk of reading) {
          byteCount += chunk.byteLength;
          swallowed ??= link.swallow();
        }
      };
      expect(await outcomeOf(readAll())).to.be.instanceOf(StoreUnavailable);
      await swallowed;
      expect(byteCount).to.be.below(32 * MIB);
    });

    it('ends a write whose link goes silent midway', async () => {
      let isSwallowed = false;
      async function* swallowedOnTheWay(): AsyncGenerator<Uint8Array> {
        yield* bytes(6 * MIB);
        await link.swallow();
        isSwallowed = true;
        yield* bytes(6 * MIB);
      }
      // A write that times out before the link goes silent is repeated with more time.
      for (let timeoutMs = TIMEOUT_MS; !isSwallowed; timeoutMs *= 2) {
        const hasty = await again(() => throughLink(timeoutMs));
        expect(await outcomeOf(hasty.write('key', swallowedOnTheWay(), LIMIT))).to.be.instanceOf(StoreUnavailable);
      }
      expect(await direct.stat('key')).to.equal(null);
    });

    it('waits for a slow source and a slow reader, which are no fault of the server', async () => {
      async function* slow(timeoutMs: number): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 3; i += 1) {
          yield new Uint8Array(6 * MIB);
          await sleep(2 * timeoutMs);
        }
      }
      const written = await withEnoughTime(TIMEOUT_MS, async (timeoutMs) =>
        (await throughLink(timeoutMs)).write('key', slow(timeoutMs), LIMIT),
      );
      expect(written).to.have.property('byteSize', 18 * MIB);
      const byteCount = await withEnoughTime(TIMEOUT_MS, async (timeoutMs) => {
        let [readBytes, pauses] = [0, 0];
        for await (const chunk of (await (await throughLink(timeoutMs)).read('key'))!) {
          readBytes += chunk.byteLength;
          if (pauses < 2) await sleep(2 * timeoutMs);
          pauses += 1;
        }
        return readBytes;
      });
      expect(byteCount).to.equal(18 * MIB);
    });

    it('tolerates a slow link that still makes progress', async () => {
      const counted = async (source: AsyncIterable<Uint8Array>): Promise<number> => {
        let byteCount = 0;
        for await (const chunk of source) byteCount += chunk.byteLength;
        return byteCount;
      };
      const [written, readBytes] = await withEnoughTime(1_000, async (timeoutMs) => {
        // As a whole this takes longer than the timeout, both ways.
        const slow = {
          attributes: { rate: Math.floor((20 * 1024 * 1000) / (1.4 * timeoutMs)) },
          type: 'bandwidth',
        } as const;
        await link.heal();
        await link.fail({ ...slow, stream: 'upstream' }, { ...slow, stream: 'downstream' });
        const hasty = await throughLink(timeoutMs);
        return [await hasty.write('key', bytes(20 * MIB), LIMIT), await counted((await hasty.read('key'))!)] as const;
      });
      expect(written).to.have.property('byteSize', 20 * MIB);
      expect(readBytes).to.equal(20 * MIB);
    });

    it('keeps no connection of a failed call or an abandoned read', async () => {
      await direct.write('key', bytes(MIB), LIMIT);
      // More than the connection limit: kept connections would leave none for the last.
      for (let i = 0; i < 200; i += 1) {
        for await (const _ of (await patient.read('key'))!) break;
        await (await patient.read('key'))![Symbol.asyncIterator]().return!();
      }
      await link.swallow();
      const outcomes = await Promise.all(Array.from({ length: 200 }, async () => outcomeOf(linked.stat('key'))));
      for (const outcome of outcomes) expect(outcome).to.be.instanceOf(StoreUnavailable);
      await link.heal();
      expect(await again(() => linked.stat('key'))).to.have.property('byteSize', MIB);
      expect(await patient.stat('key')).to.have.property('byteSize', MIB);
    });
  });
}
