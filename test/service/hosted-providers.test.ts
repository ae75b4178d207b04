// Goal: the examples for Replicate, fal and Cog make pictures as their pages say, from the command to the file, and submit each
// task once.
// Method: the started service with each example's configuration and catalog. Replicate and fal are servers that answer as their
// documentation says, whose pictures are small; Cog is the real one, with a model for tests.
import { expect } from 'chai';
import { image } from '../fixtures/images.js';
import { FalFake } from '../providers/fakes/fal-fake.js';
import { ReplicateFake } from '../providers/fakes/replicate-fake.js';
import { cogServer, orSkip } from '../servers/servers.js';
import { ProviderService } from './provider-service.js';

const KEY = 'id:secret';

/** An example with small pictures, whose server is at this address. */
const started = (example: string, url: string): Promise<ProviderService> => {
  const own = example.toUpperCase();
  const providers = { [`${own}_BASE_URL`]: url, [`${own}_API_KEY`]: KEY };
  return ProviderService.example(example, providers, (catalog) => catalog.replaceAll('1024x1024', '64x64'));
};

/** Makes pictures, and returns their cost and sizes. */
async function made(example: ProviderService, model: string, ...args: readonly string[]): Promise<unknown> {
  const task = await example.generate('a lighthouse', model, ...args);
  expect(task.status).to.equal('succeeded');
  return { credits: task.charged_credits, sizes: await example.picturesOf(task) };
}

const reference = async (example: ProviderService): Promise<readonly string[]> => [
  '--reference',
  example.fileOf('boat.png', await image('png', 300, 200)),
];

describe('the service on Replicate', () => {
  let fake: ReplicateFake;
  let example: ProviderService;
  before(async () => {
    fake = await ReplicateFake.open(KEY);
    example = await started('replicate', fake.base);
  });
  after(async () => {
    await example?.stop();
    await fake.close();
  });

  it('makes pictures of words, and one of a picture', async () => {
    fake.ending = { ends: 'succeeded', files: 2 };
    const two = await made(example, 'flux-schnell', '--param', 'n=2', '--out', 'lighthouse.png');
    expect(two).to.deep.equal({ credits: 8, sizes: ['64x64 png', '64x64 png'] });
    fake.ending = { ends: 'succeeded' };
    const changed = await made(example, 'flux-kontext', ...(await reference(example)), '--out', 'changed.png');
    expect(changed).to.deep.equal({ credits: 40, sizes: ['64x64 png'] });
    expect(fake.predictions.map(({ model }) => model)).to.deep.equal([
      'black-forest-labs/flux-schnell',
      'black-forest-labs/flux-kontext-pro',
    ]);
    expect(fake.server.posts).to.equal(2);
  });
});

describe('the service on fal', () => {
  let fake: FalFake;
  let example: ProviderService;
  before(async () => {
    fake = await FalFake.open(KEY);
    example = await started('fal', fake.base);
  });
  after(async () => {
    await example?.stop();
    await fake.close();
  });

  it('makes a picture of words, and one of a picture', async () => {
    const one = await made(example, 'flux-schnell', '--param', 'size=64x64', '--out', 'lighthouse.png');
    expect(one).to.deep.equal({ credits: 4, sizes: ['64x64 png'] });
    const changed = await made(example, 'flux-kontext', ...(await reference(example)), '--out', 'changed.png');
    expect(changed).to.deep.equal({ credits: 40, sizes: ['64x64 png'] });
    expect(fake.queue.map(({ endpoint }) => endpoint)).to.deep.equal([
      'fal-ai/flux/schnell',
      'fal-ai/flux-pro/kontext',
    ]);
    expect(fake.queue[0]?.input).to.deep.include({ image_size: { width: 64, height: 64 }, num_images: 1 });
    expect(fake.server.posts).to.equal(2);
  });

  it('shows operators the units that fal bills beside those that clients were charged', async () => {
    fake.ending = { ends: 'result', billed: '2.5' };
    await made(example, 'flux-schnell', '--param', 'size=64x64', '--out', 'dear.png');
    const { models } = await example.service.json<{ models: readonly object[] }>(['usage', '--cost']);
    expect(models).to.have.length(2);
    expect(models[0]).to.deep.include({
      model_key: 'flux-kontext',
      money: [],
      billed_unit_micros: 1_000_000,
      charged_units: [{ unit: 'image', micros: 1_000_000 }],
    });
    expect(models[1]).to.deep.include({
      model_key: 'flux-schnell',
      money: [{ currency: 'USD', micros: 10_500 }],
      billed_unit_micros: 3_500_000,
      charged_units: [{ unit: 'image', micros: 2_000_000 }],
    });
    const { stdout } = await example.service.run(['usage', '--cost', '--credit-value', '0.001:USD']);
    const cells = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(cells[0]).to.include.members(['BILLED UNITS', 'CHARGED UNITS', 'MARGIN']);
    expect(cells.find(([model]) => model === 'flux-schnell')).to.include.members([
      '3.5',
      '2 images',
      '0.0105 USD, 7.4 s',
    ]);
  });
});

describe('the service on a real container of Cog', () => {
  let example: ProviderService;
  before(async function () {
    const { url } = await orSkip(this, cogServer());
    example = await started('cog', url);
  });
  after(() => example?.stop());

  it('makes pictures of words, and one of a picture', async () => {
    const three = await made(example, 'own-model', '--param', 'n=3', '--out', 'lighthouse.png');
    expect(three).to.deep.equal({ credits: 12, sizes: ['64x64 png', '64x64 png', '64x64 png'] });
    const changed = await made(example, 'own-model', ...(await reference(example)), '--out', 'changed.png');
    expect(changed).to.deep.equal({ credits: 4, sizes: ['300x200 png'] });
  });
});
