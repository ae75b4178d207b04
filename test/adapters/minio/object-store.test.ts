import { expect } from 'chai';
import type { LifecycleConfig } from 'minio';
import { checkOptions, MinioRefused } from '../../../adapters/minio/minio-options.js';
import { S3Bucket } from '../../../adapters/minio/s3-bucket.js';
import { removeAbandoned, setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { sendByFetch } from '../../contracts/object-store-subject.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';
import { bytesOf, collected, inPieces } from '../../fixtures/byte-streams.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { s3Client } from '../../servers/readiness.js';
import { orSkip, s3Server, type S3Server, toxiproxyServer, type ToxiproxyServer } from '../../servers/servers.js';
import { incompleteUploads, openIn, openStore, outcomeOf } from './minio-buckets.js';

// Goal: objects in a bucket keep the port's contract, on two S3 servers that have little in common.
// Method: the contract, a fresh bucket for each test.

for (const kind of S3_KINDS) {
  describe(kind, () => {
    const buckets = new Map<ObjectStore, FreshBucket>();
    let server: S3Server;
    before(async function findServer() {
      server = await orSkip(this, s3Server(kind));
    });

    objectStoreContract({
      name: `minio on ${kind}`,
      open: async () => {
        const bucket = freshBucket(server);
        const store = await openIn(bucket);
        buckets.set(store, bucket);
        return store;
      },
      close: async (store) => {
        await buckets.get(store)!.remove();
        buckets.delete(store);
      },
      supports: {
        send: sendByFetch,
        now: () => Date.now(),
        refusesInvalidKeys: true,
        signsWholeAddress: true,
        sendsNosniff: kind === 'minio',
        keepsEveryKey: false,
        copiesOntoOneKeyOnce: kind === 'minio',
      },
    });
  });
}

// Goal: bucket set-up can be repeated, can run in several processes at once, and keeps an operator's rules and live
// writes.
// Method: fresh buckets on real servers, inspected with the S3 client alone.

const DAY_MS = 24 * 60 * 60 * 1000;

for (const kind of S3_KINDS) {
  describe(`setUpBucket on ${kind}`, () => {
    let server: S3Server;
    let bucket: FreshBucket;
    before(async function findServer() {
      server = await orSkip(this, s3Server(kind));
    });
    beforeEach(() => {
      bucket = freshBucket(server);
    });
    afterEach(async () => bucket.remove());

    it('creates the bucket and says so, and finds nothing to do again', async () => {
      const first = await setUpBucket(bucket);
      expect(first[0]).to.equal(`Made the bucket ${bucket.bucket} at ${bucket.endpoint}.`);
      const again = await setUpBucket(bucket);
      expect(again.filter((line) => !line.includes('supports no such rules'))).to.deep.equal([]);
      for (const line of [...first, ...again]) expect(line).to.match(/^[A-Z].*\.$/);
    });

    it('runs safely in many processes concurrently, of which one creates the bucket', async () => {
      const lines = (await Promise.all(Array.from({ length: 8 }, async () => setUpBucket(bucket)))).flat();
      expect(lines.filter((line) => line.startsWith('Made'))).to.have.length(1);
      const stores = await Promise.all(Array.from({ length: 4 }, async () => openStore(bucket)));
      expect(new Set(await Promise.all(stores.map(async (store) => store.installationId()))).size).to.equal(1);
    });

    it('keeps an installation id from the first time on, and another in another bucket', async () => {
      await setUpBucket(bucket);
      const id = await (await openStore(bucket)).installationId();
      await setUpBucket(bucket);
      expect(await (await openStore(bucket)).installationId()).to.equal(id);
      const other = freshBucket(server);
      await setUpBucket(other);
      expect(await (await openStore(other)).installationId()).not.to.equal(id);
      await other.remove();
    });

    it('refuses a bucket with another object in place of the id', async () => {
      await setUpBucket(bucket);
      await s3Client(server).putObject(bucket.bucket, 'INSTALLATION-ID', 'something else');
      expect(await outcomeOf(setUpBucket(bucket)))
        .to.be.instanceOf(MinioRefused)
        .with.property('message')
        .that.includes('INSTALLATION-ID');
    });

    it('sets rules if the server supports them, and keeps those of an operator', async function lifecycle() {
      const lines = await setUpBucket(bucket);
      if (kind !== 'minio') {
        expect(lines.join('\n')).to.include('supports no such rules');
        return;
      }
      const client = s3Client(server);
      expect(lines.join('\n')).to.include('staged files expire after eight days');
      expect(JSON.stringify(await client.getBucketLifecycle(bucket.bucket))).to.include('staging/');
      const own: LifecycleConfig = {
        Rule: [{ ID: 'own', Status: 'Enabled', Filter: { Prefix: 'logs/' }, Expiration: { Days: 30 } }],
      };
      await client.setBucketLifecycle(bucket.bucket, own);
      expect((await setUpBucket(bucket)).join('\n')).to.include('unchanged');
      expect(JSON.stringify(await client.getBucketLifecycle(bucket.bucket)))
        .to.include('logs/')
        .and.not.include('staging/');
    });

    it('removes the remains of a dead write, and leaves a live one alone', async () => {
      await setUpBucket(bucket);
      await s3Client(server).initiateNewMultipartUpload(bucket.bucket, 'media/key', {});
      const s3 = new S3Bucket(checkOptions(bucket));
      expect(await removeAbandoned(s3, Date.now())).to.deep.equal([]);
      expect(await incompleteUploads(bucket, 'media/key')).to.equal(1);
      expect((await removeAbandoned(s3, Date.now() + 2 * DAY_MS)).join('\n')).to.match(/removed .*: 1\.$/);
      expect(await incompleteUploads(bucket, 'media/key')).to.equal(0);
    });
  });
}

// Goal: clients may reach the object store at another address than the service does; a signed URL works at that address
// and only there.
// Method: a TCP proxy's address as the public one; requests sent as a client would, with the corresponding Host header.

const BODY = bytesOf('what a client sends');
const soon = () => Date.now() + 60_000;

for (const kind of S3_KINDS) {
  describe(`MinioObjectStore with a public endpoint on ${kind}`, () => {
    let toxiproxy: ToxiproxyServer;
    let bucket: FreshBucket;
    let link: TcpLink;
    before(async function findServers() {
      bucket = freshBucket(await orSkip(this, s3Server(kind)));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      link = await TcpLink.open(toxiproxy, new URL(bucket.endpoint).host);
    });
    afterEach(async () => {
      await link.close();
      await bucket.remove();
    });

    it('signs for the public address, and calls the internal one', async () => {
      const publicEndpoint = `http://${link.address}`;
      const store = await openIn({ ...bucket, publicEndpoint });
      const put = await store.signPut({
        key: 'staging/one',
        mediaType: 'image/png',
        byteSize: BODY.byteLength,
        expiresAt: soon(),
      });
      expect(put.url).to.match(new RegExp(`^${publicEndpoint}/${bucket.bucket}/staging/one\\?`));
      expect((await fetch(put.url, { method: 'PUT', headers: put.headers, body: BODY })).status).to.equal(200);
      expect(await collected((await store.read('staging/one'))!)).to.deep.equal(BODY);

      const get = await store.signGet({
        key: 'staging/one',
        mediaType: 'image/png',
        filename: 'A café, "half" 50% + más.png',
        expiresAt: soon(),
      });
      const answer = await fetch(get.url);
      expect(new Uint8Array(await answer.arrayBuffer())).to.deep.equal(BODY);
      expect(answer.headers.get('content-disposition')).to.include(`filename*=UTF-8''A%20caf%C3%A9`);

      const elsewhere = get.url.replace(publicEndpoint, bucket.endpoint);
      expect((await fetch(elsewhere)).status, 'the host is signed').to.equal(403);
      await link.cut();
      expect(await store.stat('staging/one'), 'our own calls do not pass there').to.have.property(
        'byteSize',
        BODY.byteLength,
      );
    });

    it('handles the time of a signature independently of what it allows', async () => {
      const store = await openIn(bucket);
      await store.write('key', inPieces(BODY), { mediaType: 'image/png', maxBytes: 100 });
      const get = { key: 'key', mediaType: 'image/png', filename: 'one.png' };
      const week = await store.signGet({ ...get, expiresAt: Date.now() + 7 * 24 * 3_600_000 });
      const byAFastClock = await store.signGet({ ...get, expiresAt: Date.now() + 7 * 24 * 3_600_000 + 60_000 });
      expect(byAFastClock.url).to.include('X-Amz-Expires=604800');
      expect((await fetch(week.url)).status, 'the longest there is').to.equal(200);
      const refused = await store
        .signGet({ ...get, expiresAt: Date.now() + 8 * 24 * 3_600_000 })
        .catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(RangeError);
      for (const change of [
        { key: '../key' },
        { mediaType: 'image/png\r\nX: y' },
        { mediaType: 'png' },
        { expiresAt: Number.NaN },
      ]) {
        expect(
          await store.signGet({ ...get, expiresAt: soon(), ...change }).catch((error: unknown) => error),
        ).to.be.instanceOf(RangeError);
      }
      for (const byteSize of [-1, 1.5]) {
        expect(
          await store
            .signPut({ key: 'key', mediaType: 'image/png', byteSize, expiresAt: soon() })
            .catch((error: unknown) => error),
        ).to.be.instanceOf(RangeError);
      }
    });
  });
}
