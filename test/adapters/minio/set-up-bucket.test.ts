// Goal: bucket set-up can be repeated, can run in several processes at once, and keeps an operator's rules and live
// writes.
// Method: fresh buckets on real servers, inspected with the S3 client alone.
import { expect } from 'chai';
import type { LifecycleConfig } from 'minio';
import { checkOptions } from '../../../adapters/minio/minio-options.js';
import { MinioRefused } from '../../../adapters/minio/minio-refused.js';
import { S3Bucket } from '../../../adapters/minio/s3-bucket.js';
import { removeAbandoned, setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { s3Client } from '../../servers/readiness.js';
import { orSkip, s3Server, type S3Server } from '../../servers/servers.js';
import { incompleteUploads, openStore, outcomeOf } from './minio-buckets.js';

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
