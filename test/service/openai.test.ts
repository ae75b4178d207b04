// Goal: the example for servers with the API of OpenAI makes pictures and videos as its page says, from the command to
// the file, and charges for the delivered outputs.
// Method: the started service with the example's configuration and catalog, over servers that answer as OpenAI and
// vLLM-Omni do.
import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import sharp from 'sharp';
import { ROOT } from '../docs/pages.js';
import { image } from '../fixtures/images.js';
import { mp4 } from '../fixtures/videos.js';
import { CliService } from '../harness/cli-service.js';
import { OpenAiFake } from '../providers/fakes/openai-fake.js';

const EXAMPLES = join(ROOT, 'config/providers');
const KEY = 'sk-of-the-example';

interface Task {
  readonly status: string;
  readonly charged_credits: number;
  readonly files: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
}

describe('the service on servers with the API of OpenAI', () => {
  let openai: OpenAiFake;
  let studio: OpenAiFake;
  let service: CliService;
  let folder: string;

  before(async () => {
    [openai, studio] = await Promise.all([OpenAiFake.open('openai', KEY), OpenAiFake.open('vllm-omni')]);
    openai.images.picture = await image('png', 1024, 1024);
    studio.videos.video = await mp4(10, 832, 480);
    folder = mkdtempSync(join(tmpdir(), 'darkroom-openai-'));
    service = await CliService.start({
      DARKROOM_CONFIG: join(EXAMPLES, 'openai.yaml'),
      DARKROOM_CATALOG: join(EXAMPLES, 'openai.catalog.yaml'),
      DARKROOM_PROVIDERS_OPENAI_BASE_URL: openai.base,
      DARKROOM_PROVIDERS_OPENAI_API_KEY: KEY,
      DARKROOM_PROVIDERS_STUDIO_BASE_URL: studio.base,
    });
  });
  after(async () => {
    await service.stop();
    await Promise.all([openai.close(), studio.close()]);
    rmSync(folder, { recursive: true });
  });

  const generate = (...args: readonly string[]) => service.json<Task>(['generate', ...args]);
  const bytesOf = ({ files: [file = ''] }: Task) => readFileSync(resolve(service.folder, file));

  it('makes pictures in one request, and charges each', async () => {
    const args = ['--model', 'gpt-image', '--param', 'quality=low', '--param', 'n=2', '--out', folder];
    const task = await generate('a lighthouse at dusk', ...args);
    expect(task).to.include({ status: 'succeeded', charged_credits: 20 });
    expect(await sharp(bytesOf(task)).metadata()).to.include({ format: 'png', width: 1024, height: 1024 });
    expect([openai.server.posts, openai.tasks]).to.deep.equal([1, 1]);
    expect(openai.images.taken[0]?.fields).to.deep.equal({
      model: 'gpt-image-2',
      prompt: 'a lighthouse at dusk',
      quality: 'low',
      n: 2,
      size: '1024x1024',
      output_format: 'png',
    });
  });

  it('charges the pictures that came, and nothing for a refusal', async () => {
    const fewer = await generate('fewer', '--model', 'gpt-image', '--param', 'quality=low', '--param', 'n=3');
    expect(fewer).to.include({ status: 'succeeded', charged_credits: 20 });
    const refused = await generate('forbidden', '--model', 'gpt-image');
    expect(refused).to.include({ status: 'failed', charged_credits: 0 });
    expect(refused.error?.code).to.equal('CONTENT_REJECTED_INPUT');
  });

  it('makes no second request after an answer was lost, and charges nothing', async () => {
    const before = openai.server.posts;
    openai.server.plan({ type: 'lose-answer' }, { of: 'submit' });
    const lost = await generate('a lighthouse at dawn', '--model', 'gpt-image');
    expect(lost).to.include({ status: 'failed', charged_credits: 0 });
    expect(openai.server.posts - before).to.equal(1);
  });

  it('makes videos by jobs', async () => {
    const args = ['--model', 'studio-video', '--param', 'duration_seconds=1', '--out', 'lighthouse.mp4'];
    const task = await generate('a lighthouse at dusk', ...args);
    expect(task).to.include({ status: 'succeeded', charged_credits: 20 });
    expect(bytesOf(task).toString('latin1', 4, 8)).to.equal('ftyp');
    expect(studio.videos.jobs[0]?.fields).to.deep.equal({
      prompt: 'a lighthouse at dusk',
      seconds: '1',
      size: '832x480',
      fps: '16',
    });
  });
});
