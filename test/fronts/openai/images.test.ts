import { expect } from 'chai';
import type { JsonObject } from '../../../core/json.js';
import { GENERATIONS, OpenAiHarness, PICTURE, SHORT_WAITS } from './openai-harness.js';

// Goal: the answer to a request for pictures has what clients of this API read, in the form that they asked for.
// Method: requests to the front over a whole service in this process, whose provider delivers one known picture.

let api: OpenAiHarness;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ZERO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
};

interface Entry {
  readonly b64_json?: string;
  readonly url?: string;
}

const entriesOf = ({ data }: JsonObject) => data as unknown as readonly Entry[];

/** The stored bytes of each output of the newest generation. */
async function storedPictures(): Promise<string[]> {
  const generation = (await api.generations()).at(-1);
  const pictures: string[] = [];
  for (const { objectKey } of generation?.outputs ?? []) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await api.context.objects.read(objectKey)) ?? []) chunks.push(chunk);
    pictures.push(Buffer.concat(chunks).toString('base64'));
  }
  return pictures;
}

describe('the answer to a request for pictures', () => {
  before(async () => {
    api = await OpenAiHarness.open({ openAiWaits: SHORT_WAITS });
    await api.service.startWorker();
  });
  after(() => api.close());

  it('has each picture as base64, and what it cost', async () => {
    const { status, headers, body } = await api.create({ ...PICTURE, n: 3 });
    expect(status).to.equal(200);
    const { created, data, darkroom, ...rest } = body;
    expect(created).to.be.closeTo(Date.now() / 1_000, 5);
    expect(rest).to.deep.equal({ size: '96x64', usage: ZERO_USAGE });
    expect(darkroom).to.have.property('charged_credits', 30);
    expect((darkroom as JsonObject)['generation_id']).to.match(UUID);
    expect(data).to.deep.equal((await storedPictures()).map((b64_json) => ({ b64_json })));
    expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(headers.get('darkroom-credits-charged')).to.equal('30');
    expect(headers.get('darkroom-generation-id')).to.equal((darkroom as JsonObject)['generation_id']);
    expect(headers.get('x-request-id')).to.match(/./);
  });

  it('has addresses where they are asked for, and nothing else in an entry', async () => {
    const { body } = await api.create({ ...PICTURE, response_format: 'url', n: 2 });
    const [stored] = await storedPictures();
    expect(entriesOf(body)).to.have.length(2);
    for (const entry of entriesOf(body)) {
      expect(Object.keys(entry)).to.deep.equal(['url']);
      const picture = await fetch(entry.url ?? '', { redirect: 'error' });
      expect(Buffer.from(await picture.arrayBuffer()).toString('base64')).to.equal(stored);
    }
  });

  it('is a stream of one event for each picture', async () => {
    const response = await api.fetch(GENERATIONS, {
      method: 'POST',
      body: JSON.stringify({ ...PICTURE, n: 2, stream: true }),
    });
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('event: '));
    const pictures = await storedPictures();
    expect(events).to.have.length(2);
    for (const [index, event] of events.entries()) {
      const [, data = ''] = /^event: image_generation\.completed\ndata: (.*)$/.exec(event) ?? [];
      const { b64_json, created_at, type, usage, size } = JSON.parse(data) as JsonObject;
      expect(b64_json).to.equal(pictures[index]);
      expect([type, size, usage]).to.deep.equal(['image_generation.completed', '96x64', ZERO_USAGE]);
      expect(created_at).to.be.closeTo(Date.now() / 1_000, 5);
    }
  });
});
