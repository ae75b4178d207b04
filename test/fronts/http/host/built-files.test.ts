import { expect } from 'chai';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import { SystemIds } from '../../../../adapters/system/system-ids.js';
import { BuiltFiles } from '../../../../apps/http/host/built-files.js';
import { createHttpHost, createRouter, type HttpHost, type HttpRoute } from '../../../../apps/http/host/server.js';
import { DEFAULT_REST_LIMITS } from '../../../harness/http-fronts.js';

/**
 * Goal: built files are sent in the smallest coding that the client accepts, and caches can tell the codings apart.
 * Method: a folder as the build writes it, and requests that decode nothing by themselves.
 */

const SCRIPT = Buffer.from('export const many = [];\n'.repeat(200));
const PAGE = Buffer.from('<!doctype html>');

describe('built files', () => {
  let folder: string;
  let host: HttpHost;
  let port: number;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'built-'));
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'assets/app-1.js'), SCRIPT);
    await writeFile(join(folder, 'assets/app-1.js.br'), brotliCompressSync(SCRIPT));
    await writeFile(join(folder, 'assets/app-1.js.gz'), gzipSync(SCRIPT));
    await writeFile(join(folder, 'index.html'), PAGE);
    await writeFile(join(folder, 'index.html.gz'), gzipSync(PAGE));
    await writeFile(join(folder, 'notes.key'), 'A file of a type that no page loads.');
    const files = new BuiltFiles(folder);
    const get = (path: string, send: HttpRoute['serve']): HttpRoute => ({ method: 'GET', path, serve: send });
    const routes = [
      get('/assets/:file', (ctx) => files.send(ctx, `assets/${ctx.params['file'] ?? ''}`, 'hashed')),
      get('/page', (ctx) => files.send(ctx, 'index.html', 'checked')),
      get('/missing', (ctx) => files.send(ctx, 'index.html', 'no-store', 404)),
      get('/key', (ctx) => files.send(ctx, 'notes.key', 'checked')),
    ];
    const parts = {
      ids: new SystemIds(),
      clock: new SystemClock(),
      logger: pino({ level: 'silent' }),
      limits: DEFAULT_REST_LIMITS,
    };
    host = createHttpHost(parts, [() => [createRouter(routes)]]);
    ({ port } = await host.listen('127.0.0.1', 0));
  });
  after(async () => {
    await host.close(0);
    await rm(folder, { recursive: true });
  });

  const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; bytes: Buffer }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, headers, method }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }),
        );
      });
      sent.on('error', reject);
      sent.end();
    });

  for (const [accepted, coding, decode] of [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
    ['*', 'br', brotliDecompressSync],
    ['deflate', undefined, (bytes: Buffer) => bytes],
    [undefined, undefined, (bytes: Buffer) => bytes],
  ] as const) {
    it(`sends ${coding ?? 'the plain bytes'} to a client that accepts ${accepted ?? 'nothing by name'}`, async () => {
      const answer = await ask('/assets/app-1.js', accepted === undefined ? {} : { 'Accept-Encoding': accepted });
      expect(answer.status).to.equal(200);
      expect(answer.headers['content-encoding']).to.equal(coding);
      expect(answer.headers['content-type']).to.equal('text/javascript; charset=utf-8');
      expect(answer.headers['vary']).to.include('Accept-Encoding');
      expect(answer.headers['cache-control']).to.equal('public, max-age=31536000, immutable');
      expect(answer.headers['content-length']).to.equal(`${answer.bytes.byteLength}`);
      expect(decode(answer.bytes).equals(SCRIPT)).to.equal(true);
    });
  }

  it('sends the plain bytes where the compressed copy is larger', async () => {
    const answer = await ask('/page', { 'Accept-Encoding': 'gzip' });
    expect(answer.headers['content-encoding']).to.equal(undefined);
    expect(answer.bytes.equals(PAGE)).to.equal(true);
  });

  it('sends a page again only if it has changed', async () => {
    const first = await ask('/page');
    expect(first.headers['cache-control']).to.equal('no-cache');
    const second = await ask('/page', { 'If-None-Match': first.headers['etag'] as string });
    expect([second.status, second.bytes.byteLength]).to.deep.equal([304, 0]);
    expect((await ask('/page', { 'If-None-Match': 'W/"other"' })).status).to.equal(200);
  });

  it('answers HEAD with the headers alone', async () => {
    const answer = await ask('/assets/app-1.js', { 'Accept-Encoding': 'br' }, 'HEAD');
    expect(answer.status).to.equal(200);
    expect(Number(answer.headers['content-length'])).to.be.greaterThan(0);
    expect(answer.bytes.byteLength).to.equal(0);
  });

  it('sends a page with another status where asked to', async () => {
    const answer = await ask('/missing');
    expect([answer.status, answer.headers['cache-control']]).to.deep.equal([404, 'no-store']);
    expect(answer.bytes.equals(PAGE)).to.equal(true);
  });

  for (const path of ['/assets/other.js', '/assets/app-1.js.br', '/assets/..%2Findex.html', '/key']) {
    it(`does not serve ${path}`, async () => {
      expect((await ask(path)).status).to.equal(404);
    });
  }
});
