// Goal: a client that sends any bytes as HTTP reads one whole answer in the envelope, with the right code and never a
// 5xx, and a refused request leaves nothing behind.
// Method: raw sockets against one server; the stores and the key are compared before and after each refusal.
import { expect } from 'chai';
import { errorCodesOf } from '../../../../apps/http/developer/openapi.js';
import { ROUTES } from '../../../../apps/http/developer/routes.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Owner } from '../../../fixtures/memory-stores.js';
import { isKeyFree, remains } from '../../../fixtures/remains.js';
import { type RequestFixture } from '../../../harness/request-fixture.js';
import { BODY, HTTP_VECTORS, type HttpVector } from '../../vectors/http-only.js';
import { exchange, parseAnswer } from './raw-socket.js';
import { RestHarness } from './rest-client.js';

const DEFAULT_HEADERS = [
  'Authorization: Bearer {credential}',
  'Idempotency-Key: raw',
  'Content-Type: application/json',
];

function toBytes(vector: HttpVector, { secrets, ids }: RequestFixture): Buffer {
  const { requestLine = 'POST /api/v1/developer/generations HTTP/1.1', headers = DEFAULT_HEADERS, framing } = vector;
  const body = vector.body ?? (requestLine.startsWith('GET ') ? '' : BODY);
  const content = Buffer.from(body as string);
  const lines = [
    requestLine,
    'Host: x',
    'Connection: close',
    ...(framing ?? [`Content-Length: ${content.byteLength}`]),
    ...headers,
  ];
  const head = lines
    .join('\r\n')
    .replaceAll('{credential}', secrets.get('owner') as string)
    .replaceAll('@own-generation', ids.get('own-generation') as string);
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), content]);
}

describe('REST answers any bytes of HTTP', () => {
  let rest: RestHarness;

  beforeEach(async () => {
    rest = await RestHarness.open();
  });
  afterEach(() => rest.close());

  for (const [topic, vectors] of Object.entries(HTTP_VECTORS)) {
    describe(topic, () => {
      for (const vector of vectors) {
        it(vector.name, async () => {
          const before = await remains(rest.harness.context);
          const answer = parseAnswer(await exchange(rest.port, toBytes(vector, rest.fixture)));
          const envelope = JSON.parse(answer.body) as JsonObject;
          expect(envelope['code'], answer.body).to.equal(vector.code);
          expect(answer.status).to.equal(vector.status);
          if (vector.says !== undefined) expect(envelope['message']).to.include(vector.says);
          expect(envelope['request_id']).to.match(/^[A-Za-z0-9._:-]{1,128}$/);
          for (const [name, value] of Object.entries(vector.answers ?? {}))
            expect(answer.headers.get(name), name).to.equal(value);
          if (vector.code === 'OK') return;
          expect(Object.keys(envelope)).to.deep.equal(['success', 'code', 'message', 'request_id']);
          expect(await remains(rest.harness.context), 'what a refusal leaves behind').to.deep.equal(before);
          const key = { ...(rest.fixture.owners.get('owner') as Owner), operation: 'create' as const, key: 'raw' };
          expect(await isKeyFree(rest.harness.context, key), 'the key is free').to.equal(true);
        });
      }
    });
  }

  it('survives clients that hang up in the middle of a body', async () => {
    const before = await remains(rest.harness.context);
    const bytes = toBytes({ name: '', status: 0, code: 'OK' }, rest.fixture);
    for (let cut = 1; cut < 40; cut += 7)
      await exchange(rest.port, bytes.subarray(0, bytes.byteLength - cut), { hangUp: true });
    expect((await fetch(`${rest.origin}/healthz`)).status).to.equal(200);
    expect(await remains(rest.harness.context)).to.deep.equal(before);
  });

  it('documents every code of its create vectors', () => {
    const create = ROUTES.find(({ operation }) => operation.operationId === 'createGeneration');
    const codes = create ? errorCodesOf(create) : [];
    for (const { code, name } of [...(HTTP_VECTORS['bodies'] ?? []), ...(HTTP_VECTORS['headers'] ?? [])]) {
      if (code !== 'OK') expect(codes, name).to.include(code);
    }
  });
});
