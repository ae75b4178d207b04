// What every version of the library `openai` for Node must be able to do.
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { APIError, OpenAI } from 'openai';
import sharp from 'sharp';
import type { Tenant } from '../../service/live-service.js';
import { ClientService, CuttingProxy } from './client-service.js';

/** A version of the library. */
export interface OpenAiLibrary {
  readonly name: string;
  readonly open: (suite: Mocha.Context) => Promise<typeof OpenAI>;
  /** Whether it has `videos`; true when absent. */
  readonly hasVideos?: boolean;
  /** The program, or a proxy in front of it; the program alone when absent. */
  readonly openService?: (suite: Mocha.Context) => Promise<ClientService>;
}

/** 4 credits a picture. */
const PICTURE = { model: 'sandbox-image', prompt: 'a lighthouse', size: '256x256' } as const;

export function openAiSuite({
  name,
  open,
  hasVideos = true,
  openService = () => ClientService.open(),
}: OpenAiLibrary): void {
  describe(`${name} against the program`, () => {
    let service: ClientService;
    let Client: typeof OpenAI;
    let tenant: Tenant;
    let openai: OpenAI;
    before(async function () {
      Client = await open(this);
      service = await openService(this);
    });
    beforeEach(async () => {
      tenant = await service.tenant();
      openai = clientAt(service.baseUrl);
    });
    after(() => service?.close());

    function clientAt(baseURL: string, more: { readonly apiKey?: string; readonly maxRetries?: number } = {}): OpenAI {
      return new Client({ baseURL, apiKey: tenant.secret, ...more });
    }

    async function refusalOf(work: Promise<unknown>): Promise<Pick<APIError, 'status' | 'code' | 'param' | 'message'>> {
      const refusal = await work.then(
        () => undefined,
        (error: APIError) => error,
      );
      expect(refusal, 'the refusal').to.be.instanceOf(Client.APIError);
      return refusal as APIError;
    }

    it('gets pictures as base64, and pays each', async () => {
      const { data = [], ...answer } = await openai.images.generate({ ...PICTURE, n: 2 });
      expect(
        await Promise.all(data.map(({ b64_json: text }) => sizeOf(Buffer.from(text ?? '', 'base64')))),
      ).to.deep.equal(['png 256x256', 'png 256x256']);
      expect(data.map(({ url }) => url)).to.deep.equal([undefined, undefined]);
      expect(answer).to.deep.include({ size: '256x256' });
      expect(answer.created).to.be.closeTo(Date.now() / 1_000, 60);
      expect(answer.usage?.total_tokens).to.equal(0);
      await service.expectPaid(tenant, 8);
    });

    it('gets an address that works with its key and without', async () => {
      const { data = [] } = await openai.images.generate({ ...PICTURE, response_format: 'url' });
      expect(data.map(({ b64_json: text }) => text)).to.deep.equal([undefined]);
      expect(data[0]?.url?.startsWith(`${service.baseUrl}/files/`)).to.equal(true);
      for (const headers of [{}, { Authorization: `Bearer ${tenant.secret}` }]) {
        const file = await fetch(data[0]?.url ?? '', { headers });
        expect(await sizeOf(Buffer.from(await file.arrayBuffer()))).to.equal('png 256x256');
      }
      await service.expectPaid(tenant, 4);
    });

    it('passes parameters of the model on', async () => {
      const seeded = { ...PICTURE, seed: 7 };
      const [one, two] = [await openai.images.generate(seeded), await openai.images.generate(seeded)];
      expect(one.data?.[0]?.b64_json).to.equal(two.data?.[0]?.b64_json);
      await service.expectPaid(tenant, 8);
    });

    it('lists the models, and reads one', async () => {
      const ids: string[] = [];
      for await (const { id } of openai.models.list()) ids.push(id);
      expect(ids).to.include.members(['sandbox-image', 'sandbox-video']);
      expect(await openai.models.retrieve('sandbox-video')).to.include({ id: 'sandbox-video', object: 'model' });
      expect(await refusalOf(openai.models.retrieve('a/model'))).to.include({ status: 404, code: 'model_not_found' });
      await service.expectPaid(tenant, 0);
    });

    it('is told what is wrong with a request, and pays nothing', async () => {
      const wrongKey = clientAt(service.baseUrl, { apiKey: 'svc_live_wrong' });
      expect(await refusalOf(wrongKey.models.list())).to.include({ status: 401, code: 'invalid_api_key' });
      const refused = (fields: object) => refusalOf(openai.images.generate({ ...PICTURE, ...fields }));
      expect(await refused({ model: 'gpt-5' })).to.include({ status: 404, code: 'model_not_found', param: 'model' });
      expect(await refused({ n: 9 })).to.include({ status: 400, code: 'invalid_value', param: 'n' });
      const sized = await refused({ size: '1x1' });
      expect(sized).to.include({ status: 400, code: 'invalid_value', param: 'size' });
      expect(sized.message).to.contain('1024x576');
      expect(await refused({ sed: 7 })).to.include({ status: 400, code: 'unknown_parameter', param: 'sed' });
      expect(await refused({ prompt: ' ' })).to.include({ status: 400, param: 'prompt' });
      await service.expectPaid(tenant, 0);
    });

    it('is told that its credits are not enough, and does not repeat', async () => {
      tenant = await service.tenant(3);
      const started = Date.now();
      const refusal = await refusalOf(clientAt(service.baseUrl).images.generate(PICTURE));
      expect(refusal).to.include({ status: 402, code: 'insufficient_quota' });
      expect(Date.now() - started, 'without a wait between attempts').to.be.below(500);
      await service.expectPaid(tenant, 0);
    });

    it('is told why a prompt was refused, and pays nothing', async () => {
      const fields = { model: 'sandbox-test', prompt: 'x', behaviour: 'refuse', error_code: 'CONTENT_REJECTED_INPUT' };
      const refusal = await refusalOf(openai.images.generate(fields));
      expect(refusal).to.include({ status: 400, code: 'content_policy_violation' });
      expect(refusal.message).to.contain('The request was rejected as a result of the safety system');
      await service.expectPaid(tenant, 0);
    });

    it('repeats a request by itself whose connection was cut, and pays once', async () => {
      const proxy = await CuttingProxy.open(service.origin);
      try {
        proxy.cutNext('while it waits');
        const slow = { model: 'sandbox-test', prompt: 'x', behaviour: 'slow', delay_ms: 1_500 };
        const { data } = await clientAt(`${proxy.url}/v1`).images.generate(slow);
        expect(data).to.have.length(1);
        expect(proxy.cuts).to.equal(1);
      } finally {
        await proxy.close();
      }
      await service.expectPaid(tenant, 1);
    });

    it('makes two pictures of two equal requests at once', async () => {
      const answers = await Promise.all([openai.images.generate(PICTURE), openai.images.generate(PICTURE)]);
      expect(
        new Set(answers.map((answer) => JSON.stringify((answer as { darkroom?: object }).darkroom))),
      ).to.have.property('size', 2);
      await service.expectPaid(tenant, 8);
    });

    it('edits pictures with a mask', async () => {
      const file = (filename: string, alpha: number) =>
        sharp({ create: { width: 64, height: 64, channels: 4, background: { r: 200, g: 30, b: 30, alpha } } })
          .png()
          .toBuffer()
          .then((bytes) => new File([new Uint8Array(bytes)], filename, { type: 'image/png' }));
      const image = [await file('one.png', 1), await file('two.png', 1)];
      const edited = await openai.images.edit({ ...PICTURE, image, mask: await file('mask.png', 0) });
      expect(await sizeOf(Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64'))).to.equal('png 256x256');
      const refusal = await refusalOf(openai.images.edit({ ...PICTURE, image: [new File(['text'], 'text.png')] }));
      expect(refusal).to.include({ status: 400, code: 'invalid_image_format', param: 'image' });
      await service.expectPaid(tenant, 4);
    });

    if (hasVideos)
      it('makes a video, downloads it, lists it and deletes it', async () => {
        const { id } = await openai.videos.create({ model: 'sandbox-video', prompt: 'waves', seconds: '4' });
        let made = await openai.videos.retrieve(id);
        while (made.status === 'queued' || made.status === 'in_progress') {
          await sleep(200);
          made = await openai.videos.retrieve(id);
        }
        expect(made).to.include({ id, status: 'completed', seconds: '4', size: '512x288', progress: 100 });
        const file = await openai.videos.downloadContent(id);
        expect(Buffer.from(await file.arrayBuffer()).toString('latin1', 4, 8)).to.equal('ftyp');
        const part = await openai.videos.downloadContent(id, {}, { headers: { Range: 'bytes=4-7' } });
        expect([part.status, await part.text()]).to.deep.equal([206, 'ftyp']);
        expect((await openai.videos.list()).data.map((video) => video.id)).to.deep.equal([id]);
        expect(await openai.videos.delete(id)).to.deep.include({ id, deleted: true });
        expect(await refusalOf(openai.videos.retrieve(id))).to.include({ status: 404, code: 'not_found' });
        await service.expectPaid(tenant, 40);
      });
  });
}

async function sizeOf(bytes: Uint8Array): Promise<string> {
  const { format, width, height } = await sharp(bytes).metadata();
  return `${format} ${width}x${height}`;
}
