/*
 * Goal: the fake answers as OpenAI does, and the provider asks as OpenAI's own client does.
 * Method: the official client of OpenAI for Node, which never retries here, against the fake; what the fake received of it is held
 * against what it received of the provider.
 */
import { expect } from 'chai';
import { OpenAI, APIError, toFile } from 'openai';
import { WANTED } from '../../../contracts/provider.contract.js';
import { OpenAiFake } from '../../../providers/fakes/openai-fake.js';
import { file, openAiAt, task, video } from './opened-openai.js';

const KEY = 'sk-test';
const PNG = Buffer.from('the bytes of a picture');

describe('the official client of OpenAI', () => {
  let fake: OpenAiFake;
  let client: OpenAI;
  beforeEach(async () => {
    fake = await OpenAiFake.open('openai', KEY);
    client = new OpenAI({ apiKey: KEY, baseURL: fake.base, maxRetries: 0 });
  });
  afterEach(() => fake.close());

  it('reads the answer to a task for pictures, and sends the same', async () => {
    const {
      data = [],
      usage,
      output_format: format,
    } = await client.images.generate({
      model: 'gpt-image-2',
      prompt: 'a lighthouse',
      n: 2,
      size: '1024x1024',
      output_format: 'webp',
    });
    expect(data.map(({ b64_json: base64 = '' }) => Buffer.from(base64, 'base64').byteLength > 0)).to.deep.equal([
      true,
      true,
    ]);
    expect([usage?.input_tokens, usage?.output_tokens, format]).to.deep.equal([44, 1_056, 'webp']);
    const provider = openAiAt(fake.base, { api_key: KEY });
    const parameters = { n: 2, size: '1024x1024', output_format: 'webp' };
    expect(await provider.submit(task({ parameters }), WANTED)).to.have.property('accepted', true);
    await provider.close();
    const [theirs, ours] = fake.images.taken;
    expect(ours).to.deep.equal(theirs);
  });

  it('reads the answer to an edit, and sends the same', async () => {
    const image = await Promise.all(
      [1, 2].map((number) => toFile(PNG, `reference-${number}.png`, { type: 'image/png' })),
    );
    const { data = [] } = await client.images.edit({ model: 'gpt-image-2', prompt: 'a lighthouse', image });
    expect(data).to.have.length(1);
    const provider = openAiAt(fake.base, { api_key: KEY });
    await provider.submit(task({ parameters: {}, references: [file(PNG), file(PNG)] }), WANTED);
    await provider.close();
    const [theirs, ours] = fake.images.taken;
    expect(ours).to.deep.equal(theirs);
  });

  it('reads a job from its beginning to its video, and sends the same', async () => {
    const input = await toFile(PNG, 'reference-1.png', { type: 'image/png' });
    const job = await client.videos.create({
      model: 'sora-2',
      prompt: 'a lighthouse',
      seconds: '4',
      size: '1280x720',
      input_reference: input,
    });
    expect(job.status).to.equal('queued');
    expect(await client.videos.retrieve(job.id)).to.include({ status: 'in_progress', progress: 40 });
    expect(await client.videos.retrieve(job.id)).to.include({ status: 'completed', progress: 100 });
    const content = await client.videos.downloadContent(job.id);
    expect((await content.arrayBuffer()).byteLength).to.be.greaterThan(0);
    expect(await client.videos.delete(job.id)).to.deep.include({ id: job.id, deleted: true });
    const provider = openAiAt(fake.base, { api_key: KEY });
    const settings = { api: 'video', model: 'sora-2' };
    const parameters = { duration_seconds: 4, size: '1280x720' };
    await provider.submit(video({ settings, parameters, references: [file(PNG)] }), WANTED);
    await provider.close();
    const [theirs, ours] = fake.videos.jobs;
    expect([ours?.fields, ours?.files]).to.deep.equal([theirs?.fields, theirs?.files]);
  });

  it('reads the errors, and the list of models', async () => {
    const errorOf = (prompt: string, model = 'gpt-image-2', by = client) =>
      by.images.generate({ model, prompt }).then(
        () => undefined,
        (error: unknown) => (error instanceof APIError ? [error.status, error.code, error.type] : error),
      );
    expect(await errorOf('forbidden')).to.deep.equal([400, 'moderation_blocked', 'image_generation_user_error']);
    expect(await errorOf('a lighthouse', 'gpt-image-9')).to.deep.equal([
      404,
      'model_not_found',
      'invalid_request_error',
    ]);
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL: fake.base, maxRetries: 0 });
    expect(await errorOf('a lighthouse', 'gpt-image-2', stranger)).to.deep.equal([
      401,
      'invalid_api_key',
      'invalid_request_error',
    ]);
    expect((await client.models.list()).data.map(({ id }) => id)).to.deep.equal(['gpt-image-2']);
  });
});
