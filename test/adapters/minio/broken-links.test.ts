// Goal: a store that is cut off, or says nothing, costs a bounded wait and an honest answer, and nothing once it is back.
// Method: a real server behind a TCP proxy that cuts, swallows and heals; what was stored is looked at past the proxy.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server, toxiproxyServer, type S3Server, type ToxiproxyServer } from '../../servers/servers.js';
import { incompleteUploads, openIn, openStore, outcomeOf } from './minio-buckets.js';

const MIB = 1024 * 1024;
const TIMEOUT_MS = 400;
const LIMIT = { mediaType: 'image/png', maxBytes: 100 * MIB } as const;
const bytes = (byteCount: number) => inPieces(new Uint8Array(byteCount).fill(7));

for (const kind of S3_KINDS) {
  describe(`MinioObjectStore on a broken link to ${kind}`, () => {
    let server: S3Server;
    let toxiproxy: ToxiproxyServer;
    let bucket: FreshBucket;
    let link: TcpLink;
    /** Past the link, and through it. */
    let direct: MinioObjectStore;
    let linked: MinioObjectStore;
    before(async function findServers() {
      server = await orSkip(this, s3Server(kind));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      bucket = freshBucket(server);
      direct = await openIn(bucket);
      link = await TcpLink.open(toxiproxy, new URL(server.endpoint).host);
      linked = await openStore({ ...bucket, endpoint: `http://${link.address}`, timeoutMs: TIMEOUT_MS });
    });
    afterEach(async () => {
      await link.close();
      await bucket.remove();
    });

    it('says so when a read is cut, and reads again afterwards', async () => {
      await direct.write('key', bytes(MIB), LIMIT);
      await link.fail({ type: 'limit_data', stream: 'downstream', attributes: { bytes: 300_000 } });
      expect(await outcomeOf(collected((await linked.read('key'))!))).to.be.instanceOf(StoreUnavailable);
      await link.heal();
      expect(await collected((await linked.read('key'))!)).to.have.length(MIB);
    });

    for (const [what, byteSize, sentBytes] of [['one request', MIB, 300_000], ['parts', 12 * MIB, 3 * MIB]] as const) {
      it(`stores nothing when a write in ${what} is cut, and writes again afterwards`, async () => {
        await direct.write('key', bytes(3), LIMIT);
        await link.fail({ type: 'limit_data', stream: 'upstream', attributes: { bytes: sentBytes } });
        for (const key of ['key', 'new']) expect(await outcomeOf(linked.write(key, bytes(byteSize), LIMIT))).to.be.instanceOf(StoreUnavailable);
        expect(await direct.stat('key')).to.have.property('byteSize', 3);
        expect(await direct.stat('new')).to.equal(null);
        expect(await incompleteUploads(bucket, 'new'), 'the parts are given up').to.equal(0);
        await link.heal();
        expect(await linked.write('new', bytes(byteSize), LIMIT)).to.have.property('byteSize', byteSize);
      });
    }

    for (const fault of ['swallow', 'cut'] as const) {
      it(`ends every call when the link does ${fault}, and works once it is whole`, async () => {
        await direct.write('key', bytes(3), LIMIT);
        await link[fault]();
        const calls = [
          linked.stat('key'), linked.read('key'), linked.read('key', { from: 0, to: 1 }), linked.write('key', bytes(5), LIMIT),
          linked.write('key', bytes(6 * MIB), LIMIT), linked.copy('key', 'to', 'any'), linked.remove('key'), linked.installationId(),
          openStore({ ...bucket, endpoint: `http://${link.address}`, timeoutMs: TIMEOUT_MS }),
          setUpBucket({ ...bucket, endpoint: `http://${link.address}`, timeoutMs: TIMEOUT_MS }),
        ];
        for (const [at, outcome] of (await Promise.all(calls.map(outcomeOf))).entries()) expect(outcome, `call ${at}`).to.be.instanceOf(StoreUnavailable);
        expect(await direct.stat('key')).to.have.property('byteSize', 3);
        await link.heal();
        expect(await linked.stat('key')).to.have.property('byteSize', 3);
        expect(await linked.write('key', bytes(6 * MIB), LIMIT)).to.have.property('byteSize', 6 * MIB);
      });
    }

    it('ends a read that the link swallows in its midst', async () => {
      await direct.write('key', bytes(32 * MIB), LIMIT);
      await link.fail({ type: 'bandwidth', stream: 'downstream', attributes: { rate: 4_000 } });
      let byteCount = 0;
      let swallowed: Promise<void> | undefined;
      const reading = async () => {
        for await (const chunk of (await linked.read('key'))!) {
          byteCount += chunk.byteLength;
          swallowed ??= link.swallow();
        }
      };
      expect(await outcomeOf(reading())).to.be.instanceOf(StoreUnavailable);
      await swallowed;
      expect(byteCount).to.be.within(1, 32 * MIB - 1);
    });

    it('ends a write that the link swallows in its midst', async () => {
      let isSwallowed = false;
      async function* swallowedOnTheWay(): AsyncGenerator<Uint8Array> {
        yield* bytes(6 * MIB);
        await link.swallow();
        isSwallowed = true;
        yield* bytes(6 * MIB);
      }
      expect(await outcomeOf(linked.write('key', swallowedOnTheWay(), LIMIT))).to.be.instanceOf(StoreUnavailable);
      expect(isSwallowed).to.equal(true);
      expect(await direct.stat('key')).to.equal(null);
    });

    it('waits for a slow source and a slow reader, who are no fault of the server', async () => {
      async function* slow(): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 3; i += 1) {
          yield new Uint8Array(6 * MIB);
          await sleep(2 * TIMEOUT_MS);
        }
      }
      expect(await linked.write('key', slow(), LIMIT)).to.have.property('byteSize', 18 * MIB);
      let byteCount = 0;
      let pauses = 0;
      for await (const chunk of (await linked.read('key'))!) {
        byteCount += chunk.byteLength;
        if (pauses < 2) await sleep(2 * TIMEOUT_MS);
        pauses += 1;
      }
      expect(byteCount).to.equal(18 * MIB);
    });

    it('lets a link be slow that still moves', async () => {
      const patient = await openStore({ ...bucket, endpoint: `http://${link.address}`, timeoutMs: 2_000 });
      const rate = { rate: 15_000 };
      await link.fail({ type: 'bandwidth', stream: 'upstream', attributes: rate }, { type: 'bandwidth', stream: 'downstream', attributes: rate });
      // As a whole this takes longer than the timeout, both ways.
      expect(await patient.write('key', bytes(40 * MIB), LIMIT)).to.have.property('byteSize', 40 * MIB);
      let byteCount = 0;
      for await (const chunk of (await patient.read('key'))!) byteCount += chunk.byteLength;
      expect(byteCount).to.equal(40 * MIB);
    });

    it('keeps no connection of a call that failed, or of a reader who left', async () => {
      await direct.write('key', bytes(MIB), LIMIT);
      // More than there may be connections: kept ones would leave none for the last.
      for (let i = 0; i < 200; i += 1) {
        for await (const _ of (await linked.read('key'))!) break;
        await (await linked.read('key'))![Symbol.asyncIterator]().return!();
      }
      await link.swallow();
      const outcomes = await Promise.all(Array.from({ length: 200 }, async () => outcomeOf(linked.stat('key'))));
      for (const outcome of outcomes) expect(outcome).to.be.instanceOf(StoreUnavailable);
      await link.heal();
      expect(await linked.stat('key')).to.have.property('byteSize', MIB);
    });
  });
}
