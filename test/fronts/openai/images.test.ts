import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { MemoryObjectStore } from '../../adapters/memory/object-store.js';
import { ShiftedClock } from '../../fixtures/clocks.js';
import { GENERATIONS, OpenAiHarness, PICTURE, SHORT_WAITS, UNREADABLE } from './openai-harness.js';

// Goal: the answer to a request for pictures has what clients of this API read, in the form that they asked for.
// Method: requests to the front over a whole service in this process, whose provider delivers one known picture.

let api: OpenAiHarness;
let objects: FaultyObjects;

/** An object store of which only the worker can read, while it has a fault. */
class FaultyObjects extends MemoryObjectStore {
  fault: 'gone' | 'away' | 'away at the first piece' | 'shorter' | undefined;

  override async read(...of: Parameters<MemoryObjectStore['read']>): ReturnType<MemoryObjectStore['read']> {
    const bytes = await super.read(...of);
    if (this.fault === undefined) return bytes;
    // The worker reads its output before it is one.
    const outputs = (await api.generations()).flatMap((generation) => generation.outputs);
    if (bytes === null || !outputs.some(({ objectKey }) => objectKey === of[0])) return bytes;
    if (this.fault === 'gone') return null;
    if (this.fault === 'away') throw new StoreUnavailable('no connection');
    return this.fault === 'shorter' ? withoutEnd(bytes) : UNREADABLE;
  }
}

async function* withoutEnd(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) yield piece.subarray(0, -1);
}

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
    objects = new FaultyObjects({ clock: new ShiftedClock() });
    api = await OpenAiHarness.open({ openAiWaits: { ...SHORT_WAITS, silentMs: 60_000 } }, { ports: { objects } });
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

  for (const [fault, status, code, retryAfter] of [
    ['gone', 404, 'not_found', null],
    ['away', 503, 'service_unavailable', '2'],
    ['away at the first piece', 503, 'service_unavailable', '2'],
  ] as const) {
    const prompt = `a lighthouse that is ${fault}`;
    for (const stream of [false, true])
      it(`is the reason where the store is ${fault}, and the pictures come later${stream ? ', as a stream' : ''}`, async () => {
        const request: JsonObject = { ...PICTURE, prompt, n: 2, stream };
        const before = (await api.generations()).length;
        objects.fault = fault;
        for (let tries = 1; tries <= 2; tries += 1) {
          const response = await api.fetch(GENERATIONS, { method: 'POST', body: JSON.stringify(request) });
          const text = await response.text();
          const [, event = text] = /\n\nevent: error\ndata: (.*)\n\n$/.exec(text) ?? [];
          expect(JSON.parse(event)).to.have.nested.property('error.code', code);
          expect(response.status).to.equal(stream ? 200 : status);
          if (!stream) expect(response.headers.get('retry-after')).to.equal(retryAfter);
        }
        objects.fault = undefined;
        const again = await api.fetch(GENERATIONS, { method: 'POST', body: JSON.stringify(request) });
        const text = await again.text();
        for (const picture of await storedPictures()) expect(text).to.include(`"b64_json":"${picture}"`);
        expect(await api.generations()).to.have.length(before + 1);
      });
  }

  it('is cut, and not taken for delivered, where a stored picture is shorter than it was', async () => {
    const request: JsonObject = { ...PICTURE, prompt: 'a shorter lighthouse' };
    objects.fault = 'shorter';
    expect(await api.create(request).catch(() => 'cut')).to.equal('cut');
    objects.fault = undefined;
    const before = (await api.generations()).length;
    expect(entriesOf((await api.create(request)).body)).to.have.length(1);
    expect(await api.generations()).to.have.length(before);
  });
});
