// Goal: the examples of the OpenAPI document work when copied, for every operation, and the answers match the document
// and contain nothing else.
// Method: the document that the started program serves. Each operation is sent with all of its examples and with the required
// ones alone; only ids are taken from earlier answers, and every answer is held to its schema, closed to other fields.
import { expect } from 'chai';
import { SCOPES } from '../../core/access/credential.js';
import type { Json, JsonObject } from '../../core/json.js';
import { readEvents } from '../faults/clients/stream-follower.js';
import { sha256Of } from '../fixtures/sha256.js';
import { expectConformity, expectEvent } from '../fronts/http/developer/conformity.js';
import { textOf } from '../history/values.js';
import { LiveService } from './live-service.js';

/** The file that the examples of uploads are of. */
const FILE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEUUPHiReLaHAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAG0lEQVRYw+3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAEZszF2AAAAAElFTkSuQmCC',
  'base64',
);

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly JsonObject[];
  readonly body: JsonObject | undefined;
}

type Which = 'all' | 'required';
type Ids = Readonly<Record<string, string>>;

describe('the examples of the OpenAPI document', function suite() {
  this.timeout(120_000);
  let service: LiveService;
  let secret: string;
  let operations: ReadonlyMap<string, Operation>;
  const sent = new Set<string>();

  before(async () => {
    service = await LiveService.start();
    ({ secret } = await service.tenant(1_000, SCOPES));
    operations = operationsOf((await (await fetch(`${service.url}/openapi.json`)).json()) as JsonObject);
  });
  after(() => service.remove());

  /** The request that the document describes by its examples, and by these ids. */
  function request(operationId: string, ids: Ids, which: Which, more: Ids = {}): Promise<Response> {
    const operation = operations.get(operationId);
    if (operation === undefined) throw new Error(`The document has no operation ${operationId}.`);
    const { method, path, parameters, body } = operation;
    const url = new URL(service.url + path);
    const headers: Record<string, string> = { Authorization: `Bearer ${secret}`, ...more };
    for (const parameter of parameters) {
      const {
        name,
        in: place,
        example,
        required,
      } = parameter as { name: string; in: string; example?: Json; required: boolean };
      const value = example ?? (place === 'path' ? ids[name] : undefined);
      if (required) expect(value, `${operationId} ${name}`).not.to.equal(undefined);
      if (value === undefined || (!required && which === 'required')) continue;
      if (place === 'path') url.pathname = url.pathname.replace(encodeURI(`{${name}}`), textOf(value));
      else if (place === 'query') url.searchParams.set(name, textOf(value));
      else headers[name] = textOf(value);
    }
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    sent.add(operationId);
    return fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  }

  /** Its answer, which is a success and conforms. */
  async function answered(operationId: string, ids: Ids = {}, which: Which = 'all'): Promise<JsonObject> {
    const response = await request(operationId, ids, which);
    const envelope = (await response.json()) as JsonObject;
    expect(response.status, `${operationId}: ${JSON.stringify(envelope)}`).to.be.within(200, 299);
    expectConformity(operationId, { status: response.status, envelope, headers: response.headers });
    return envelope['data'] as JsonObject;
  }

  async function both(operationId: string, ids: Ids = {}): Promise<void> {
    for (const which of ['all', 'required'] as const) await answered(operationId, ids, which);
  }

  async function streamed(operationId: string, ids: Ids, more: Ids): Promise<void> {
    const response = await request(operationId, ids, 'all', more);
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    for await (const { id, data } of readEvents(response.body ?? neverUndefined(operationId), Date.now)) {
      expect(id).not.to.equal('');
      expectEvent(data);
      if (data['type'] === 'ended') break;
    }
  }

  it('of the catalog and of uploads work', async () => {
    await both('listModels');
    await both('getModel');
    const { byte_size: byteSize, sha256 } = operations.get('prepareUpload')?.body ?? {};
    expect([byteSize, sha256]).to.deep.equal([FILE.byteLength, sha256Of(FILE)]);
    const upload = await answered('prepareUpload');
    const headers = upload['required_headers'] as Record<string, string>;
    const put = await fetch(upload['upload_url'] as string, { method: 'PUT', headers, body: FILE });
    expect(put.status).to.equal(200);
    const ids = idsIn(upload);
    await both('completeUpload', ids);
    await both('getUpload', ids);
    await answered('deleteUpload', ids);
  });

  it('of generations, of what they cost and of webhooks work', async () => {
    const webhook = idsIn(await answered('createWebhook'));
    await answered('rotateWebhookSecret', webhook);
    // This secret signs the messages to the URL in the example of a create.
    await answered('rotateWebhookSecret', { webhook_id: 'default' });
    const test = await answered('testWebhook', webhook);
    await both('getWebhook', webhook);
    await both('listWebhooks');
    await answered('estimateGeneration');
    // Its example waits for the end.
    const created = await answered('createGeneration');
    expect(created['status']).to.equal('succeeded');
    const generation = idsIn(created);
    await both('getGeneration', generation);
    await both('getThumbnails', generation);
    await both('listGenerations');
    await streamed('watchGeneration', generation, {});
    await both('getCredits');
    await both('listCreditEntries');
    await both('getUsage');
    await answered('cancelGeneration', generation);
    const [event] = await eventsOf(await request('watchGeneration', generation, 'all'), 1);
    await streamed('watchEvents', {}, { 'Last-Event-ID': `0_${generation['generation_id']}_${event?.id}` });

    await both('listWebhookDeliveries', webhook);
    const { deliveries } = (await answered('listWebhookDeliveries', webhook, 'required')) as {
      deliveries: JsonObject[];
    };
    expect(deliveries).to.have.length(2);
    expect(deliveries[1]).to.include({ delivery_id: test['delivery_id'] });
    await answered('replayWebhookDelivery', { ...webhook, ...idsIn(deliveries[0] ?? {}) });
    await answered('replayWebhookDeliveries', webhook);
    await answered('updateWebhook', webhook);
    await answered('deleteWebhook', webhook);
    await answered('deleteGeneration', generation);
  });

  it('are there for every operation', () => {
    expect([...sent].sort()).to.deep.equal([...operations.keys()].sort());
  });
});

function operationsOf({ paths, components }: JsonObject): ReadonlyMap<string, Operation> {
  const known = (components as { parameters: Record<string, JsonObject> }).parameters;
  const resolved = (parameter: JsonObject): JsonObject =>
    known[textOf(parameter['$ref']).split('/').at(-1) ?? ''] ?? parameter;
  const found = new Map<string, Operation>();
  for (const [path, item] of Object.entries(paths as Record<string, Record<string, JsonObject>>))
    for (const [method, { operationId, parameters, requestBody }] of Object.entries(item)) {
      const body = (requestBody as { content: Record<string, { example: JsonObject }> } | undefined)?.content[
        'application/json'
      ];
      if (requestBody !== undefined) expect(body?.example, operationId as string).to.be.an('object');
      found.set(operationId as string, {
        method: method.toUpperCase(),
        path,
        parameters: (parameters as JsonObject[]).map(resolved),
        body: body?.example,
      });
    }
  return found;
}

function idsIn(data: JsonObject): Ids {
  return Object.fromEntries(
    Object.entries(data).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

async function eventsOf(response: Response, count: number): Promise<{ readonly id: string }[]> {
  const found: { readonly id: string }[] = [];
  for await (const event of readEvents(response.body ?? neverUndefined('watchGeneration'), Date.now)) {
    found.push(event);
    if (found.length === count) break;
  }
  return found;
}

function neverUndefined(operationId: string): never {
  throw new Error(`${operationId} was answered without a body.`);
}
