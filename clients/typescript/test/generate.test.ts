// Goal: `generate` makes a picture of the started program and throws typed errors; an invalid request costs nothing,
// and an abandoned generation is cancelled. Method: the compiled program with its own catalog, called through the
// library alone; credits are read from the service.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import sharp from 'sharp';
import { image } from '../../../test/fixtures/images.js';
import { LiveService } from '../../../test/service/live-service.js';
import {
  ApiError,
  ConnectionError,
  Darkroom,
  GenerationFailed,
  hasEnded,
  TooExpensive,
  WaitTimeout,
  type GenerationTask,
} from '../src/index.js';

const CREDITS = 100;
const SMALL = { model_key: 'sandbox-test', prompt: 'a lighthouse' } as const;
const hanging = { ...SMALL, parameters: { behaviour: 'hang', size: '128x128' } };

/** The error with which a promise rejects; the promise must not be fulfilled. */
async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('the TypeScript client', () => {
  let service: LiveService;
  let darkroom: Darkroom;

  before(async () => {
    service = await LiveService.start({ config: { settings: { retry_base_ms: 50, cancel_grace_seconds: 1 } } });
  });
  after(() => service.remove());
  beforeEach(async () => {
    darkroom = new Darkroom({ baseUrl: service.url, apiKey: (await service.tenant(CREDITS)).secret });
  });

  const created = async (): Promise<GenerationTask[]> => {
    const found: GenerationTask[] = [];
    for await (const task of darkroom.generations({ limit: 1 })) found.push(task);
    return found;
  };

  it('throws the code and request id of a refusal, and creates nothing', async () => {
    const error = await thrownBy(darkroom.generate({ ...SMALL, prompt: '' }));
    expect(error).to.be.instanceOf(ApiError).and.to.include({ status: 422, code: 'FIELD_INVALID' });
    expect((error as ApiError).requestId).to.match(/^[0-9a-f-]{36}$/);
    const wrong = new Darkroom({ baseUrl: service.url, apiKey: 'svc_live_wrong' });
    expect(await thrownBy(wrong.credits())).to.include({ status: 401, code: 'DEVELOPER_TOKEN_INVALID' });
    expect(await created()).to.deep.equal([]);
  });

  it('reports that no such server answers', async () => {
    const nothing = new Darkroom({ baseUrl: 'http://127.0.0.1:1' });
    const error = await thrownBy(nothing.transport.get('/models', { maxTries: 1 }));
    expect(error).to.be.instanceOf(ConnectionError).with.property('message').that.includes('cannot be reached');
    const elsewhere = new Darkroom({ baseUrl: `${service.url}/elsewhere` });
    expect(await thrownBy(elsewhere.models()))
      .to.be.instanceOf(ApiError)
      .with.property('code', 'ROUTE_NOT_FOUND');
  });

  it('takes the address of the service with a slash or the path of the API behind it', async () => {
    for (const behind of ['/', '/api/v1/developer', '/api/v1/developer/']) {
      const reached = new Darkroom({ baseUrl: `${service.url}${behind}` });
      expect(reached.transport.baseUrl).to.equal(service.url);
      expect(await reached.model(SMALL.model_key)).to.include({ model_key: SMALL.model_key });
    }
  });

  it('creates nothing that is estimated above the maximum', async () => {
    const error = await thrownBy(darkroom.generate({ ...SMALL, parameters: { n: 3 } }, { maxCredits: 2 }));
    expect(error).to.be.instanceOf(TooExpensive).and.to.include({ estimatedCredits: 3, maxCredits: 2 });
    expect(await created()).to.deep.equal([]);
  });

  it('reports the available credits when they are too few', async () => {
    const poor = new Darkroom({ baseUrl: service.url, apiKey: (await service.tenant(2)).secret });
    const error = await thrownBy(poor.generate({ ...SMALL, parameters: { n: 3 } }));
    expect(error).to.include({ status: 402, code: 'CREDITS_INSUFFICIENT', creditsAvailable: 2 });
  });

  it('throws the task of a generation that failed', async () => {
    const parameters = { behaviour: 'refuse', error_code: 'CONTENT_REJECTED_INPUT' };
    const error = await thrownBy(darkroom.generate({ ...SMALL, parameters }));
    expect(error).to.be.instanceOf(GenerationFailed);
    expect((error as GenerationFailed).task.error?.code).to.equal('CONTENT_REJECTED_INPUT');
    // The hold is released after the end; the suite's timeout is the only bound.
    while ((await darkroom.credits()).available_credits !== CREDITS) await sleep(20);
  });

  it('cancels what was accepted when its signal fires', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const left = darkroom.generate(hanging, {
      signal: controller.signal,
      onAccepted: () => {
        controller.abort(reason);
      },
    });
    expect(await thrownBy(left)).to.equal(reason);
    const [task] = await created();
    expect(await darkroom.wait(task as GenerationTask)).to.include({ status: 'cancelled', charged_credits: 0 });
  });

  it('cancels what a create accepts after its signal fired', async () => {
    const controller = new AbortController();
    const creating = darkroom.generate(
      { ...hanging, operation: 'image_generation' },
      { signal: controller.signal, idempotencyKey: 'aborted-create' },
    );
    controller.abort(new Error('at once'));
    expect(await thrownBy(creating)).to.have.property('message', 'at once');
    const tasks = await created();
    expect(tasks.length).to.be.at.most(1);
    for (const task of tasks) expect(await darkroom.wait(task)).to.have.property('status', 'cancelled');
  });

  it('leaves a generation running when its waiting time is over, or on request', async () => {
    expect(await thrownBy(darkroom.generate(hanging, { timeoutMs: 200 }))).to.be.instanceOf(WaitTimeout);
    const controller = new AbortController();
    const onAccepted = () => {
      controller.abort();
    };
    await thrownBy(darkroom.generate(hanging, { signal: controller.signal, onAccepted, onAbort: 'leave' }));
    const tasks = await created();
    expect(tasks.map(hasEnded)).to.deep.equal([false, false]);
    for (const { generation_id } of tasks) await darkroom.cancel(generation_id);
  });

  it('makes the pictures that were asked for, with references, and pays for them once', async () => {
    const parameters = { size: '128x128', n: 2 };
    const bytes = await image('png');
    const references = [{ file: new Blob([bytes]) }, { file: bytes, filename: 'same.png' }];
    const input = { ...SMALL, parameters, references, client_trace_id: 'studio:1' };
    const statuses: string[] = [];
    const onStatus = ({ status }: GenerationTask) => statuses.push(status);
    const { task, files } = await darkroom.generate(input, { maxCredits: 2, idempotencyKey: 'two', onStatus });
    expect(task).to.include({ status: 'succeeded', charged_credits: 2, client_trace_id: 'studio:1' });
    expect(statuses.at(0)).to.equal('queued');
    expect(statuses.at(-1)).to.equal('succeeded');
    for (const { bytes: made, mediaType, filename } of files) {
      expect(mediaType).to.equal('image/png');
      expect(filename).to.match(/\.png$/);
      expect(await sharp(made).metadata()).to.include({ format: 'png', width: 128, height: 128 });
    }
    expect(files).to.have.length(2);
    const again = await darkroom.generate(input, { idempotencyKey: 'two', download: false });
    expect(again.task.generation_id).to.equal(task.generation_id);
    expect(again.files).to.deep.equal([]);
    expect((await darkroom.credits()).available_credits).to.equal(CREDITS - 2);
    expect(await created()).to.have.length(1);
  });

  it('deletes what has ended, once or twice, and nothing else', async () => {
    const request = { ...hanging, operation: 'image_generation' } as const;
    const { generation_id: open } = await darkroom.createGeneration(request);
    expect(await thrownBy(darkroom.deleteGeneration(open))).to.have.property('code', 'CONFLICT');
    await darkroom.wait(await darkroom.cancel(open));
    const { task } = await darkroom.generate(SMALL);
    for (let times = 0; times < 2; times += 1) await darkroom.deleteGeneration(task.generation_id);
    const gone = await thrownBy(darkroom.generation(task.generation_id));
    expect(gone).to.have.property('code', 'GENERATION_JOB_NOT_FOUND');
    expect((await created()).map(({ generation_id }) => generation_id)).to.deep.equal([open]);
  });

  it('reads a reference file from a stream, and refuses a file that is not a picture', async () => {
    const stream = new Blob([await image('webp')]).stream();
    const id = await darkroom.upload({ file: stream });
    expect(await darkroom.uploadState(id)).to.include({ status: 'ready', media_type: 'image/webp' });
    for (let times = 0; times < 2; times += 1) await darkroom.deleteUpload(id);
    expect(await thrownBy(darkroom.uploadState(id))).to.have.property('code', 'NOT_FOUND');
    expect(await thrownBy(darkroom.upload({ file: new Uint8Array(9) }))).to.be.instanceOf(TypeError);
    for (const file of [
      'harbour.png',
      undefined,
      {},
      ['a'],
      new Response('text').body?.pipeThrough(new TextDecoderStream()),
    ])
      expect(await thrownBy(darkroom.upload({ file: file as never })), typeof file)
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.includes('must be a Blob');
    expect(await thrownBy(darkroom.upload({ file: new Uint8Array(9) }, { maxBytes: 8 }))).to.be.instanceOf(RangeError);
  });

  it('lists what a filter finds over all pages', async () => {
    const made = [];
    for (const trace of ['a', 'b', 'a']) {
      const request = { ...SMALL, operation: 'image_generation', client_trace_id: trace } as const;
      made.push(await darkroom.createGeneration(request));
    }
    const found = [];
    for await (const { generation_id } of darkroom.generations({ client_trace_id: 'a', limit: 1 }))
      found.push(generation_id);
    expect(found).to.deep.equal([made[2]?.generation_id, made[0]?.generation_id]);
    // A grant, and a hold and a charge of each; the suite's timeout is the only bound.
    while ((await darkroom.listCreditEntries()).entries.length < 7) await sleep(20);
    const { opening_credits: opening, closing_credits: closing, entries } = await darkroom.listCreditEntries();
    expect([opening, closing]).to.deep.equal([0, CREDITS - 3]);
    const inPages = [];
    for await (const entry of darkroom.creditEntries({ limit: 2 })) inPages.push(entry);
    expect(inPages).to.deep.equal(entries);
    const traces = [];
    for await (const row of darkroom.usage({ by: 'client_trace_id', limit: 1 })) traces.push(row);
    expect(traces.map((row) => [row.client_trace_id, row.charged_credits])).to.deep.equal([
      ['a', 2],
      ['b', 1],
    ]);
    const { by, total } = await darkroom.usagePage();
    expect({ by, total }).to.deep.equal({
      by: 'day',
      total: { generations: 3, failed: 0, reserved_credits: 3, charged_credits: 3, released_credits: 0 },
    });
    expect((await darkroom.model('sandbox-test')).operations).to.deep.equal(['image_generation']);
    expect((await darkroom.models()).map(({ model_key }) => model_key)).to.include('sandbox-test');
  });
});
