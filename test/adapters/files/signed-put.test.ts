// Goal: a signed PUT stores exactly what was signed for, or nothing, even if the client changes the request, aborts it
// or sends it late.
// Method: the gate called without HTTP, so that bodies and headers can disagree; every signed element is tampered with.
import { expect } from 'chai';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore, type FileObjectStoreOptions } from '../../../adapters/files/file-object-store.js';
import { REAL_DISK } from '../../../adapters/files/object-folder.js';
import type { SignedObjectRequest } from '../../../adapters/files/signed-objects.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { breakingOff, bytesOf, collected, inPieces } from '../../fixtures/byte-streams.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { smallFilesOver } from './small-files-here.js';

const BODY = bytesOf('the bytes that were promised');
const SHA256 = sha256Of(BODY);
const NOW = 1_700_000_000_000;

describe('Signed PUT', () => {
  let folder: string;
  let now: number;
  let store: FileObjectStore;
  const openStore = async (fill: number, takesBytes?: FileObjectStoreOptions['takesBytes']) =>
    FileObjectStore.open({
      folder,
      publicBaseUrl: () => 'https://files.example/base/',
      secret: new Uint8Array(32).fill(fill),
      clock: { now: () => now },
      ...(takesBytes ? { takesBytes } : {}),
    });
  beforeEach(async () => {
    now = NOW;
    folder = await mkdtemp(join(tmpdir(), 'darkroom-put-'));
    store = await openStore(1);
  });
  afterEach(async () => rm(folder, { recursive: true }));

  const address = async (from = store) =>
    new URL(
      (
        await from.signPut({
          key: 'staging/a',
          mediaType: 'image/png',
          byteSize: BODY.byteLength,
          sha256: SHA256,
          expiresAt: NOW + 1000,
        })
      ).url,
    );
  const send = async (url: URL, change: Partial<SignedObjectRequest> = {}) =>
    store.signedObjects.handle({
      method: 'PUT',
      path: url.pathname.replace('/base', ''),
      query: url.searchParams,
      headers: { 'content-type': 'image/png', 'content-length': String(BODY.byteLength), 'x-darkroom-sha256': SHA256 },
      body: inPieces(BODY, 5),
      ...change,
    });
  const files = async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length;
  async function refuses(status: number, url: URL, change: Partial<SignedObjectRequest> = {}): Promise<void> {
    const answer = await send(url, change);
    expect(answer.status).to.equal(status);
    expect(new TextDecoder().decode(await collected(answer.body!))).to.match(/^[^<>{}\n]+\.\n$/);
    expect(await files(), 'nothing is kept').to.equal(0);
  }

  it('refuses bytes that are no longer needed, before it takes them and once it has them', async () => {
    for (const wanted of [[false], [true, false]]) {
      const answers = [...wanted];
      const asked: string[] = [];
      store = await openStore(1, async (key) => {
        asked.push(key);
        return answers.shift() ?? true;
      });
      await refuses(410, await address());
      expect(asked).to.deep.equal(wanted.map(() => 'staging/a'));
    }
  });

  it('checks whether bytes are needed only for a valid address and matching bytes', async () => {
    store = await openStore(1, () => Promise.reject(new Error('It was asked.')));
    await refuses(403, await address(await openStore(2)));
    await refuses(400, await address(), {
      headers: { 'content-type': 'text/html', 'content-length': String(BODY.byteLength), 'x-darkroom-sha256': SHA256 },
    });
  });

  it('keeps nothing when it cannot find out whether the bytes are needed', async () => {
    for (const answers of [[], [true]]) {
      store = await openStore(1, () =>
        answers.shift() === true ? Promise.resolve(true) : Promise.reject(new StoreUnavailable('The line broke.')),
      );
      await refuses(503, await address());
    }
  });

  it('signs addresses below the public one', async () => {
    expect((await address()).href).to.match(/^https:\/\/files\.example\/base\/objects\/staging\/a\?expires=/);
  });

  for (const name of ['expires', 'type', 'length', 'sha256', 'signature']) {
    it(`refuses an address whose ${name} was changed, left out or given twice`, async () => {
      const changed = await address();
      const value = changed.searchParams.get(name)!;
      changed.searchParams.set(
        name,
        value.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      );
      await refuses(403, changed);
      const without = await address();
      without.searchParams.delete(name);
      await refuses(403, without);
      const twice = await address();
      twice.searchParams.append(name, value);
      await refuses(403, twice);
    });
  }

  it('refuses a credential beside the signature, before it says whether that is right', async () => {
    const headers = {
      'content-type': 'image/png',
      'content-length': String(BODY.byteLength),
      'x-darkroom-sha256': SHA256,
    };
    const forged = await address();
    forged.searchParams.set('signature', 'x');
    for (const authorization of ['Bearer svc_live_x', '']) {
      for (const url of [await address(), forged]) await refuses(400, url, { headers: { ...headers, authorization } });
    }
    expect((await send(await address())).status).to.equal(200);
  });

  it('refuses an address with anything added', async () => {
    const added = await address();
    added.searchParams.append('filename', 'x');
    await refuses(403, added);
    const unknown = await address();
    unknown.searchParams.append('x', '1');
    await refuses(403, unknown);
  });

  it('refuses an address signed with another secret', async () => {
    await refuses(403, await address(await openStore(2)));
  });

  for (const path of [
    '/objects/staging/b',
    '/objects/',
    '/objects',
    '/staging/a',
    '/objects/staging/../staging/a',
    '/objects/../../etc/passwd',
    '/objects/%2e%2e/a',
    '/objects//staging/a',
    '/objects/staging/a/',
    '/objects/staging%2fa',
  ]) {
    it(`refuses the path ${path}`, async () => refuses(403, await address(), { path }));
  }

  it('refuses other methods', async () => {
    await refuses(403, await address(), { method: 'GET' });
    await refuses(403, await address(), { method: 'HEAD' });
    for (const method of ['POST', 'DELETE', 'PATCH', 'put']) {
      await refuses(405, await address(), { method });
      expect((await send(await address(), { method })).headers['Allow']).to.include('PUT');
    }
  });

  it('refuses an expired address, from the very millisecond', async () => {
    now = NOW + 1000;
    await refuses(403, await address());
    now = NOW + 999;
    expect((await send(await address())).status).to.equal(200);
  });

  it('refuses an expired address for GET, from the very millisecond', async () => {
    const { url } = await store.signGet({
      key: 'staging/a',
      mediaType: 'image/png',
      filename: 'a',
      expiresAt: NOW + 1000,
    });
    now = NOW + 999;
    await refuses(404, new URL(url), { method: 'GET' });
    now = NOW + 1000;
    await refuses(403, new URL(url), { method: 'GET' });
  });

  it('stores nothing when the address expires while the body arrives', async () => {
    async function* late(): AsyncGenerator<Uint8Array> {
      yield BODY;
      now = NOW + 1000;
    }
    await refuses(403, await address(), { body: late() });
  });

  const HEADERS: readonly (readonly [string, string | undefined, number])[] = [
    ['content-type', 'image/jpeg', 400],
    ['content-type', undefined, 400],
    ['content-type', 'image/png; charset=x', 400],
    ['content-length', undefined, 411],
    ['content-length', '27', 400],
    ['content-length', '+28', 400],
    ['content-length', '28, 28', 400],
    ['content-length', '0x1c', 400],
    ['x-darkroom-sha256', undefined, 400],
    ['x-darkroom-sha256', SHA256.toUpperCase(), 400],
    ['x-darkroom-sha256', '0'.repeat(64), 400],
  ];
  for (const [name, value, status] of HEADERS) {
    it(`refuses ${name}: ${value ?? 'none'}`, async () => {
      const headers = {
        'content-type': 'image/png',
        'content-length': String(BODY.byteLength),
        'x-darkroom-sha256': SHA256,
        [name]: value,
      };
      await refuses(status, await address(), { headers });
    });
  }

  it('refuses a body that is shorter, longer, empty or different', async () => {
    const bodies = [
      BODY.subarray(1),
      new Uint8Array([...BODY, 1]),
      new Uint8Array(),
      Uint8Array.from(BODY, (byte) => byte ^ 1),
    ];
    for (const body of bodies) await refuses(400, await address(), { body: inPieces(body, 4) });
  });

  it('counts the bytes itself when no digest was signed', async () => {
    const { url } = await store.signPut({
      key: 'staging/a',
      mediaType: 'image/png',
      byteSize: BODY.byteLength,
      expiresAt: NOW + 1000,
    });
    for (const body of [BODY.subarray(1), new Uint8Array([...BODY, 1]), new Uint8Array()])
      await refuses(400, new URL(url), { body: inPieces(body, 4) });
  });

  it('stops an endless body at the signed length', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        given += 10;
        yield new Uint8Array(10);
      }
    }
    await refuses(400, await address(), { body: endless() });
    expect(given).to.equal(30);
  });

  it('stores nothing of an incomplete body', async () => {
    await refuses(400, await address(), { body: breakingOff(BODY.subarray(0, 9)) });
    await refuses(400, await address(), { body: breakingOff(BODY) });
  });

  it('reads only the beginning of a refused body, and closes the connection', async () => {
    let given = 0;
    async function* large(): AsyncGenerator<Uint8Array> {
      for (; given < 10_000_000; given += 16_384) yield new Uint8Array(16_384);
    }
    const answer = await send(await address(), { headers: {}, body: large() });
    expect(answer.status).to.equal(411);
    expect(answer.headers['Connection']).to.equal('close');
    expect(given).to.be.below(100_000);
  });

  it('is unavailable, not at fault, when the disk fails', async () => {
    const full = () => {
      throw Object.assign(new Error('ENOSPC: full'), { code: 'ENOSPC' });
    };
    const disk = { ...REAL_DISK, small: smallFilesOver({ writeSync: full }) };
    const broken = await FileObjectStore.open({
      folder,
      publicBaseUrl: () => 'https://files.example/base',
      secret: new Uint8Array(32).fill(1),
      clock: { now: () => now },
      disk,
    });
    store = broken;
    await refuses(503, await address());
  });

  it('keeps the object that was there when a later PUT is refused', async () => {
    expect((await send(await address())).status).to.equal(200);
    await send(await address(), { body: inPieces(Uint8Array.from(BODY).fill(0)) });
    expect(await collected((await store.read('staging/a'))!)).to.deep.equal(BODY);
    expect(await files()).to.equal(1);
  });

  it('stores the bytes and answers their etag', async () => {
    const answer = await send(await address());
    expect(answer.status).to.equal(200);
    expect(answer.headers['ETag']).to.equal(`"${(await store.stat('staging/a'))!.etag}"`);
    expect(await collected((await store.read('staging/a'))!)).to.deep.equal(BODY);
  });

  it('allows every origin', async () => {
    const answer = await send(await address(), { method: 'OPTIONS' });
    expect(answer.status).to.equal(204);
    expect(answer.headers['Access-Control-Allow-Origin']).to.equal('*');
    expect(answer.headers['Access-Control-Allow-Methods']).to.include('PUT');
    expect(answer.headers['Access-Control-Allow-Headers'])
      .to.include('x-darkroom-sha256')
      .and.to.include('Content-Type');
    expect((await send(await address())).headers['Access-Control-Allow-Origin']).to.equal('*');
  });
});
