// Goal: a signed GET returns the object as it was signed for, in whole or in part, over real HTTP, and never a mix of
// two objects' bytes.
// Method: a bare HTTP server around the gate; test vectors of Range and conditional headers; objects replaced while
// they are read.
import { connect } from 'node:net';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { serveStore } from './gate-server.js';
import type { ServedStore } from './gate-server.js';
import { openFilesUnder } from './open-files.js';

const BYTES = Uint8Array.from({ length: 1000 }, (_, i) => i & 0xff);

/** The Range header, and the status with the first and last byte that should come back. */
const RANGES: readonly (readonly [string, number, number?, number?])[] = [
  ['bytes=0-0', 206, 0, 0],
  ['bytes=0-999', 206, 0, 999],
  ['bytes=999-', 206, 999, 999],
  ['bytes=10-5000', 206, 10, 999],
  ['bytes=-1', 206, 999, 999],
  ['bytes=-1000', 206, 0, 999],
  ['bytes=-5000', 206, 0, 999],
  ['BYTES=1-2', 206, 1, 2],
  ['bytes=1000-', 416],
  ['bytes=1000-1001', 416],
  ['bytes=-0', 416],
  ['bytes=5-4', 200, 0, 999],
  ['bytes=-', 200, 0, 999],
  ['bytes=a-b', 200, 0, 999],
  ['bytes=0-1,5-6', 200, 0, 999],
  ['items=0-1', 200, 0, 999],
  ['bytes=0-99999999999999999999', 200, 0, 999],
];

