// Goal: the AI SDK, by its providers for OpenAI and for servers with its API, makes and edits pictures, and a request that
// it repeats by itself, without a header that says so, is paid once.
// Method: both releases in this process against the started program. Without the packages it is skipped with a message.
import { expect } from 'chai';
import type { Tenant } from '../../service/live-service.js';
import { orSkip } from '../foreign-clients.js';
import { ClientService, CuttingProxy } from './client-service.js';
import { OPENAI_PACKAGES } from './openai-tools.js';

type Settings = { readonly name: string; readonly baseURL: string; readonly apiKey: string };
type Provider = { readonly imageModel: (model: string) => unknown };
type Request = {
  readonly model: unknown;
  readonly prompt: string | { readonly text: string; readonly images: readonly Uint8Array[] };
  readonly n?: number;
  readonly size?: string;
};
type Generate = (request: Request) => Promise<{ readonly images: readonly { readonly uint8Array: Uint8Array }[] }>;

/** The catalog with a slow sandbox-test: one of the providers passes no parameters of a model on. */
function withSlowModel(shipped: string): string {
  return shipped.replace('maximum: 60000, default: 0', 'maximum: 60000, default: 1500');
}

for (const release of [6, 7])
  for (const [name, factory] of [
    ['openai', 'createOpenAI'],
    ['openai-compatible', 'createOpenAICompatible'],
  ] as const)
    describe(`AI SDK ${release} with @ai-sdk/${name} against the program`, () => {
      let service: ClientService;
      let tenant: Tenant;
      let generate: Generate;
      let create: (settings: Settings) => Provider;
      before(async function () {
        generate = await orSkip(this, async () => {
          const { generateImage } = await OPENAI_PACKAGES.load<{ generateImage: Generate }>(`ai-${release}`);
          return generateImage;
        });
        create = (await OPENAI_PACKAGES.load<Record<string, typeof create>>(`@ai-sdk/${name}-${release}`))[
          factory
        ] as typeof create;
        service = await ClientService.open({ catalog: withSlowModel });
      });
      beforeEach(async () => {
        tenant = await service.tenant();
      });
      after(() => service?.close());

      const modelAt = (baseURL: string, model = 'sandbox-image') =>
        create({ name: 'darkroom', baseURL, apiKey: tenant.secret }).imageModel(model);

      it('makes pictures and edits them', async () => {
        const model = modelAt(service.baseUrl);
        const { images } = await generate({ model, prompt: 'a lighthouse', n: 2, size: '256x256' });
        expect(images).to.have.length(2);
        const sources = images.map(({ uint8Array }) => uint8Array);
        const edited = await generate({ model, prompt: { text: 'in winter', images: sources }, size: '256x256' });
        expect(Buffer.from(edited.images[0]?.uint8Array ?? []).toString('latin1', 1, 4)).to.equal('PNG');
        await service.expectPaid(tenant, 12);
      });

      it('is told what is wrong, and pays nothing', async () => {
        const unknown = generate({ model: modelAt(service.baseUrl, 'gpt-5'), prompt: 'x' });
        expect(await unknown.catch((error: Error) => error.message)).to.contain('does not exist');
        await service.expectPaid(tenant, 0);
      });

      it('repeats a request by itself whose connection was cut, and pays once', async () => {
        const proxy = await CuttingProxy.open(service.live.url);
        try {
          proxy.cutNext('while it waits');
          await generate({ model: modelAt(`${proxy.url}/v1`, 'sandbox-test'), prompt: 'x' });
          expect(proxy.cuts).to.equal(1);
        } finally {
          await proxy.close();
        }
        await service.expectPaid(tenant, 1);
      });
    });
