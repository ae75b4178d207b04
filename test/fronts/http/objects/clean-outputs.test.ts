// Goal: whoever follows the signed address of an output gets no metadata, whatever the provider delivered.
// Method: a provider that delivers a picture and a video with a workflow as ComfyUI writes it; create, poll and GET over
// HTTP; the file behind the address is searched for the workflow and decoded.
import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { FileObjectStore } from '../../../../adapters/files/file-object-store.js';
import { SystemClock } from '../../../../adapters/system/system-clock.js';
import type { JsonObject } from '../../../../core/json.js';
import { CannedProvider } from '../../../fixtures/canned-provider.js';
import { oneProvider } from '../../../fixtures/connected-providers.js';
import { image } from '../../../fixtures/images.js';
import { MARKER, pngChunk, withPngChunks, WORKFLOW } from '../../../fixtures/tagged-images.js';
import { muxedWithTags, packetsOf } from '../../../fixtures/tagged-videos.js';
import { createRequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { CLIP, PICTURE } from '../../vectors/vector.js';
import { type RunningServer, sendHttp, serve } from '../host/rest-client.js';

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

  /** What a client downloads when the provider delivers these bytes. */
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