describe('Signed GET', () => {
  let served: ServedStore;
  beforeEach(async () => {
    served = await serveStore();
    await served.store.write('out/a', inPieces(BYTES), { mediaType: 'image/png', maxBytes: 10_000 });
  });
  afterEach(async () => served.close());

  const signed = async (filename = 'a.png', key = 'out/a', expiresAt = Date.now() + 60_000) =>
    (await served.store.signGet({ key, mediaType: 'image/png', filename, expiresAt })).url;
  const get = async (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(await signed(), { method, headers });

  it('refuses a modified address', async () => {
    for (const name of ['expires', 'type', 'filename', 'signature']) {
      const url = new URL(await signed());
      url.searchParams.set(name, `${url.searchParams.get(name)!}1`);
      expect((await fetch(url)).status, name).to.equal(403);
    }
    expect((await fetch((await signed()).replace('out/a', 'out/b'))).status).to.equal(403);
    expect((await fetch(await signed(), { method: 'PUT', body: 'x' })).status).to.equal(403);
  });

  it('refuses a credential beside the signature, for HEAD too, and lets a preflight ask', async () => {
    for (const method of ['GET', 'HEAD'])
      expect((await get({ Authorization: 'Bearer x' }, method)).status).to.equal(400);
    expect((await get({ Authorization: 'Bearer x' }, 'OPTIONS')).status).to.equal(204);
  });

  it('refuses an expired address, and answers 404 for what is not there', async () => {
    expect((await fetch(await signed('a', 'out/a', Date.now() - 1))).status).to.equal(403);
    expect((await fetch(await signed('a', 'out/none'))).status).to.equal(404);
  });

  for (const [range, status, first, last] of RANGES) {
    it(`answers ${range} with ${status}`, async () => {
      const response = await get({ Range: range });
      const body = new Uint8Array(await response.arrayBuffer());
      expect(response.status).to.equal(status);
      if (status === 416) expect(response.headers.get('content-range')).to.equal('bytes */1000');
      else expect(body).to.deep.equal(BYTES.subarray(first, last! + 1));
      if (status === 206) expect(response.headers.get('content-range')).to.equal(`bytes ${first}-${last}/1000`);
    });
  }

  it('refuses every range of an empty object', async () => {
    await served.store.write('out/a', inPieces(new Uint8Array()), { mediaType: 'image/png', maxBytes: 1 });
    for (const range of ['bytes=0-', 'bytes=-5']) expect((await get({ Range: range })).status).to.equal(416);
    expect((await get()).headers.get('content-length')).to.equal('0');
  });

  it('sends the headers that protect a page showing the object', async () => {
    const { headers } = await get();
    expect(headers.get('content-type')).to.equal('image/png');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
    expect(headers.get('cache-control')).to.match(/^private/);
    expect(headers.get('accept-ranges')).to.equal('bytes');
    expect(headers.get('access-control-allow-origin')).to.equal('*');
  });

  const NAMES: readonly (readonly [string, string])[] = [
    ['a.png', 'inline; filename="a.png"'],
    ['b c.png', 'inline; filename="b c.png"'],
    ['"quoted".png', 'inline; filename="_quoted_.png"; filename*=UTF-8\'\'%22quoted%22.png'],
    ['a\r\nSet-Cookie: x', 'inline; filename="a__Set-Cookie: x"'],
    ['../../etc/passwd', 'inline; filename="_.._etc_passwd"'],
    ['..', 'inline; filename="file"'],
    ['', 'inline; filename="file"'],
    ['naïve (1).png', 'inline; filename="na_ve (1).png"; filename*=UTF-8\'\'na%C3%AFve%20%281%29.png'],
    ['gnp\u202egpj.exe', 'inline; filename="gnp_gpj.exe"'],
    ['\ud800.png', 'inline; filename="_.png"; filename*=UTF-8\'\'%EF%BF%BD.png'],
  ];
  for (const [filename, disposition] of NAMES) {
    it(`gives the name ${JSON.stringify(filename)} safely`, async () => {
      expect((await fetch(await signed(filename))).headers.get('content-disposition')).to.equal(disposition);
    });
  }

  it('answers HEAD like GET, without the bytes and without regard to ranges', async () => {
    const response = await get({ Range: 'bytes=0-1' }, 'HEAD');
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-length')).to.equal('1000');
    expect((await response.arrayBuffer()).byteLength).to.equal(0);
  });

  it('answers 304 for an object that the client has', async () => {
    const etag = (await get()).headers.get('etag')!;
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      expect((await get({ 'If-None-Match': held })).status, held).to.equal(304);
    expect((await get({ 'If-None-Match': '"other"' })).status).to.equal(200);
    expect((await get({ 'Range': 'bytes=0-1', 'If-Range': etag })).status).to.equal(206);
    expect((await get({ 'Range': 'bytes=0-1', 'If-Range': '"other"' })).status).to.equal(200);
  });

  it('keeps no file open after any kind of answer', async function openFiles() {
    if ((await openFilesUnder(served.folder)) === undefined) {
      console.log('      skipped: this system does not list open files');
      this.skip();
    }
    // A small one is read as a whole, and closed before the answer begins.
    const large = new Uint8Array(100_000).fill(7);
    await served.store.write('out/a', inPieces(large), { mediaType: 'image/png', maxBytes: large.byteLength });
    const { searchParams: query } = new URL(await signed());
    const ask = async (method: string, headers: Record<string, string> = {}) =>
      served.store.signedObjects.handle({
        method,
        path: '/objects/out/a',
        query,
        headers,
        body: inPieces(new Uint8Array()),
      });
    const etag = (await ask('HEAD')).headers['ETag']!;
    expect((await ask('GET', { 'if-none-match': etag })).status).to.equal(304);
    expect((await ask('GET', { range: 'bytes=500000-' })).status).to.equal(416);
    expect(await openFilesUnder(served.folder)).to.equal(0);
    const answer = await ask('GET', { range: 'bytes=5-9' });
    expect(await openFilesUnder(served.folder)).to.equal(1);
    expect(await collected(answer.body!)).to.deep.equal(large.subarray(5, 10));
    await (await ask('GET')).body![Symbol.asyncIterator]().return!();
    expect(await openFilesUnder(served.folder)).to.equal(0);
  });

  it('returns one object or the other when it is replaced during a read', async () => {
    const byteSize = 3_000_000;
    const replace = async (fill: number) =>
      served.store.write('out/a', inPieces(new Uint8Array(byteSize).fill(fill)), {
        mediaType: 'image/png',
        maxBytes: byteSize,
      });
    await replace(0);
    const response = await get();
    await replace(1);
    const read = new Uint8Array(await response.arrayBuffer());
    expect(read.byteLength).to.equal(byteSize);
    expect(new Set(read)).to.deep.equal(new Set([0]));
    expect(new Set(new Uint8Array(await (await get()).arrayBuffer()))).to.deep.equal(new Set([1]));
  });

  it('tells a client why it is refused while it still sends', async () => {
    const { pathname, search, port, host } = new URL((await signed()).replace('out/a', 'out/b'));
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10000000\r\n\r\n${'x'.repeat(100_000)}`,
    );
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    expect(answer)
      .to.match(/^HTTP\/1\.1 403 /)
      .and.to.match(/\r\nConnection: close\r\n/);
  });

  for (const sent of [500, 100_000]) {
    it(`stores nothing of an upload whose connection is cut after ${sent} bytes`, async () => {
      const { url } = await served.store.signPut({
        key: 'out/cut',
        mediaType: 'image/png',
        byteSize: 2 * sent,
        expiresAt: Date.now() + 60_000,
      });
      const { pathname, search, port, host } = new URL(url);
      const socket = connect(Number(port), '127.0.0.1');
      await once(socket, 'connect');
      const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: image/png\r\nContent-Length: ${2 * sent}\r\n\r\n`;
      const received = served.nextRequest();
      socket.write(head + 'x'.repeat(sent));
      const { handled } = await received;
      const incoming = join(served.folder, 'incoming');
      // Many bytes are in a file while they arrive; few are held in memory.
      if (sent > 65_536) while ((await readdir(incoming)).length === 0) await new Promise(setImmediate);
      socket.destroy();
      await handled;
      while ((await readdir(incoming)).length > 0) await new Promise(setImmediate);
      expect(await served.store.stat('out/cut')).to.equal(null);
    });
  }
});
