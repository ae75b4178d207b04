import { expect } from 'chai';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import { checkOptions, type MinioOptions, MinioRefused } from '../../../adapters/minio/minio-options.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { closedAfterEach, listening } from '../../fixtures/opened.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freePort } from '../../servers/free-port.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server, type S3Server, toxiproxyServer, type ToxiproxyServer } from '../../servers/servers.js';
import { incompleteUploads, openIn, openStore, outcomeOf, withEnoughTime } from './minio-buckets.js';

// Goal: while a store is cut off or silent, each call waits a bounded time and reports the outage; once the link is
// restored, everything works again.
// Method: a real server behind a TCP proxy that cuts, swallows and restores traffic; stored objects are checked past
// the proxy. Calls that must end get a short timeout. Calls that must succeed are retried with longer timeouts, since
// a busy machine may be slow.

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

    it('waits for a slow source and a slow reader, which are not faults of the server', async () => {
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
        // The whole transfer takes longer than the timeout, in both directions.
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

// Goal: each call ends and is sent once, whatever the server answers; an invalid response is never read as success.
// Method: an HTTP server that answers as each test configures it, in ways that real servers seldom do.

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const errorXml = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as told</Message></Error>`;
const noSuchKey: Answer = (_, response) => response.writeHead(404).end(errorXml('NoSuchKey'));

describe('MinioObjectStore given strange answers', () => {
  const kept = closedAfterEach();
  let server: Server;
  let options: MinioOptions;
  let store: MinioObjectStore;
  let answer: Answer;
  let seen: string[];
  beforeEach(async () => {
    answer = noSuchKey;
    server = createServer((request, response) => {
      request.resume().once('end', () => {
        seen.push(`${request.method} ${request.url!.replace(/^\/bucket\//, '')}`);
        answer(request, response);
      });
    });
    const { url: endpoint } = kept(await listening(server));
    options = { endpoint, region: 'us-east-1', bucket: 'bucket', accessKey: 'access', secretKey: 'secret' };
    store = MinioObjectStore.unasked({ ...options, clock: { now: () => Date.now() } });
    seen = [];
  });

  const reads = async () => collected((await store.read('key'))!);
  const unavailable = async (call: Promise<unknown>, word = '') =>
    expect(await outcomeOf(call))
      .to.be.instanceOf(StoreUnavailable)
      .with.property('message')
      .that.includes(word);

  for (const status of [408, 429, 499, 500, 502, 503, 504]) {
    it(`sends one request, and is unavailable, when the answer is ${status}`, async () => {
      answer = (_, response) => response.writeHead(status).end(errorXml('SlowDown'));
      await unavailable(store.read('key'), String(status));
      await unavailable(store.stat('key'), String(status));
      await unavailable(store.write('key', inPieces(new Uint8Array(3)), LIMIT), String(status));
      expect(seen).to.deep.equal(['GET key', 'HEAD key', 'PUT key']);
    });
  }

  it('keeps no connection of many answers that it cannot use', async () => {
    answer = (_, response) => response.writeHead(503).write('and so on');
    for (let i = 0; i < 100; i += 1) await unavailable(store.read('key'), '503');
    // The last few may still be closing.
    expect(await promisify(server.getConnections.bind(server))()).to.be.below(50);
  });

  it('ends a call whose answer stalls after its beginning', async () => {
    store = MinioObjectStore.unasked({ ...options, timeoutMs: 300, clock: { now: () => Date.now() } });
    answer = (_, response) => response.writeHead(200, { 'Content-Length': '100', 'ETag': '"e"' }).write('half');
    await unavailable(reads());
    await unavailable(store.write('key', inPieces(new Uint8Array(3)), LIMIT));
    await unavailable(store.write('key', inPieces(new Uint8Array(6 * MIB)), LIMIT));
    await unavailable(store.copy('from', 'to', 'e'));
    await unavailable(store.installationId());
    answer = (_, response) => response.writeHead(404, { 'Content-Length': '100' }).write('<Error>');
    await unavailable(store.remove('key'));
  });

  it('is unavailable when the answer is shorter than declared', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('half', () => response.destroy());
    };
    await unavailable(reads());
  });

  it('does not mistake an HTML page for a missing object', async () => {
    answer = (_, response) => response.writeHead(404, { 'Content-Type': 'text/html' }).end('<html>no such page</html>');
    await unavailable(store.read('key'));
    await unavailable(store.stat('key'));
    answer = (_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
    await unavailable(store.read('key'));
  });

  it('does not mistake a whole object for a range of it', async () => {
    answer = (_, response) => response.writeHead(200).end('0123456789');
    await unavailable(store.read('key', { from: 2, to: 4 }));
  });

  /** Answers the start of a multipart upload; the test answers its completion. */
  const inParts =
    (complete: Answer): Answer =>
    (request, response) => {
      const url = request.url!;
      if (url.endsWith('?uploads'))
        response.end('<InitiateMultipartUploadResult><UploadId>a/b+c</UploadId></InitiateMultipartUploadResult>');
      else if (request.method === 'PUT')
        response
          .writeHead(200, { ETag: '"part"' })
          .end('<CopyPartResult><ETag>&quot;part&quot;</ETag></CopyPartResult>');
      else if (request.method === 'DELETE') response.writeHead(204).end();
      else complete(request, response);
    };

  for (const [how, complete] of [
    ['fails after it began with 200', (_, response) => response.writeHead(200).end(`  \n${errorXml('InternalError')}`)],
    ['conflicts with another', (_, response) => response.writeHead(409).end(errorXml('ConditionalRequestConflict'))],
    ['says nothing', (_, response) => response.writeHead(200).end()],
  ] satisfies [string, Answer][]) {
    it(`is unavailable, and aborts the upload, when a completion ${how}`, async () => {
      answer = inParts(complete);
      await unavailable(store.copy('from', 'to', 'e'));
      await unavailable(store.write('to', inPieces(new Uint8Array(6 * MIB)), LIMIT));
      const aborted = 'DELETE to?uploadId=a%2Fb%2Bc';
      expect(seen.filter((line) => line.startsWith('DELETE'))).to.deep.equal([aborted, aborted]);
    });
  }

  it('returns the outcome when the upload cannot be aborted', async () => {
    const whole = inParts((_, response) => response.writeHead(412).end(errorXml('PreconditionFailed')));
    answer = (request, response) =>
      request.method === 'DELETE' ? response.writeHead(503).end() : whole(request, response);
    expect(await store.copy('from', 'to', 'e')).to.equal('exists');
    expect(await store.write('to', inPieces(new Uint8Array(20 * MIB)), { ...LIMIT, maxBytes: 6 * MIB })).to.equal(
      'too-large',
    );
  });

  it('refuses to open a server that does not speak S3 or that refuses the keys', async () => {
    answer = (_, response) => response.writeHead(404).end('<html>no such page</html>');
    await unavailable(openStore(options), options.endpoint);
    for (const code of ['AccessDenied', 'RequestTimeTooSkewed', 'AuthorizationHeaderMalformed', 'SomethingElse']) {
      answer = (_, response) => response.writeHead(403).end(errorXml(code));
      expect(await outcomeOf(openStore(options)))
        .to.be.instanceOf(MinioRefused)
        .with.property('message')
        .that.includes(code)
        .and.includes(options.endpoint);
    }
  });
});

