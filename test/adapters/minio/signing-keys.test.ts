// Goal: where the store lets clients do more than was signed, addresses are signed with keys of limited rights; without
// such keys the process does not start and signs no address.
// Method: the real servers; and a small server that is as lax as each test configures it, records its requests, and
// issues temporary keys.
import { expect } from 'chai';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import { type MinioOptions, MinioRefused } from '../../../adapters/minio/minio-options.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { closedAfterEach, listening } from '../../fixtures/opened.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket } from '../../servers/fresh-places.js';
import { s3Client } from '../../servers/readiness.js';
import { orSkip, s3Server } from '../../servers/servers.js';
import { openIn, openStore, outcomeOf } from './minio-buckets.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const INSTALLATION = '01890000-0000-7000-8000-000000000000';

const put = async (store: MinioObjectStore, expiresAt: number) =>
  new URL((await store.signPut({ key: 'staging/one', mediaType: 'image/png', byteSize: 1, expiresAt })).url)
    .searchParams;
const get = async (store: MinioObjectStore, expiresAt: number) =>
  new URL((await store.signGet({ key: 'out/one', mediaType: 'image/png', filename: 'one.png', expiresAt })).url)
    .searchParams;
const signer = (query: URLSearchParams) => query.get('X-Amz-Credential')!.split('/')[0];

for (const kind of S3_KINDS) {
  it(`signing keys on ${kind}: temporary ones where clients could do more than was signed, and no object left by the probes`, async function openMany() {
    const bucket = freshBucket(await orSkip(this, s3Server(kind)));
    const [store] = await Promise.all([openIn(bucket), ...Array.from({ length: 7 }, async () => openIn(bucket))]);
    try {
      const objects = (await s3Client(bucket).listObjectsV2(bucket.bucket, '', true).toArray()) as {
        readonly name: string;
      }[];
      expect(objects.map(({ name }) => name)).to.deep.equal(['INSTALLATION-ID']);
      for (const query of [await put(store, Date.now() + MINUTE), await get(store, Date.now() + MINUTE)]) {
        expect(query.has('X-Amz-Security-Token')).to.equal(kind === 'minio');
        expect(signer(query) === bucket.accessKey).to.equal(kind !== 'minio');
      }
    } finally {
      await bucket.remove();
    }
  });
}

