import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { FileObjectStore } from '../../../../adapters/files/file-object-store.js';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import type { JsonObject } from '../../../../core/json.js';
import { image } from '../../../fixtures/images.js';
import { COMPOSITE, withMark } from '../../../fixtures/marked-media.js';
import { referenceFile } from '../../../fixtures/reference-files.js';
import { CannedProvider, oneProvider } from '../../../fixtures/scripted-provider.js';
import { sha256Of } from '../../../fixtures/sha256.js';
import { MARKER, pngChunk, withPngChunks, WORKFLOW } from '../../../fixtures/tagged-images.js';
import { muxedWithTags, packetsOf } from '../../../fixtures/tagged-videos.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { CLIP, PICTURE } from '../../vectors/vector.js';
import { type RunningServer, sendHttp, serve } from '../host/rest-client.js';

// Goal: the signed URL of an output returns no metadata, whatever the provider delivered.
// Method: a provider that delivers a picture and a video with a workflow as ComfyUI writes it; create, poll and GET over
// HTTP; the file behind the address is searched for the workflow and decoded.

describe('the signed address of an output', () => {
  let folder: string;
  let harness: ServiceHarness;
  let running: RunningServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-clean-'));
  });
  afterEach(async () => {
    await running.server.close(1_000);
    await harness.close();
    await rm(folder, { recursive: true });
  });

  /** The bytes that a client downloads when the provider delivers these bytes. */
  async function downloaded(delivered: Uint8Array, body: JsonObject): Promise<Buffer> {
    const objects = await FileObjectStore.open({
      folder,
      clock: new SystemClock(),
      secret: new Uint8Array(32).fill(3),
      publicBaseUrl: () => running.origin,
    });
    const provider = new CannedProvider(delivered);
    harness = await openServiceHarness({ ports: { objects, providers: oneProvider(provider) } });
    const credential = (await createRequestFixture(harness.context)).secrets.get('owner') as string;
    running = await serve(harness, { signedObjects: objects.signedObjects });
    await harness.startWorker();
    let task = (await sendHttp(running.origin, { operation: 'createGeneration', credential, key: 'g', body })).data;
    const id = task?.['generation_id'] as string;
    while (task?.['status'] === 'queued' || task?.['status'] === 'running') {
      await sleep(10);
      task = (await sendHttp(running.origin, { operation: 'getGeneration', credential, id })).data;
    }
    expect(task?.['status'], JSON.stringify(task)).to.equal('succeeded');
    const [output] = (task as unknown as { readonly outputs: readonly { readonly url: string }[] }).outputs;
    const answer = await fetch(output?.url ?? '');
    expect(answer.status).to.equal(200);
    return Buffer.from(await answer.arrayBuffer());
  }

  it('gives a picture without the workflow, and with the same pixels', async () => {
    const plain = await image('png', 96, 64);
    const delivered = withPngChunks(plain, [
      pngChunk('tEXt', `prompt\0${WORKFLOW}`),
      pngChunk('tEXt', `workflow\0${WORKFLOW}`),
    ]);
    const bytes = await downloaded(delivered, PICTURE);
    expect([Buffer.from(delivered).includes(MARKER), bytes.includes(MARKER)]).to.deep.equal([true, false]);
    const pixels = async (file: Uint8Array) => (await sharp(file).raw().toBuffer()).toString('base64');
    expect(await pixels(bytes)).to.equal(await pixels(delivered));
  });

  it('gives a video without the workflow, and with the same samples', async () => {
    const delivered = await muxedWithTags('index first', 'mdta');
    const bytes = await downloaded(delivered, { ...CLIP, parameters: { duration_seconds: 1 } });
    expect([Buffer.from(delivered).includes(MARKER), bytes.includes(MARKER)]).to.deep.equal([true, false]);
    expect(await packetsOf(bytes)).to.deep.equal(await packetsOf(delivered));
  });
});

