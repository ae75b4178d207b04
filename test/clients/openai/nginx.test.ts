// Goal: behind nginx as docs/openai.md configures it, clients get the same pictures and errors as without it; a
// wait that is longer than nginx's time limit survives, a failure never looks like a success, and no repetition is paid twice.
// Method: nginx speaks HTTP/1.0 or HTTP/1.1 to the started program, for the suite of the library, and to a service in this
// process with short waits. After each test the books are verified. Without nginx it is skipped with a message, in CI it fails.
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { APIError, OpenAI } from 'openai';
import sharp from 'sharp';
import type { WaitTimes } from '../../../apps/http/openai/operation.js';
import { SCOPES } from '../../../core/access/credential.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { readPage } from '../../docs/pages.js';
import { until } from '../../fixtures/clocks.js';
import { GENERATIONS, OpenAiHarness, PICTURE } from '../../fronts/openai/openai-harness.js';
import { orSkip } from '../../servers/server-absent.js';
import { ServerProcess } from '../../servers/server-process.js';
import { ClientService } from './client-service.js';
import { openAiSuite } from './openai-suite.js';

const VERSIONS = ['1.0', '1.1'] as const;
const READ_TIMEOUT_MS = 3_000;
/** Often enough that nginx waits on, and kept up for longer than its limit. */
const WAITS: WaitTimes = { silentMs: 150, beatMs: 150, mostMs: 600_000 };
const SILENT: WaitTimes = { ...WAITS, silentMs: 600_000 };

type Changes = readonly (readonly [from: string, to: string])[];

/** The configuration of the page, changed in so many places. */
function documentedSite(changes: Changes): string {
  const block = readPage('docs/openai.md').blocks.find(({ info }) => info === 'nginx');
  return changes.reduce<string>((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`The nginx block of docs/openai.md has no ${from}.`);
    return text.replace(from, to);
  }, block?.text ?? '');
}

const siteOf = (upstream: string, version: string, ...changes: Changes): string =>
  documentedSite([
    ['http://127.0.0.1:8080', upstream],
    ['proxy_http_version 1.1', `proxy_http_version ${version}`],
    ...changes,
  ]);

for (const version of VERSIONS)
  openAiSuite({
    name: `openai 6 through nginx with HTTP/${version}`,
    open: async () => OpenAI,
    // A file is streamed alike with both, and a video takes its time.
    hasVideos: version === '1.0',
    openService: (suite) =>
      orSkip(
        suite,
        ClientService.behindNginx((upstream) => siteOf(upstream, version)),
      ),
  });

