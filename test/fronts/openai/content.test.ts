import { expect } from 'chai';
import { deleteGeneration } from '../../../core/generation/end-generation.js';
import type { Caller } from '../../../core/access/credential.js';
import { SCOPES } from '../../../core/access/credential.js';
import { keptLog, type KeptLog } from '../../harness/kept-log.js';
import { MemoryObjectStore } from '../../adapters/memory/object-store.js';
import { ShiftedClock } from '../../fixtures/clocks.js';
import { serve } from '../http/host/rest-client.js';
import { OpenAiHarness, PICTURE, UNREADABLE } from './openai-harness.js';

// Goal: the signed address of a picture gives its bytes to whoever has it, as long as outputs' addresses are valid, with a
// credential or without, of which nothing is read; and to nobody else, nor once the picture is gone.
// Method: addresses from answers of the front over a service in this process, used, altered and used too late; a second
// server over the same installation; the log of the server, searched for signatures.

describe('the signed address of a picture', () => {
  let api: OpenAiHarness;
  let log: KeptLog;
  let objects: MemoryObjectStore;
  let url: string;
  let bytes: Buffer;

  beforeEach(async () => {
    log = keptLog('trace');
    objects = new MemoryObjectStore({ clock: new ShiftedClock() });
    api = await OpenAiHarness.open({ logger: log.logger }, { ports: { objects } });
    await api.service.startWorker();
    url = await newUrl();
    bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  });
  afterEach(() => api.close());

  async function newUrl(): Promise<string> {
    const { body } = await api.create({ ...PICTURE, response_format: 'url' });
    const [entry] = body['data'] as unknown as readonly { readonly url: string }[];
    return entry?.url ?? '';
  }
  const changed = (change: (address: URL) => void): string => {
    const address = new URL(url);
    change(address);
    return address.href;
  };
  const expectNotFound = async (address: string, says: RegExp): Promise<void> => {
    const response = await fetch(address);
    expect(response.status).to.equal(404);
    const { error } = (await response.json()) as { readonly error: Record<string, unknown> };
    expect(error).to.include({ type: 'invalid_request_error', code: 'not_found', param: null });
    expect(error['message']).to.match(says);
  };

  it('is on the origin of the API, below its path', () => {
    expect(url.startsWith(`${api.running.origin}/v1/files/`)).to.equal(true);
    expect(new URL(url).pathname).to.match(/-1\.png$/);
  });

  it('gives the stored bytes, which no page can run and every page may read', async () => {
    const { headers, status } = await fetch(url, { redirect: 'error' });
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal('image/png');
    expect(headers.get('content-length')).to.equal(String(bytes.byteLength));
    expect(headers.get('content-disposition')).to.match(/^inline; filename="[0-9a-f-]{36}-1\.png"$/);
    expect(headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('access-control-allow-origin')).to.equal('*');
    expect(bytes.subarray(1, 4).toString()).to.equal('PNG');
  });

  it('works with any Authorization, which is not read', async () => {
    for (const Authorization of [`Bearer ${api.secret()}`, `Bearer ${api.secret('revoked')}`, 'Basic eDp5', 'nonsense'])
      expect((await fetch(url, { headers: { Authorization } })).status, Authorization).to.equal(200);
    expect(log.texts.join('\n')).not.to.include(api.secret());
  });

  it('gives ranges, heads and nothing to a client that has it already', async () => {
    const part = await fetch(url, { headers: { Range: 'bytes=10-19' } });
    expect([part.status, part.headers.get('content-range')]).to.deep.equal([206, `bytes 10-19/${bytes.byteLength}`]);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(10, 20))).to.equal(true);
    const beyond = await fetch(url, { headers: { Range: `bytes=${bytes.byteLength}-` } });
    expect([beyond.status, beyond.statusText]).to.deep.equal([416, 'range_not_satisfiable']);
    expect(await beyond.json()).to.have.nested.property('error.code', 'range_not_satisfiable');
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, String(bytes.byteLength)]);
    const again = await fetch(url, { headers: { 'If-None-Match': head.headers.get('etag') ?? '' } });
    expect(again.status).to.equal(304);
  });

  it('may be asked for by pages of any origin, with a credential too', async () => {
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { 'Origin': 'https://page.example', 'Access-Control-Request-Headers': 'authorization,range' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).to.deep.equal([204, '*']);
    expect(preflight.headers.get('access-control-allow-headers')).to.equal('authorization,range');
  });

  it('is not valid once it was changed in any part', async () => {
    const wrong = /exactly as it was answered/;
    await expectNotFound(
      changed(({ searchParams }) => searchParams.set('expires', '9999999999999')),
      wrong,
    );
    await expectNotFound(
      changed(({ searchParams }) => searchParams.delete('signature')),
      wrong,
    );
    await expectNotFound(
      changed(({ searchParams }) => searchParams.set('signature', 'x'.repeat(64))),
      wrong,
    );
    await expectNotFound(
      changed(({ searchParams }) => searchParams.set('signature', 'é'.repeat(32))),
      wrong,
    );
    await expectNotFound(
      changed((address) => (address.pathname = address.pathname.replace('-1.png', '-2.png'))),
      wrong,
    );
    await expectNotFound(
      changed((address) => (address.pathname = `/v1/files/${api.owner.appId}-1.png`)),
      wrong,
    );
    await expectNotFound(
      changed((address) => (address.pathname = '/v1/files/%2e%2e%2fkey')),
      wrong,
    );
  });

  it('is valid as long as other addresses of outputs', async () => {
    const { outputUrlMs } = api.context.settings;
    api.service.clock.advance(outputUrlMs - 5_000);
    expect((await fetch(url)).status).to.equal(200);
    api.service.clock.advance(5_000);
    await expectNotFound(url, /expired/);
  });

  it('is valid in every process of the installation', async () => {
    const other = await serve(api.service);
    try {
      const { pathname, search } = new URL(url);
      expect((await fetch(other.origin + pathname + search)).status).to.equal(200);
    } finally {
      await other.server.close(100);
    }
  });

  it('gives nothing once the generation is deleted, or its file is gone', async () => {
    const second = await newUrl();
    const [first, last] = await api.generations();
    const caller: Caller = { ...api.owner, credentialId: 'x', scopes: SCOPES };
    await deleteGeneration(api.context, caller, first?.generationId ?? '');
    await expectNotFound(url, /deleted or is no longer kept/);
    await objects.remove(last?.outputs[0]?.objectKey ?? '');
    await expectNotFound(second, /no longer kept/);
  });

  it('is never in the log', async () => {
    const signature = new URL(url).searchParams.get('signature') ?? 'none';
    await fetch(changed(({ searchParams }) => searchParams.set('expires', '1')));
    await fetch(`${url}&more=1`);
    expect(log.lines.some(({ route }) => route === '/v1/files/:filename')).to.equal(true);
    expect(log.texts.join('\n')).not.to.include(signature);
  });

  it('is refused as unavailable while the store cannot be read, before anything is sent', async () => {
    objects.read = () => Promise.resolve(UNREADABLE);
    const response = await fetch(url);
    expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '2']);
    expect(await response.json()).to.have.nested.property('error.code', 'service_unavailable');
  });
});
