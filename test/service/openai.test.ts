// Goal: the example for servers with the API of OpenAI makes pictures and videos as its page says, from the command to
// the file, and charges for the delivered outputs.
// Method: the started service with the example's configuration and catalog, over servers that answer as OpenAI and
// vLLM-Omni do.
import { expect } from 'chai';
import { image } from '../fixtures/images.js';
import { mp4 } from '../fixtures/videos.js';
import { OpenAiFake } from '../providers/fakes/openai-fake.js';
import { ProviderService } from './provider-service.js';

const KEY = 'sk-of-the-example';

describe('the service on servers with the API of OpenAI', () => {
  let openai: OpenAiFake;
  let studio: OpenAiFake;
  let example: ProviderService;

  before(async () => {
    [openai, studio] = await Promise.all([OpenAiFake.open('openai', KEY), OpenAiFake.open('vllm-omni')]);
    openai.images.picture = await image('png', 1024, 1024);
    studio.videos.video = await mp4(10, 832, 480);
    example = await ProviderService.example('openai', {
      OPENAI_BASE_URL: openai.base,
      OPENAI_API_KEY: KEY,
      STUDIO_BASE_URL: studio.base,
    });
  });
  after(async () => {
    await example.stop();
    await Promise.all([openai.close(), studio.close()]);
  });

  it('makes pictures in one request, and charges each', async () => {
    const args = ['--param', 'quality=low', '--param', 'n=2', '--out', example.folder];
    const task = await example.generate('a lighthouse at dusk', 'gpt-image', ...args);
    expect(task).to.include({ status: 'succeeded', charged_credits: 20 });
    expect(await example.picturesOf({ ...task, files: task.files.slice(0, 1) })).to.deep.equal(['1024x1024 png']);
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
    const fewer = await example.generate('fewer', 'gpt-image', '--param', 'quality=low', '--param', 'n=3');
    expect(fewer).to.include({ status: 'succeeded', charged_credits: 20 });
    const refused = await example.generate('forbidden', 'gpt-image');
    expect(refused).to.include({ status: 'failed', charged_credits: 0 });
    expect(refused.error?.code).to.equal('CONTENT_REJECTED_INPUT');
  });

  it('makes no second request after an answer was lost, and charges nothing', async () => {
    const before = openai.server.posts;
    openai.server.plan({ type: 'lose-answer' }, { of: 'submit' });
    const lost = await example.generate('a lighthouse at dawn', 'gpt-image');
    expect(lost).to.include({ status: 'failed', charged_credits: 0 });
    expect(openai.server.posts - before).to.equal(1);
  });

  it('makes videos by jobs', async () => {
    const args = ['--param', 'duration_seconds=1', '--out', 'lighthouse.mp4'];
    const task = await example.generate('a lighthouse at dusk', 'studio-video', ...args);
    expect(task).to.include({ status: 'succeeded', charged_credits: 20 });
    expect(example.bytesOf(task).toString('latin1', 4, 8)).to.equal('ftyp');
    expect(studio.videos.jobs[0]?.fields).to.deep.equal({
      prompt: 'a lighthouse at dusk',
      seconds: '1',
      size: '832x480',
      fps: '16',
    });
  });
});
