// Goal: the log at `info` has one line for each generation that was created and for each request that was refused, with
// the code, the field and the ids that it concerns, and none for reads.
// Method: one server with a log kept in memory; whole lines are compared, except for times and request ids.
import { expect } from 'chai';
import type { JsonObject } from '../../../../core/json.js';
import type { FrontRequest } from '../../vectors/play.js';
import { PICTURE, PNG_UPLOAD } from '../../vectors/vector.js';
import { BASE, RestHarness, sendHttp } from './rest-client.js';
import { keptLog } from '../../../harness/kept-log.js';

const NOBODYS = '0198C0DE-0000-7000-8000-000000000000';

describe('the log of the REST front', () => {
  let rest: RestHarness;
  let lines: JsonObject[];

  beforeEach(async () => {
    const kept = keptLog();
    ({ lines } = kept);
    rest = await RestHarness.open({ logger: kept.logger });
  });
  afterEach(() => rest.close());

  const send = (request: FrontRequest) => sendHttp(rest.origin, { credential: rest.credential, ...request });
  const told = () =>
    lines.map(
      ({ msg, level, route, status, code, field, generationId, uploadId }) =>
        JSON.parse(JSON.stringify({ msg, level, route, status, code, field, generationId, uploadId })) as JsonObject,
    );

  it('has one line for a create, with the id of the generation and the caller', async () => {
    const first = await send({ operation: 'createGeneration', key: 'k', body: PICTURE });
    await send({ operation: 'createGeneration', key: 'k', body: PICTURE });
    const generationId = first.data?.['generation_id'] as string;
    expect(told()).to.deep.equal([
      { msg: 'request', level: 30, route: `${BASE}/generations`, status: 202, generationId },
    ]);
    const { accountId } = rest.fixture.owners.get('owner') as { accountId: string };
    expect(lines[0]).to.include({ accountId, requestId: first.envelope['request_id'] });
  });

  it('has no line for successful reads, estimates, cancellations and uploads', async () => {
    const id = rest.fixture.ids.get('own-generation') as string;
    const answers = [
      await send({ operation: 'getCredits' }),
      await send({ operation: 'listModels' }),
      await send({ operation: 'getGeneration', id }),
      await send({ operation: 'estimateGeneration', body: PICTURE }),
      await send({ operation: 'cancelGeneration', id }),
      await send({ operation: 'prepareUpload', key: 'p', body: { ...PNG_UPLOAD, byte_size: 100 } }),
    ];
    expect(answers.map(({ code }) => code)).to.deep.equal(Array.from({ length: 6 }, () => 'OK'));
    expect(told()).to.deep.equal([]);
  });

  it('shows a field that a client named without control or direction characters', async () => {
    await send({ operation: 'createGeneration', key: 'a', body: { ...PICTURE, 'a\u009b31m\u202eb\u001b\u2028c': 1 } });
    expect(told().map(({ field }) => field)).to.deep.equal(['/a 31m b  c']);
  });

  it('says why each request was refused, and what it concerned', async () => {
    const poor = rest.fixture.secrets.get('poor') as string;
    await send({ operation: 'createGeneration', key: 'a', body: { ...PICTURE, parameters: { size: '1x1' } } });
    await send({ operation: 'createGeneration', key: 'b', body: { ...PICTURE, ['x'.repeat(1_000)]: 1 } });
    await send({
      operation: 'createGeneration',
      credential: poor,
      key: 'c',
      body: { ...PICTURE, parameters: { size: '96x64', n: 4 } },
    });
    await send({ operation: 'createGeneration', body: PICTURE });
    await send({ operation: 'getGeneration', id: NOBODYS });
    await send({ operation: 'getGeneration', id: 'a-prompt-by-mistake' });
    await send({ operation: 'completeUpload', key: 'd', id: NOBODYS });
    await fetch(`${rest.origin}/nowhere`);
    const create = { msg: 'request', level: 30, route: `${BASE}/generations` };
    const get = {
      msg: 'request',
      level: 30,
      route: `${BASE}/generations/:generation_id`,
      status: 404,
      code: 'TASK_NOT_FOUND',
    };
    expect(told()).to.deep.equal([
      { ...create, status: 422, code: 'FIELD_INVALID', field: '/parameters/size' },
      { ...create, status: 422, code: 'FIELD_INVALID', field: `/${'x'.repeat(255)}` },
      { ...create, status: 402, code: 'CREDITS_INSUFFICIENT' },
      { ...create, status: 400, code: 'IDEMPOTENCY_KEY_REQUIRED' },
      { ...get, generationId: NOBODYS.toLowerCase() },
      get,
      {
        msg: 'request',
        level: 30,
        route: `${BASE}/uploads/:upload_id/complete`,
        status: 422,
        code: 'FIELD_INVALID',
        field: '/upload_id',
        uploadId: NOBODYS.toLowerCase(),
      },
      { msg: 'request', level: 30, status: 404, code: 'ROUTE_NOT_FOUND' },
    ]);
    expect(JSON.stringify(lines)).to.not.include('a-prompt-by-mistake').and.not.include(PICTURE.prompt);
  });
});
