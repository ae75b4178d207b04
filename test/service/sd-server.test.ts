// Goal: the example for stable-diffusion.cpp makes pictures as its page says, from the command to the file.
// Method: the started service with the example's configuration and catalog, but for smaller pictures in fewer steps,
// over a real sd-server whose checkpoint is of zeros; its pictures are blank, and everything else is as with another
// checkpoint.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { ROOT } from '../docs/pages.js';
import { CliService } from '../harness/cli-service.js';
import { image } from '../fixtures/images.js';
import { orSkip, sdServer } from '../servers/servers.js';

const EXAMPLES = join(ROOT, 'config/providers');

interface Task {
  readonly status: string;
  readonly charged_credits: number;
  readonly files: readonly string[];
}

describe('the service on a real sd-server', () => {
  let service: CliService | undefined;
  let folder: string | undefined;

  before(async function () {
    const { url } = await orSkip(this, sdServer());
    folder = mkdtempSync(join(tmpdir(), 'darkroom-sd-server-'));
    const catalog = readFileSync(join(EXAMPLES, 'sdcpp.catalog.yaml'), 'utf8');
    const smaller = catalog
      .replaceAll('256x256', '64x64')
      .replaceAll('sample_steps: { value: 20 }', 'sample_steps: { value: 1 }');
    writeFileSync(join(folder, 'catalog.yaml'), smaller);
    service = await CliService.start({
      DARKROOM_CONFIG: join(EXAMPLES, 'sdcpp.yaml'),
      DARKROOM_CATALOG: join(folder, 'catalog.yaml'),
      DARKROOM_PROVIDERS_SDCPP_BASE_URL: url,
    });
  });
  after(async () => {
    await service?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  async function made(prompt: string, ...args: readonly string[]): Promise<{ task: Task; bytes: Buffer }> {
    if (service === undefined) throw new Error('There is no service.');
    const task = await service.json<Task>(['generate', prompt, ...args]);
    const [file = ''] = task.files;
    return { task, bytes: readFileSync(join(service.folder, file)) };
  }

  it('makes a picture of words, of the size and in the format that was asked for', async () => {
    const args = ['--model', 'stable-diffusion', '--param', 'size=64x64', '--param', 'steps=1'];
    const { task, bytes } = await made('a lighthouse that nobody sees', ...args, '--out', 'lighthouse.png');
    expect(task).to.include({ status: 'succeeded', charged_credits: 4 });
    expect(await sharp(bytes).metadata()).to.include({ format: 'png', width: 64, height: 64 });
    expect(bytes.includes('lighthouse'), 'the prompt is in the file').to.equal(false);
  });

  it('makes a picture of a picture', async () => {
    if (service === undefined) throw new Error('There is no service.');
    writeFileSync(join(service.folder, 'boat.png'), await image('png', 300, 200));
    const args = ['--model', 'stable-diffusion-variation', '--param', 'size=64x64', '--param', 'strength=1'];
    const { task, bytes } = await made('a boat', ...args, '--reference', 'boat.png', '--out', 'other.png');
    expect(task).to.include({ status: 'succeeded', charged_credits: 5 });
    expect(await sharp(bytes).metadata()).to.include({ format: 'png', width: 64, height: 64 });
  });
});
