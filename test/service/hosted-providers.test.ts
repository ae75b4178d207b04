// Goal: the examples for Replicate, fal and Cog make pictures as their pages say, from the command to the file, and submit each
// task once.
// Method: the started service with each example's configuration and catalog. Replicate and fal are servers that answer as their
// documentation says, whose pictures are small; Cog is the real one, with a model for tests.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { ROOT } from '../docs/pages.js';
import { image } from '../fixtures/images.js';
import { CliService } from '../harness/cli-service.js';
import { FalFake } from '../providers/fakes/fal-fake.js';
import { ReplicateFake } from '../providers/fakes/replicate-fake.js';
import { cogServer, orSkip } from '../servers/servers.js';

const EXAMPLES = join(ROOT, 'config/providers');
const KEY = 'id:secret';

interface Task {
  readonly status: string;
  readonly charged_credits: number;
  readonly files: readonly string[];
}

/** The service with an example, whose server is at this address. */
class Example {
  private constructor(
    private readonly service: CliService,
    private readonly folder: string,
  ) {}

  static async start(provider: string, url: string): Promise<Example> {
    const folder = mkdtempSync(join(tmpdir(), `darkroom-${provider}-`));
    const catalog = readFileSync(join(EXAMPLES, `${provider}.catalog.yaml`), 'utf8');
    writeFileSync(join(folder, 'catalog.yaml'), catalog.replaceAll('1024x1024', '64x64'));
    writeFileSync(join(folder, 'boat.png'), await image('png', 300, 200));
    const own = `DARKROOM_PROVIDERS_${provider.toUpperCase()}`;
    const service = await CliService.start({
      DARKROOM_CONFIG: join(EXAMPLES, `${provider}.yaml`),
      DARKROOM_CATALOG: join(folder, 'catalog.yaml'),
      [`${own}_BASE_URL`]: url,
      [`${own}_API_KEY`]: KEY,
    });
    return new Example(service, folder);
  }

  /** Makes pictures, and returns their cost and size. */
  async made(model: string, ...args: readonly string[]): Promise<{ credits: number; sizes: readonly string[] }> {
    const task = await this.service.json<Task>(['generate', 'a lighthouse', '--model', model, ...args]);
    expect(task.status).to.equal('succeeded');
    const pictures = task.files.map((file) => sharp(readFileSync(join(this.service.folder, file))).metadata());
    const sizes = (await Promise.all(pictures)).map(({ width, height, format }) => `${width}x${height} ${format}`);
    return { credits: task.charged_credits, sizes };
  }

  get reference(): readonly string[] {
    return ['--reference', join(this.folder, 'boat.png')];
  }

  async stop(): Promise<void> {
    await this.service.stop();
    rmSync(this.folder, { recursive: true });
  }
}

describe('the service on Replicate', () => {
  let fake: ReplicateFake;
  let example: Example;
  before(async () => {
    fake = await ReplicateFake.open(KEY);
    example = await Example.start('replicate', fake.base);
  });
  after(async () => {
    await example?.stop();
    await fake.close();
  });

  it('makes pictures of words, and one of a picture', async () => {
    fake.ending = { ends: 'succeeded', files: 2 };
    const two = await example.made('flux-schnell', '--param', 'n=2', '--out', 'lighthouse.png');
    expect(two).to.deep.equal({ credits: 8, sizes: ['64x64 png', '64x64 png'] });
    fake.ending = { ends: 'succeeded' };
    const changed = await example.made('flux-kontext', ...example.reference, '--out', 'changed.png');
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
  let example: Example;
  before(async () => {
    fake = await FalFake.open(KEY);
    example = await Example.start('fal', fake.base);
  });
  after(async () => {
    await example?.stop();
    await fake.close();
  });

  it('makes a picture of words, and one of a picture', async () => {
    const one = await example.made('flux-schnell', '--param', 'size=64x64', '--out', 'lighthouse.png');
    expect(one).to.deep.equal({ credits: 4, sizes: ['64x64 png'] });
    const changed = await example.made('flux-kontext', ...example.reference, '--out', 'changed.png');
    expect(changed).to.deep.equal({ credits: 40, sizes: ['64x64 png'] });
    expect(fake.queue.map(({ endpoint }) => endpoint)).to.deep.equal([
      'fal-ai/flux/schnell',
      'fal-ai/flux-pro/kontext',
    ]);
    expect(fake.queue[0]?.input).to.include({ image_size: 'square_hd', num_images: 1 });
    expect(fake.server.posts).to.equal(2);
  });
});

describe('the service on a real container of Cog', () => {
  let example: Example | undefined;
  before(async function () {
    const { url } = await orSkip(this, cogServer());
    example = await Example.start('cog', url);
  });
  after(() => example?.stop());

  it('makes pictures of words, and one of a picture', async () => {
    const three = await example?.made('own-model', '--param', 'n=3', '--out', 'lighthouse.png');
    expect(three).to.deep.equal({ credits: 12, sizes: ['64x64 png', '64x64 png', '64x64 png'] });
    const changed = await example?.made('own-model', ...(example?.reference ?? []), '--out', 'changed.png');
    expect(changed).to.deep.equal({ credits: 4, sizes: ['300x200 png'] });
  });
});
