import { expect } from 'chai';
import { OpenAI } from 'openai';
import type { JsonObject } from '../../../core/json.js';
import { image } from '../../fixtures/images.js';
import { catalogOf } from '../../fixtures/models.js';
import { type ApiAnswer, OpenAiHarness, pictureNamed } from './openai-harness.js';

// Goal: n8n, Dify and LobeChat get pictures, although none of them can be run in these tests.
// Method: requests in the forms that their sources make, as read in November 2026, to a service in this process; of the
// answers is read what those sources read. LobeChat uses the library for Node, as this test does.

const NAMED = ['gpt-image-1', 'dall-e-3', 'sandbox-image'].map((name) => pictureNamed(name, '1024x1024', '1536x1024'));

describe('clients whose source was read', () => {
  let api: OpenAiHarness;
  let paid: number;
  beforeEach(async () => {
    paid = 10;
    api = await OpenAiHarness.open({}, { ports: { catalog: catalogOf(() => NAMED) } });
    await api.service.startWorker();
  });
  afterEach(async () => {
    await api.expectPaid(paid);
    await api.close();
  });

  const expectPictures = ({ status, body }: ApiAnswer, count = 1): void => {
    expect(status).to.equal(200);
    const data = body['data'] as unknown as readonly { readonly b64_json: string }[];
    expect(data.map(({ b64_json: text }) => text.slice(0, 5))).to.deep.equal(
      Array.from({ length: count }, () => 'iVBOR'),
    );
  };

  describe('n8n', () => {
    it('asks for base64, with the options of its form', async () => {
      const options = { quality: 'hd', size: '1024x1024', style: 'vivid', n: 2 };
      const asked = { prompt: 'a sea', model: 'sandbox-image', response_format: 'b64_json', ...options };
      paid = 20;
      expectPictures(await api.create(asked), 2);
    });

    it('names no format for a model with a name of OpenAI', async () => {
      expectPictures(await api.create({ prompt: 'a sea', model: 'gpt-image-1', quality: 'medium', size: '1536x1024' }));
    });

    it('asks for addresses', async () => {
      const { body } = await api.create({ prompt: 'a sea', model: 'dall-e-3', response_format: 'url' });
      expect(body).to.have.nested.property('data[0].url').that.matches(/^http/);
    });
  });

  describe('Dify', () => {
    it('sends only what differs from auto, and reads the numbers of tokens', async () => {
      const chosen = { quality: 'high', background: 'opaque', output_format: 'png', moderation: 'low' };
      const answer = await api.create({ model: 'gpt-image-1', prompt: 'a sea', ...chosen, n: 1 });
      expectPictures(answer);
      const { usage } = answer.body as { readonly usage: JsonObject };
      expect(usage).to.include({ total_tokens: 0, input_tokens: 0, output_tokens: 0 });
      expect(usage['input_tokens_details']).to.deep.equal({ text_tokens: 0, image_tokens: 0 });
    });
  });

  describe('LobeChat', () => {
    const client = (): OpenAI => new OpenAI({ baseURL: `${api.running.origin}/v1`, apiKey: api.secret() });
    const file = async (): Promise<File> =>
      new File([new Uint8Array(await image('png', 64, 64))], 'image.png', { type: 'image/png' });

    it('sends its parameters without a format, and reads base64', async () => {
      const params = { model: 'sandbox-image', n: 1, prompt: 'a sea', quality: 'high' as const, seed: 7 };
      const { data, usage } = await client().images.generate(params);
      expect(data?.[0]?.b64_json).to.match(/^iVBOR/);
      expect(usage).to.have.property('total_tokens', 0);
    });

    it('edits one picture and several with input_fidelity', async () => {
      const params = { model: 'gpt-image-1', n: 1, input_fidelity: 'high', prompt: 'a sea' } as const;
      const one = await client().images.edit({ ...params, image: await file() });
      const two = await client().images.edit({ ...params, image: [await file(), await file()] });
      for (const { data } of [one, two]) expect(data?.[0]?.b64_json).to.match(/^iVBOR/);
      expect((await api.generations()).map(({ references }) => references.length)).to.deep.equal([1, 2]);
      paid = 20;
    });
  });
});
