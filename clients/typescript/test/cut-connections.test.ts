// Goal: however often connections are cut, before the service has a request or after it has answered, one generation is
// created, paid for once and delivered.
// Method: the compiled program behind a proxy that cuts the connections of chosen requests; what was created and charged
// is read past the proxy.
import { expect } from 'chai';
import { image } from '../../../test/fixtures/images.js';
import { LiveService } from '../../../test/service/live-service.js';
import { ConnectionError, Darkroom, type GenerationTask } from '../src/index.js';
import { CuttingProxy, type Cut } from './cutting-proxy.js';

const CREDITS = 10;
const INPUT = { model_key: 'sandbox-test', prompt: 'a lighthouse', parameters: { size: '128x128' } } as const;
const REQUESTS = {
  create: /^POST \/api\/v1\/developer\/generations HTTP/,
  prepare: /^POST \/api\/v1\/developer\/uploads HTTP/,
  completion: /^POST \/api\/v1\/developer\/uploads\/[^/]+\/complete HTTP/,
  events: /^GET \/api\/v1\/developer\/generations\/[^/]+\/events HTTP/,
} as const;

describe('the TypeScript client over connections that are cut', () => {
  let service: LiveService;
  let proxy: CuttingProxy;
  let direct: Darkroom;
  let cut: Darkroom;

  before(async () => {
    service = await LiveService.start();
    proxy = await CuttingProxy.to(service.url);
  });
  after(async () => {
    proxy.close();
    await service.remove();
  });
  beforeEach(async () => {
    const apiKey = (await service.tenant(CREDITS)).secret;
    direct = new Darkroom({ baseUrl: service.url, apiKey });
    cut = new Darkroom({ baseUrl: proxy.url, apiKey });
  });

  const created = async (): Promise<GenerationTask[]> => {
    const found: GenerationTask[] = [];
    for await (const task of direct.generations()) found.push(task);
    return found;
  };

  for (const [what, line] of Object.entries(REQUESTS)) {
    for (const where of ['before', 'after'] satisfies Cut[]) {
      it(`makes one generation although its ${what} is cut ${where} the service has answered`, async () => {
        const references = [{ file: await image('png') }];
        proxy.cut(line, where, 2);
        const { task, files } = await cut.generate({ ...INPUT, references });
        expect(proxy.cuts).to.equal(2);
        expect(files).to.have.length(1);
        expect((await created()).map(({ generation_id }) => generation_id)).to.deep.equal([task.generation_id]);
        expect((await direct.credits()).available_credits).to.equal(CREDITS - 1);
      });
    }
  }

  it('gives up after a bounded number of creates, with the key that finds the one generation', async () => {
    proxy.cut(REQUESTS.create, 'after', 100);
    const left = await cut.generate(INPUT).catch((error: unknown) => error);
    expect(left).to.be.instanceOf(ConnectionError);
    expect(proxy.cuts).to.equal(6);
    proxy.cut(REQUESTS.create, 'before', 0);
    const { idempotencyKey = '' } = left as ConnectionError;
    const { task } = await cut.generate(INPUT, { idempotencyKey });
    expect((await created()).map(({ generation_id }) => generation_id)).to.deep.equal([task.generation_id]);
    expect((await direct.credits()).available_credits).to.equal(CREDITS - 1);
  });

  it('cancels the generation of a create that was aborted after its answer was cut', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    proxy.cut(REQUESTS.create, 'after');
    const parameters = { behaviour: 'hang' };
    const leaving = cut
      .generate({ ...INPUT, parameters }, { signal: controller.signal })
      .catch((error: unknown) => error);
    while (proxy.cuts === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort(reason);
    expect(await leaving).to.equal(reason);
    const [task, ...others] = await created();
    expect(others).to.deep.equal([]);
    expect(await direct.wait(task as GenerationTask)).to.include({ status: 'cancelled', charged_credits: 0 });
  });
});