for (const version of VERSIONS)
  describe(`a wait behind nginx with HTTP/${version}`, () => {
    let api: OpenAiHarness;
    let nginx: ServerProcess;
    let openai: OpenAI;
    /** The responses that the library has received, and the requests that it has sent. */
    let heads: number;
    let requests: number;

    async function open(suite: Mocha.Context, openAiWaits: WaitTimes, more = ''): Promise<void> {
      api = await OpenAiHarness.open({ openAiWaits });
      const limit = ['proxy_read_timeout 60s', `${more} proxy_read_timeout ${READ_TIMEOUT_MS}ms`] as const;
      const site = siteOf(api.running.origin, version, limit);
      nginx = await orSkip(suite, ServerProcess.start('nginx', { lines: site }));
      [heads, requests] = [0, 0];
      openai = clientWith();
    }

    const clientWith = (more: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI =>
      new OpenAI({
        baseURL: `${nginx.url}/v1`,
        apiKey: api.secret(),
        fetch: async (...request) => {
          requests += 1;
          const response = await fetch(...request);
          heads += 1;
          return response;
        },
        ...more,
      });
    afterEach(async () => {
      await nginx?.stop();
      await api?.close();
    });

    const picture = (model = 'picture') => ({ ...PICTURE, model, prompt: 'a lighthouse', size: '96x64' as never });
    const count = async (): Promise<number> => (await api.generations()).length;
    const cancel = async (): Promise<void> => {
      const [generation] = await api.generations();
      const caller = { ...api.owner, credentialId: 'x', scopes: SCOPES };
      await cancelGeneration(api.context, caller, generation?.generationId ?? '');
    };
    const failureOf = async (work: Promise<unknown>): Promise<Error | undefined> =>
      work.then(
        () => undefined,
        (error: Error) => error,
      );
    const send = (fields: object, init: RequestInit = {}): Promise<Response> =>
      fetch(nginx.url + GENERATIONS, {
        method: 'POST',
        body: JSON.stringify({ ...PICTURE, ...fields }),
        ...init,
        headers: { 'Authorization': `Bearer ${api.secret()}`, 'Content-Type': 'application/json', ...init.headers },
      });

    it('is longer than the time limit of nginx, and gets its pictures', async function () {
      await open(this, WAITS);
      const answer = clientWith({ maxRetries: 0 }).images.generate({ ...picture(), n: 2 });
      await until(() => heads === 1);
      await sleep(READ_TIMEOUT_MS * 1.5);
      await api.service.startWorker();
      expect((await answer).data?.map(({ b64_json: text = '' }) => text.slice(0, 5))).to.deep.equal(['iVBOR', 'iVBOR']);
      await api.expectPaid(20);
    });

    it('that is silent for too long is cut, repeated by the library, and paid once', async function () {
      await open(this, SILENT);
      const answer = openai.images.generate(picture());
      await until(() => requests === 2);
      await api.service.startWorker();
      expect((await answer).data).to.have.length(1);
      expect([await count(), heads]).to.deep.equal([1, 2]);
      await api.expectPaid(10);
    });

    it('whose generation fails after the head is an error, and its repetition gets the reason', async function () {
      await open(this, WAITS);
      const answer = failureOf(clientWith({ maxRetries: 0 }).images.generate(picture('picture-held')));
      await until(() => heads === 1);
      await cancel();
      expect(await answer).to.be.instanceOf(Error);
      const repeated = await failureOf(openai.images.generate(picture('picture-held')));
      expect(repeated).to.be.instanceOf(APIError).and.to.include({ status: 400, code: 'generation_cancelled' });
      expect(await count()).to.equal(1);
      await api.expectPaid(0);
    });

    it('whose generation fails after the head is never a whole response', async function () {
      await open(this, WAITS);
      const { status, body } = await send({ model: 'picture-held' });
      expect(status).to.equal(200);
      await cancel();
      expect(await failureOf(new Response(body).text())).to.be.instanceOf(Error);
      await api.expectPaid(0);
    });

    it('shows the code of an error as the reason phrase', async function () {
      await open(this, WAITS);
      const { status, statusText } = await send({ model: 'unknown' });
      expect([status, statusText]).to.deep.equal([404, 'model_not_found']);
    });

    it('as a stream gets each comment when it is sent, and an event for each picture', async function () {
      await open(this, WAITS);
      const { body } = await send({ stream: true });
      const { value } = (await body?.getReader().read()) ?? {};
      expect(Buffer.from(value ?? []).toString(), 'whole buffers otherwise').to.match(/^(: \n\n){1,9}$/);
      await api.service.startWorker();
      const stream = await openai.images.generate({ ...picture(), n: 2, stream: true });
      const events: string[] = [];
      for await (const event of stream) events.push(`${event.type} ${event.b64_json.slice(0, 5)}`);
      expect(events).to.deep.equal(Array.from({ length: 2 }, () => 'image_generation.completed iVBOR'));
      await api.expectPaid(30);
    });

    it('whose client has left is joined by the repetition, though nginx waits on', async function () {
      await open(this, WAITS, 'proxy_ignore_client_abort on;');
      const gone = new AbortController();
      const left = failureOf(send({}, { signal: gone.signal }).then((response) => response.text()));
      await until(async () => (await count()) === 1);
      gone.abort();
      await left;
      const repetition = await send({}, { headers: { 'x-stainless-retry-count': '1' } });
      // Without the header an equal request is another one, because somebody still waits for the first.
      const another = await send({});
      expect(await count()).to.equal(2);
      await api.service.startWorker();
      const idOf = async (response: Response): Promise<unknown> =>
        ((await response.json()) as { readonly darkroom: { readonly generation_id: unknown } }).darkroom.generation_id;
      const ids = [await idOf(repetition), await idOf(another)];
      expect(ids).to.deep.equal((await api.generations()).map(({ generationId }) => generationId));
      await api.expectPaid(20);
    });
  });

describe('large files behind nginx', () => {
  let service: ClientService;
  let narrow: ServerProcess;
  before(async function () {
    const narrowed = (upstream: string) => siteOf(upstream, '1.1', ['client_max_body_size 100m;', '']);
    service = await orSkip(
      this,
      ClientService.behindNginx((upstream) => siteOf(upstream, '1.1')),
    );
    narrow = await ServerProcess.start('nginx', { lines: narrowed(service.live.url) });
  });
  after(async () => {
    await narrow?.stop();
    await service?.close();
  });

  it('are edited with a mask where its limit allows them, and else refused by nginx and not paid', async () => {
    const tenant = await service.tenant();
    const side = 900;
    const file = async (name: string, alpha: number): Promise<File> => {
      const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
      const background = { r: 0, g: 0, b: 0 };
      const opaque = sharp({ create: { width: side, height: side, channels: 3, background, noise } });
      const bytes = await opaque.ensureAlpha(alpha).png().toBuffer();
      return new File([new Uint8Array(bytes)], name, { type: 'image/png' });
    };
    const image = [await file('one.png', 1), await file('two.png', 1)];
    expect(image[0]?.size).to.be.above(1024 ** 2);
    const request = { model: 'sandbox-image', prompt: 'a sea', size: '256x256' as const, image };
    const edit = async (origin: string): Promise<OpenAI.ImagesResponse> =>
      new OpenAI({ baseURL: `${origin}/v1`, apiKey: tenant.secret }).images.edit({
        ...request,
        mask: await file('mask.png', 0),
      });
    const refusal = await edit(narrow.url).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(APIError).and.to.have.property('status', 413);
    await service.expectPaid(tenant, 0);
    expect((await edit(service.origin)).data).to.have.length(1);
    await service.expectPaid(tenant, 4);
  });
});
