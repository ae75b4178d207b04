import { expect } from 'chai';
import type { JsonObject } from '../../../core/json.js';
import { catalogOf } from '../../fixtures/models.js';
import { OpenAiHarness, pictureNamed } from './openai-harness.js';
import { OPEN_WEBUI, readRecording, type RecordedRequest } from './recorded-requests.js';

// Goal: Open WebUI, as it is, gets pictures and edits, with base64 and with addresses, and shows why it got none.
// Method: the requests that Open WebUI itself has sent to the program, byte for byte, to a service in this process; of the
// answers is read what Open WebUI reads.

const SMALL_PNG = /^iVBORw0KGgo/;
const { client, requests } = readRecording(OPEN_WEBUI);

describe(`the recorded requests of ${client}`, () => {
  let api: OpenAiHarness;
  before(async () => {
    const named = ['sandbox-image', 'gpt-image-1'].map((name) => pictureNamed(name, '512x512'));
    api = await OpenAiHarness.open({}, { ports: { catalog: catalogOf(() => named) } });
    await api.service.startWorker();
  });
  after(() => api.close());

  const headersOf = ({ headers }: RecordedRequest): Record<string, string> =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace('KEY', api.secret())]));

  function replay(request: RecordedRequest, path = request.path): Promise<Response> {
    const { method, text, base64 } = request;
    const body = base64 === undefined ? text : Buffer.from(base64, 'base64');
    return fetch(api.running.origin + path, {
      method,
      headers: headersOf(request),
      ...(body === undefined ? {} : { body }),
    });
  }

  /** It takes an address where an entry has one, and fetches it as it has fetched one of the same origin. */
  async function picturesOf(answer: Response): Promise<string[]> {
    const { data } = (await answer.json()) as { readonly data: readonly JsonObject[] };
    const fetched = requests.find(({ method }) => method === 'GET') as RecordedRequest;
    return Promise.all(
      data.map(async ({ url, b64_json: base64 }) => {
        if (typeof url !== 'string') return base64 as string;
        const { pathname, search } = new URL(url);
        const file = await replay(fetched, pathname + search);
        expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
        return Buffer.from(await file.arrayBuffer()).toString('base64');
      }),
    );
  }

  let paid = 0;
  for (const request of requests.filter(({ method }) => method === 'POST'))
    it(`get ${request.during}`, async () => {
      const answer = await replay(request);
      expect(answer.status).to.equal(200);
      const pictures = await picturesOf(answer);
      for (const picture of pictures) expect(picture).to.match(SMALL_PNG);
      const [made] = (await api.generations()).toReversed();
      expect([pictures.length, made?.parameters['n']]).to.deep.equal([made?.outputs.length, pictures.length]);
      paid += 10 * pictures.length;
      await api.expectPaid(paid);
    });

  it('show the code of an error, which Open WebUI takes from the reason phrase', async () => {
    const [request] = requests as readonly [RecordedRequest];
    const text = (request.text ?? '').replace('sandbox-image', 'another');
    const { status, statusText } = await replay({ ...request, text });
    expect([status, statusText]).to.deep.equal([404, 'model_not_found']);
    await api.expectPaid(paid);
  });
});