describe('signing keys on a lax store', () => {
  const kept = closedAfterEach();
  let options: MinioOptions;
  let objects: Set<string>;
  /**
   * Keys whose uploads copy what a header names; keys that may not upload; whether a forged signature is accepted.
   */
  let lax: Set<string>;
  let barred: Set<string>;
  let takesAnything: boolean;
  /** Statuses of the next uploads, which store nothing; undefined where one is answered as configured. */
  let passing: (number | undefined)[];
  let temporary: (request: URLSearchParams) => { readonly status: number; readonly body: string };
  let asked: URLSearchParams[];

  const granted = (livesMs: number) => () => ({
    status: 200,
    body:
      `<Credentials><AccessKeyId>temporary${asked.length}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t/=+</SessionToken>` +
      `<Expiration>${new Date(Date.now() + livesMs).toISOString()}</Expiration></Credentials>`,
  });
  const denied = () => ({
    status: 403,
    body: '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>',
  });

  beforeEach(async () => {
    objects = new Set();
    lax = new Set(['ours']);
    barred = new Set();
    takesAnything = false;
    passing = [];
    asked = [];
    temporary = granted(24 * HOUR);
    const server = createServer((request, response) => {
      void answer(request, response);
    });
    const { url: endpoint } = kept(await listening(server));
    options = {
      endpoint,
      region: 'us-east-1',
      bucket: 'bucket',
      accessKey: 'ours',
      secretKey: 'hidden',
      longestAddressMs: HOUR,
    };
  });
  afterEach(() => {
    expect([...objects], 'nothing is left of the probes').to.deep.equal([]);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { pathname, searchParams } = new URL(request.url!, options.endpoint);
    const say = (status: number, what = '') =>
      response.writeHead(status, { 'ETag': '"e"', 'Last-Modified': new Date(0).toUTCString() }).end(what);
    if (request.method === 'POST') {
      asked.push(new URLSearchParams(body));
      const { status, body: given } = temporary(asked.at(-1)!);
      say(status, given);
    } else if (request.method === 'GET') say(200, INSTALLATION);
    else if (request.method === 'DELETE') say(objects.delete(pathname) ? 204 : 404);
    else if (request.method === 'HEAD')
      response
        .writeHead(objects.has(pathname) ? 200 : 404, {
          'Content-Length': '36',
          'ETag': '"e"',
          'Last-Modified': new Date(0).toUTCString(),
        })
        .end();
    else say(upload(request, pathname, signer(searchParams)!, searchParams.get('X-Amz-Signature')!));
  }

  function upload({ headers }: IncomingMessage, key: string, who: string, signature: string): number {
    const status = passing.shift();
    if (status !== undefined) return status;
    const isForged = /^0+$/.test(signature);
    if (isForged ? !takesAnything : barred.has(who) || (headers['x-amz-copy-source'] !== undefined && !lax.has(who)))
      return 403;
    objects.add(key);
    return 200;
  }

  const refuses = async (change: Partial<MinioOptions>, ...words: string[]) => {
    const error = await outcomeOf(openStore({ ...options, ...change }));
    expect(error).to.be.instanceOf(MinioRefused);
    for (const word of words) expect((error as Error).message).to.include(word);
    expect((error as Error).message)
      .to.match(/^[A-Z].*\.$/)
      .and.not.include('hidden');
  };
  const UPLOAD = { uploadAccessKey: 'upload', uploadSecretKey: 'hidden' } as const;

  it('are ours, without a request for others, if the store enforces what was signed', async () => {
    lax.clear();
    const store = await openStore(options);
    expect([
      signer(await put(store, Date.now() + HOUR)),
      signer(await get(store, Date.now() + HOUR)),
      asked.length,
    ]).to.deep.equal(['ours', 'ours', 0]);
  });

  it('are temporary only for uploads if uploads can copy, and for reading too if unsigned uploads are accepted', async () => {
    const copying = await openStore(options);
    expect(asked.map((request) => JSON.parse(request.get('Policy')!).Statement)).to.deep.equal([
      [{ Effect: 'Allow', Action: ['s3:PutObject'], Resource: ['arn:aws:s3:::bucket/staging/*'] }],
    ]);
    expect([
      signer(await put(copying, Date.now() + MINUTE)),
      signer(await get(copying, Date.now() + MINUTE)),
    ]).to.deep.equal(['temporary1', 'ours']);
    takesAnything = true;
    const open = await openStore(options);
    expect([signer(await put(open, Date.now() + MINUTE)), signer(await get(open, Date.now() + MINUTE))]).to.deep.equal([
      'temporary3',
      'temporary2',
    ]);
    expect((await put(open, Date.now() + MINUTE)).get('X-Amz-Security-Token')).to.equal('t/=+');
    lax.clear();
    expect(signer(await put(await openStore(options), Date.now() + MINUTE)), 'whose uploads copy nothing').to.match(
      /^temporary/,
    );
  });

  it('are renewed before an address would outlive them, once for all callers', async () => {
    temporary = granted(2 * HOUR);
    const store = await openStore(options);
    const ends = Date.now() + 110 * MINUTE;
    expect([signer(await put(store, ends)), asked.length]).to.deep.equal(['temporary1', 1]);
    temporary = granted(4 * HOUR);
    const later = await Promise.all(Array.from({ length: 20 }, async () => put(store, Date.now() + 3 * HOUR)));
    expect(new Set(later.map(signer))).to.deep.equal(new Set(['temporary2']));
    expect(asked.map((request) => request.get('DurationSeconds'))).to.deep.equal(['8100', '8100']);
  });

  it('sign nothing while no keys are valid long enough', async () => {
    temporary = granted(2 * HOUR);
    const store = await openStore(options);
    for (const then of [
      denied,
      granted(2 * HOUR),
      () => ({ status: 503, body: '' }),
      () => ({ status: 200, body: '<html/>' }),
    ]) {
      temporary = then;
      expect(await outcomeOf(put(store, Date.now() + 3 * HOUR))).to.be.instanceOf(StoreUnavailable);
    }
    expect(signer(await put(store, Date.now() + HOUR)), 'shorter addresses go on').to.match(/^temporary/);
    temporary = granted(4 * HOUR);
    expect(signer(await put(store, Date.now() + 3 * HOUR))).to.equal('temporary6');
  });

  it('stop the start when there are none, with an error that says what to do', async () => {
    temporary = denied;
    await refuses(
      {},
      'minio.upload_access_key',
      'minio.upload_secret_key',
      's3:PutObject on bucket/staging/*',
      'AccessDenied',
    );
    temporary = granted(30 * MINUTE);
    await refuses({}, 'minio.upload_access_key', 'expire before');
    takesAnything = true;
    temporary = denied;
    await refuses(UPLOAD, 'minio.access_key', 'service account', 'AccessDenied');
    temporary = () => ({ status: 503, body: '' });
    expect(await outcomeOf(openStore(options))).to.be.instanceOf(StoreUnavailable);
  });

  it('are chosen by what the store repeats, not by one refusal of a write that collided with a removal', async () => {
    passing = [403, 409];
    expect(signer(await put(await openStore(options), Date.now() + MINUTE)), 'whose uploads copy').to.equal(
      'temporary1',
    );
    takesAnything = true;
    passing = [undefined, 403, 409];
    const open = await openStore(options);
    expect(signer(await get(open, Date.now() + MINUTE)), 'where unsigned uploads are accepted').to.match(/^temporary/);
    passing = [undefined, undefined, 403, 409];
    await openStore(options);
    lax.add('upload');
    passing = [undefined, undefined, undefined, 403, 409];
    await refuses(UPLOAD, 'are allowed too much');
  });

  for (const status of [408, 429, 500, 503]) {
    it(`are not chosen while the store answers ${status}, which is an outage and no refusal`, async () => {
      for (const before of [0, 1, 4, 5]) {
        passing = [...Array.from({ length: before }, () => undefined), status];
        expect(await outcomeOf(openStore(options)), `upload ${before}`)
          .to.be.instanceOf(StoreUnavailable)
          .with.property('message')
          .that.includes(String(status));
      }
    });
  }

  it('are the configured ones for uploads, once those have been checked', async () => {
    temporary = denied;
    const store = await openStore({ ...options, ...UPLOAD });
    expect([signer(await put(store, Date.now() + HOUR)), signer(await get(store, Date.now() + HOUR))]).to.deep.equal([
      'upload',
      'ours',
    ]);
    lax.add('upload');
    await refuses(UPLOAD, 'minio.upload_access_key', 'are allowed too much');
    barred.add('upload');
    await refuses(UPLOAD, 'minio.upload_access_key', 's3:PutObject on bucket/staging/*');
    await refuses({ uploadAccessKey: 'upload' }, 'both', 'neither');
  });

  it('are determined at the first signing by a tool that has not called the store before', async () => {
    const store = MinioObjectStore.unasked({ ...options, clock: { now: () => Date.now() } });
    expect(asked).to.have.length(0);
    temporary = denied;
    expect(await outcomeOf(put(store, Date.now() + MINUTE))).to.be.instanceOf(MinioRefused);
    temporary = granted(24 * HOUR);
    expect(signer(await put(store, Date.now() + MINUTE))).to.equal('temporary2');
  });
});
