// Goal: each call ends and is sent once, whatever the server answers; an invalid response is never read as success.
// Method: an HTTP server that answers as each test configures it, in ways that real servers seldom do.
import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import type { MinioOptions } from '../../../adapters/minio/minio-options.js';
import { MinioRefused } from '../../../adapters/minio/minio-refused.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { openStore, outcomeOf } from './minio-buckets.js';

const MIB = 1024 * 1024;
const LIMIT = { mediaType: 'image/png', maxBytes: 100 * MIB } as const;
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const errorXml = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as told</Message></Error>`;
const noSuchKey: Answer = (_, response) => response.writeHead(404).end(errorXml('NoSuchKey'));

describe('MinioObjectStore given strange answers', () => {
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
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    seen = [];
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    options = { endpoint, region: 'us-east-1', bucket: 'bucket', accessKey: 'access', secretKey: 'secret' };
    store = MinioObjectStore.unasked({ ...options, clock: { now: () => Date.now() } });
    seen = [];
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
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

  /** Answers the beginning of an upload in parts; the test answers its completion. */
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
      expect(seen.filter((line) => line.startsWith('DELETE'))).to.deep.equal([
        'DELETE to?uploadId=a%2Fb%2Bc',
        'DELETE to?uploadId=a%2Fb%2Bc',
      ]);
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