// Goal: reference files and results travel through the server when the object store has no separate server.
// Method: the store in a folder behind the server's own address: prepare, PUT, complete, create, GET, over HTTP only.

interface Target {
  readonly upload_id: string;
  readonly upload_url: string;
  readonly method: string;
  readonly required_headers: Record<string, string>;
}

describe('REST serves signed objects', () => {
  let folder: string;
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  let credential: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-rest-'));
    const objects = await FileObjectStore.open({
      folder,
      clock: new SystemClock(),
      secret: new Uint8Array(32).fill(3),
      publicBaseUrl: () => running.origin,
    });
    harness = await openServiceHarness({ ports: { objects } });
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness, { signedObjects: objects.signedObjects });
    credential = fixture.secrets.get('owner') as string;
  });
  afterEach(async () => {
    await running.server.close(1_000);
    await harness.close();
    await rm(folder, { recursive: true });
  });

  async function prepare(): Promise<Target> {
    const png = await referenceFile('png');
    const body = {
      filename: 'a.png',
      media_type: 'image/png',
      byte_size: png.byteLength,
      role: 'reference_image',
      sha256: sha256Of(png),
    };
    const { data } = await sendHttp(running.origin, { operation: 'prepareUpload', credential, key: 'p', body });
    return data as unknown as Target;
  }

  const put = ({ upload_url, method, required_headers }: Target, body: Uint8Array) =>
    fetch(upload_url, { method, headers: required_headers, body: Buffer.from(body) });

  it('accepts a file, uses it, and serves the result', async () => {
    const target = await prepare();
    expect((await put(target, await referenceFile('png'))).status).to.equal(200);
    expect(
      (await sendHttp(running.origin, { operation: 'completeUpload', credential, key: 'c', id: target.upload_id }))
        .code,
    ).to.equal('OK');
    await harness.startWorker();
    const created = await sendHttp(running.origin, {
      operation: 'createGeneration',
      credential,
      key: 'g',
      body: { ...PICTURE, reference_upload_ids: [target.upload_id] },
    });
    const id = created.data?.['generation_id'] as string;
    let task = created.data;
    while (task?.['status'] === 'queued' || task?.['status'] === 'running') {
      await sleep(10);
      task = (await sendHttp(running.origin, { operation: 'getGeneration', credential, id })).data;
    }
    expect(task?.['status'], JSON.stringify(task)).to.equal('succeeded');
    const {
      outputs: [{ url }],
    } = task as unknown as { readonly outputs: readonly [{ readonly url: string }] };
    const result = await fetch(url);
    const bytes = Buffer.from(await result.arrayBuffer());
    expect([
      result.status,
      result.headers.get('content-type'),
      result.headers.get('x-content-type-options'),
    ]).to.deep.equal([200, 'image/png', 'nosniff']);
    const delivered = withMark(await image('png', 96, 64), COMPOSITE);
    expect(bytes.equals(delivered), 'the picture of the provider, with its mark').to.equal(true);
    expect((await fetch(url, { headers: { Range: 'bytes=0-7' } })).status).to.equal(206);
    expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).to.equal(String(bytes.byteLength));
  });

  it('refuses other bytes, another method and an altered signature, and stores none of them', async () => {
    const target = await prepare();
    expect((await put(target, await referenceFile('other-png'))).status).to.equal(400);
    expect((await put({ ...target, method: 'POST' }, await referenceFile('png'))).status).to.be.within(403, 405);
    const altered = target.upload_url.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    expect((await put({ ...target, upload_url: altered }, await referenceFile('png'))).status).to.equal(403);
    const completed = await sendHttp(running.origin, {
      operation: 'completeUpload',
      credential,
      key: 'c',
      id: target.upload_id,
    });
    expect(completed.code).to.equal('FIELD_INVALID');
    expect((await fetch(`${running.origin}/objects/..%2f..%2fetc%2fpasswd`)).status).to.equal(403);
  });
});