// Goal: an operator whose configuration cannot work gets one sentence that names the wrong option, and never a secret.
// Method: wrong options one by one, first those that need no server, then those that a real server refuses.

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
    const parts = ['http://host/path', 'http://host/?query', 'http://host/#part', `http://user:${SECRET}@host`];
    for (const wrong of ['', '127.0.0.1:9000', 'ftp://host', ...parts]) {
      await refuses({ ...PLAUSIBLE, endpoint: wrong }, MinioRefused, 'endpoint');
      await refuses({ ...PLAUSIBLE, publicEndpoint: wrong }, MinioRefused, 'public endpoint');
    }
  });

  it('refuses AWS hosts that redirect clients, and accepts those of a region', async () => {
    for (const [host, region] of [
      ['s3.amazonaws.com', 'us-east-1'],
      ['s3.cn-north-1.amazonaws.com.cn', 'cn-northwest-1'],
    ] as const) {
      const url = `https://${host}`;
      await refuses({ ...PLAUSIBLE, endpoint: url, region }, MinioRefused, 'endpoint', 'region', host);
      await refuses({ ...PLAUSIBLE, publicEndpoint: url, region }, MinioRefused, 'public endpoint', 'region', host);
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
    for (const absent of ['http://no-such-host.invalid', 'http://[::1]:1'])
      await refuses({ ...PLAUSIBLE, endpoint: absent }, StoreUnavailable, absent);
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
      const { bucket: name, endpoint } = bucket;
      const stranger = { ...bucket, accessKey: 'nobody', secretKey: SECRET };
      await refuses(stranger, MinioRefused, name, endpoint, 'access key');
      await refuses({ ...bucket, secretKey: SECRET }, MinioRefused, name, endpoint, 'secret key');
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
