// Goal: bytes sent to the target of a completed upload are refused and not stored, also by a restarted server; either
// front refuses an account at its bound, and `accounts show` and the metrics report the same.
// Method: the compiled server, its data folder read from outside, and the operator's command beside it.
import { expect } from 'chai';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../core/json.js';
import { referenceFile } from '../fixtures/reference-files.js';
import { freePort } from '../servers/free-port.js';
import { type Client, LiveService } from './live-service.js';

interface Target {
  readonly url: string;
  readonly headers: Record<string, string>;
}

async function prepared(
  client: Client,
  key: string,
  bytes: Uint8Array,
): Promise<{ readonly id: string; readonly target: Target }> {
  const body = { filename: 'house.png', media_type: 'image/png', byte_size: bytes.byteLength, role: 'reference_image' };
  const { data, status } = await client.request('POST', '/uploads', { key, body });
  expect(status).to.equal(201);
  return {
    id: data['upload_id'] as string,
    target: { url: data['upload_url'] as string, headers: data['required_headers'] as Record<string, string> },
  };
}

async function put(
  { url, headers }: Target,
  bytes: Uint8Array,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(url, { method: 'PUT', headers, body: Uint8Array.from(bytes) });
  return { status: answer.status, text: await answer.text() };
}

function storedBytes(service: LiveService): number {
  const folder = join(service.folder, 'data', 'objects');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

describe('the target of a completed upload', () => {
  let service: LiveService;
  let metricsUrl: string;
  before(async () => {
    const port = await freePort();
    metricsUrl = `http://127.0.0.1:${port}/metrics`;
    service = await LiveService.start({
      config: { settings: { max_unfinished_uploads_per_app: 2 }, internal: { port } },
    });
  });
  after(() => service.remove());

  it('accepts no more bytes, before and after a restart, while others still do', async () => {
    const { secret } = await service.tenant(10);
    const client = service.client(secret);
    const bytes = await referenceFile('png');
    const [done, open] = [await prepared(client, 'done', bytes), await prepared(client, 'open', bytes)];
    for (const { target } of [done, done, open]) expect((await put(target, bytes)).status).to.equal(200);
    expect((await client.request('POST', `/uploads/${done.id}/complete`, { key: 'done' })).status).to.equal(200);
    const before = storedBytes(service);
    const refused = {
      status: 410,
      text: 'The upload of this address is completed or removed; the address accepts no more bytes.\n',
    };
    expect(await put(done.target, bytes)).to.deep.equal(refused);
    expect((await put(open.target, bytes)).status).to.equal(200);
    await service.server.end('SIGTERM');
    await service.server.start();
    expect(await put(done.target, bytes)).to.deep.equal(refused);
    expect(storedBytes(service)).to.equal(before);
  });

  it('frees its place; `accounts show` prints the usage of an account, the metrics count refusals', async () => {
    const { accountId, appId, secret } = await service.tenant(10);
    const client = service.client(secret);
    const bytes = await referenceFile('png');
    for (const key of ['one', 'two']) await prepared(client, key, bytes);
    const body = {
      filename: 'house.png',
      media_type: 'image/png',
      byte_size: bytes.byteLength,
      role: 'reference_image',
    };
    const { status, code, headers } = await client.request('POST', '/uploads', { key: 'three', body });
    expect([status, code, headers.get('retry-after')]).to.deep.equal([429, 'QUEUE_FULL', '60']);
    const shown = JSON.parse((await service.run('accounts', 'show', accountId, '--json')).stdout) as {
      readonly storage: JsonObject;
    };
    expect(shown.storage['apps']).to.deep.equal([
      { app_id: appId, name: 'tenant', uploads: 2, unfinished_uploads: 2, upload_bytes: 2 * bytes.byteLength },
    ]);
    expect(shown.storage['uncharged_content']).to.have.keys('generations', 'bytes');
    const metrics = await (await fetch(metricsUrl)).text();
    expect(metrics).to.match(/^darkroom_bound_refusals_total\{bound="unfinished_uploads"\} 1$/m);
    expect(metrics).to.match(/^darkroom_bound_refusals_total\{bound="open_generations"\} 0$/m);
  });
});
