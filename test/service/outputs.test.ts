// Goal: the started service delivers the requested and charged outputs; every behaviour of the test model ends in its
// documented status, error code and charge.
// Method: the compiled program with the catalog it ships with; outputs are fetched from their signed addresses and
// decoded by sharp and mediabunny.
import { expect } from 'chai';
import { ALL_FORMATS, BufferSource, Input } from 'mediabunny';
import sharp from 'sharp';
import type { JsonObject } from '../../core/json.js';
import { type Client, LiveService } from './live-service.js';

interface Output {
  readonly media_type: string;
  readonly url: string;
  readonly width: number;
  readonly height: number;
  readonly duration_ms?: number;
}

const outputsOf = (task: JsonObject) => task['outputs'] as unknown as readonly Output[];

async function fetched({ url }: Output): Promise<{ readonly type: string | null; readonly bytes: Buffer }> {
  const response = await fetch(url);
  expect(response.status).to.equal(200);
  expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
  return { type: response.headers.get('content-type'), bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Names of the file's outermost boxes, in order. */
function boxes(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at + 8 <= bytes.byteLength; at += bytes.readUInt32BE(at) || bytes.byteLength)
    names.push(bytes.toString('latin1', at + 4, at + 8));
  return names;
}

describe('what the started service delivers', () => {
  let service: LiveService;
  let client: Client;

  before(async () => {
    service = await LiveService.start({
      config: { settings: { retry_base_ms: 50, cancel_grace_seconds: 1 } },
      catalog: hurried,
    });
    client = service.client((await service.tenant(10_000)).secret);
  });
  after(() => service.remove());

  async function made(key: string, model: string, parameters: JsonObject, more: JsonObject = {}): Promise<JsonObject> {
    const { status, data, message } = await client.create(
      `${model} ${key}`.replaceAll(' ', '-'),
      model,
      parameters,
      more,
    );
    expect(status, message).to.equal(202);
    return client.until(data['generation_id'] as string);
  }

  for (const format of ['png', 'jpeg', 'webp']) {
    for (const size of ['256x256', '1024x576']) {
      it(`${format} of ${size}, as many as asked for`, async () => {
        const n = size === '256x256' ? 2 : 1;
        const task = await made(`${format}-${size}`, 'sandbox-image', { format, size, n });
        expect([task['status'], task['charged_credits']]).to.deep.equal(['succeeded', 4 * n]);
        expect(outputsOf(task)).to.have.length(n);
        const [width, height] = size.split('x').map(Number);
        for (const output of outputsOf(task)) {
          const { type, bytes } = await fetched(output);
          expect(type).to.equal(`image/${format}`);
          const { info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
          expect({
            format: (await sharp(bytes).metadata()).format,
            width: info.width,
            height: info.height,
          }).to.deep.equal({ format, width, height });
          expect([output.media_type, output.width, output.height]).to.deep.equal(['image', width, height]);
        }
      });
    }
  }

  it('a video of the size and duration asked for, H.264, which plays before it is complete', async () => {
    const task = await made(
      'video',
      'sandbox-video',
      { size: '256x256', duration_seconds: 2 },
      { operation: 'video_generation' },
    );
    expect([task['status'], task['charged_credits']]).to.deep.equal(['succeeded', 20]);
    const [output] = outputsOf(task);
    expect([output?.media_type, output?.width, output?.height]).to.deep.equal(['video', 256, 256]);
    const { type, bytes } = await fetched(output as Output);
    expect(type).to.equal('video/mp4');
    const order = boxes(bytes);
    expect(order.indexOf('moov')).to.be.within(0, order.indexOf('mdat') - 1);
    const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
    const track = await input.getPrimaryVideoTrack();
    const found = {
      codec: await track?.getCodec(),
      width: await track?.getDisplayWidth(),
      height: await track?.getDisplayHeight(),
    };
    expect(found).to.deep.equal({ codec: 'avc', width: 256, height: 256 });
    const durationMs = 1_000 * (await input.computeDuration());
    expect(durationMs).to.be.closeTo(2_000, 100);
    expect(output?.duration_ms).to.be.closeTo(durationMs, 1);
  });

  const ENDS: readonly (readonly [
    name: string,
    parameters: JsonObject,
    status: string,
    charged: number,
    delivered: number,
    code?: string,
  ])[] = [
    ['succeed', { behaviour: 'succeed', n: 2 }, 'succeeded', 2, 2],
    ['slow', { behaviour: 'slow', delay_ms: 400 }, 'succeeded', 1, 1],
    ['partial', { behaviour: 'partial', n: 4, deliver: 3 }, 'succeeded', 3, 3],
    ['partial, of which nothing', { behaviour: 'partial', n: 2, deliver: 0 }, 'failed', 0, 0, 'OUTPUT_INVALID'],
    ['fail', { behaviour: 'fail' }, 'failed', 0, 0, 'PROVIDER_REJECTED'],
    [
      'fail for the content',
      { behaviour: 'fail', error_code: 'CONTENT_REJECTED_OUTPUT' },
      'failed',
      0,
      0,
      'CONTENT_REJECTED_OUTPUT',
    ],
    ['fail twice, then not', { behaviour: 'fail', retryable_attempts: 2 }, 'succeeded', 1, 1],
    [
      'fail more often than is tried',
      { behaviour: 'fail', error_code: 'PROVIDER_UNAVAILABLE', retryable_attempts: 9 },
      'failed',
      0,
      0,
      'PROVIDER_UNAVAILABLE',
    ],
    ['refuse', { behaviour: 'refuse', error_code: 'INPUT_INVALID' }, 'failed', 0, 0, 'INPUT_INVALID'],
    ['unknown_acceptance', { behaviour: 'unknown_acceptance' }, 'succeeded', 1, 1],
    ['unknown_acceptance_lost', { behaviour: 'unknown_acceptance_lost' }, 'succeeded', 1, 1],
    ['hang', { behaviour: 'hang' }, 'failed', 0, 0, 'TASK_TIMEOUT'],
    ['bad_output', { behaviour: 'bad_output' }, 'failed', 0, 0, 'OUTPUT_INVALID'],
    ['wrong_output', { behaviour: 'wrong_output' }, 'succeeded', 1, 1],
  ];
  for (const [name, parameters, status, charged, delivered, code] of ENDS) {
    it(`the behaviour ${name}`, async () => {
      const task = await made(name, 'sandbox-test', { size: '128x128', ...parameters });
      const error = task['error'] as JsonObject | undefined;
      const got = {
        status: task['status'],
        charged: task['charged_credits'],
        delivered: outputsOf(task).length,
        code: error?.['code'],
      };
      expect(got, JSON.stringify(error)).to.deep.equal({ status, charged, delivered, code });
    });
  }

  it('the behaviour late_success_after_cancel: cancelled, whatever comes after', async () => {
    const { data } = await client.create('late', 'sandbox-test', {
      behaviour: 'late_success_after_cancel',
      delay_ms: 3_000,
      size: '128x128',
    });
    const id = data['generation_id'] as string;
    await client.until(id, ['running']);
    await client.cancel(id);
    const task = await client.until(id);
    expect([task['status'], task['charged_credits'], task['outputs']]).to.deep.equal(['cancelled', 0, []]);
  });

  it('and books that agree', async () => {
    expect(await service.run('verify')).to.include({ code: 0, stderr: '' });
  });
});

/** A run may take seconds, not minutes, so that the one that hangs ends soon. */
function hurried(shipped: string): string {
  return shipped.replace(/run_timeout_seconds: 120/, 'run_timeout_seconds: 8');
}
