// Goal: an operator whose configuration cannot work gets one sentence that names the wrong option, and never a secret.
// Method: wrong options one by one, first those that need no server, then those that a real server refuses.
import { expect } from 'chai';
import { checkOptions, type MinioOptions } from '../../../adapters/minio/minio-options.js';
import { MinioRefused } from '../../../adapters/minio/minio-refused.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freePort } from '../../servers/free-port.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server } from '../../servers/servers.js';
import { openStore, outcomeOf } from './minio-buckets.js';

const SECRET = 'never-to-be-repeated';
const PLAUSIBLE: MinioOptions = {
  endpoint: 'http://127.0.0.1:1',
  region: 'us-east-1',
  bucket: 'bucket',
  accessKey: 'access',
  secretKey: SECRET,
};

/** Opening and set-up are refused with one sentence that contains these words. */
async function refuses(
  options: MinioOptions,
  kind: typeof MinioRefused | typeof StoreUnavailable,
  ...words: string[]
): Promise<void> {
  for (const error of [await outcomeOf(openStore(options)), await outcomeOf(setUpBucket(options))]) {
    expect(error).to.be.instanceOf(kind);
    const { message } = error as Error;
    for (const word of words) expect(message).to.include(word);
    expect(message)
      .to.match(/^[A-Z].*\.$/)
      .and.not.include(SECRET);
  }
}

describe('MinioObjectStore with options that cannot work', () => {
  it('refuses an endpoint that is more or less than a scheme, a host and a port', async () => {
    for (const wrong of [
      '',
      '127.0.0.1:9000',
      'ftp://host',
      'http://host/path',
      'http://host/?query',
      'http://host/#part',
      `http://user:${SECRET}@host`,
    ]) {
      await refuses({ ...PLAUSIBLE, endpoint: wrong }, MinioRefused, 'endpoint');
      await refuses({ ...PLAUSIBLE, publicEndpoint: wrong }, MinioRefused, 'public endpoint');
    }
  });

  it('refuses AWS hosts that redirect clients, and accepts those of a region', async () => {
    for (const [host, region] of [
      ['s3.amazonaws.com', 'us-east-1'],
      ['s3.cn-north-1.amazonaws.com.cn', 'cn-northwest-1'],
    ] as const) {
      await refuses({ ...PLAUSIBLE, endpoint: `https://${host}`, region }, MinioRefused, 'endpoint', 'region', host);
      await refuses(
        { ...PLAUSIBLE, publicEndpoint: `https://${host}`, region },
        MinioRefused,
        'public endpoint',
        'region',
        host,
      );
    }
    for (const [host, region] of [
      ['s3.us-east-1.amazonaws.com', 'us-east-1'],
      ['s3.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ] as const) {
      expect(() => checkOptions({ ...PLAUSIBLE, endpoint: `https://${host}`, region })).not.to.throw();
    }
  });

  it('refuses other values that no server could accept', async () => {
    for (const [change, word] of [
      [{ bucket: 'Bucket' }, 'bucket'],
      [{ bucket: 'b' }, 'bucket'],
      [{ bucket: 'a/b' }, 'bucket'],
      [{ region: '' }, 'region'],
      [{ region: 'a b' }, 'region'],
      [{ accessKey: '' }, 'access key'],
      [{ secretKey: '' }, 'secret key'],
      [{ timeoutMs: 0 }, 'timeout'],
      [{ timeoutMs: 1.5 }, 'timeout'],
      [{ timeoutMs: 3_600_000 }, 'timeout'],
    ] as const) {
      await refuses({ ...PLAUSIBLE, ...change }, MinioRefused, word);
    }
  });

  it('names an endpoint without a listener, and one that does not exist', async () => {
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    await refuses({ ...PLAUSIBLE, endpoint }, StoreUnavailable, endpoint, 'bucket bucket', 'ECONNREFUSED');
    await refuses(
      { ...PLAUSIBLE, endpoint: 'http://no-such-host.invalid' },
      StoreUnavailable,
      'http://no-such-host.invalid',
    );
    await refuses({ ...PLAUSIBLE, endpoint: 'http://[::1]:1' }, StoreUnavailable, 'http://[::1]:1');
  });
});

for (const kind of S3_KINDS) {
  describe(`MinioObjectStore refused by ${kind}`, () => {
    let bucket: FreshBucket;
    before(async function findServer() {
      bucket = freshBucket(await orSkip(this, s3Server(kind)));
    });
    beforeEach(async () => {
      await setUpBucket(bucket);
    });
    afterEach(async () => bucket.remove());

    it('names a missing bucket, and the way to create it', async () => {
      const error = await outcomeOf(openStore({ ...bucket, bucket: 'no-such-bucket' }));
      expect(error)
        .to.be.instanceOf(MinioRefused)
        .with.property('message')
        .that.includes('no-such-bucket')
        .and.includes(bucket.endpoint)
        .and.includes('darkroom migrate');
    });

    it('reports keys that are unknown or do not belong together', async () => {
      await refuses(
        { ...bucket, accessKey: 'nobody', secretKey: SECRET },
        MinioRefused,
        bucket.bucket,
        bucket.endpoint,
        'access key',
      );
      await refuses({ ...bucket, secretKey: SECRET }, MinioRefused, bucket.bucket, bucket.endpoint, 'secret key');
    });

    it('reports TLS to a server without it', async () => {
      await refuses({ ...bucket, endpoint: bucket.endpoint.replace('http:', 'https:') }, StoreUnavailable, 'https://');
    });

    it('is unavailable, not empty, when the bucket is removed', async () => {
      const store = await openStore(bucket);
      await bucket.remove();
      const write = store.write('key', (async function* none() {})(), { mediaType: 'image/png', maxBytes: 1 });
      const calls = [store.stat('key'), store.read('key'), store.copy('key', 'to', 'e'), store.remove('key'), write];
      for (const outcome of await Promise.all(calls.map(outcomeOf))) {
        expect(outcome).to.be.instanceOf(StoreUnavailable).with.property('message').that.includes('NoSuchBucket');
      }
    });
  });
}
