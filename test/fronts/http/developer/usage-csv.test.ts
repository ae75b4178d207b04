// Goal: usage comes as CSV to clients that prefer it and to nobody else, with all rows, and no text in it is a formula.
// Method: requests to a started server with different Accept headers; lines of CSV one by one.
import { expect } from 'chai';
import { csvLine } from '../../../../apps/http/render/credits.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { type RunningServer, sendHttp, serve } from '../host/rest-client.js';

const NAMES = 'generations,failed,reserved_credits,charged_credits,released_credits';

describe('GET /usage as CSV', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;

  before(async () => {
    harness = await openServiceHarness();
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness);
  });
  after(async () => {
    await running.server.close(100);
    await harness.close();
  });

  const ask = (query: string, accept: string, method = 'GET') =>
    fetch(`${running.origin}/api/v1/developer/usage${query}`, {
      method,
      headers: { Authorization: `Bearer ${fixture.secrets.get('owner') ?? ''}`, Accept: accept },
    });

  for (const accept of ['text/csv', 'application/json;q=0.5, text/csv', 'TEXT/CSV; header=present, */*;q=0.1'])
    it(`is sent for Accept: ${accept}`, async () => {
      const answer = await ask('?by=model&limit=1', accept);
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('content-type')).to.equal('text/csv; charset=utf-8; header=present');
      expect(answer.headers.get('content-disposition')).to.match(/^attachment; filename="usage-[\d-]+\.csv"$/);
      expect(answer.headers.get('vary')).to.include('Accept');
      expect(await answer.text()).to.equal(`model_key,${NAMES}\r\npicture,3,0,30,0,30\r\n`);
    });

  for (const accept of [
    '*/*',
    'text/*',
    'application/json',
    'application/json, text/csv',
    'text/csv;q=0',
    'text/csv;q=x',
  ])
    it(`is not sent for Accept: ${accept}`, async () => {
      const answer = await ask('', accept);
      expect(answer.headers.get('content-type')).to.match(/^application\/json/);
      expect(answer.headers.get('vary')).to.include('Accept');
      expect(await answer.json()).to.have.property('code', 'OK');
    });

  it('names the keys, of which all come on one page', async () => {
    const other = { operation: 'createGeneration', key: 'other', body: PICTURE } as const;
    await sendHttp(running.origin, { ...other, credential: fixture.secrets.get('other-app') ?? '' });
    const lines = (await (await ask('?by=key&limit=1', 'text/csv')).text()).split('\r\n');
    expect(lines[0]).to.equal(`credential_id,credential_name,${NAMES}`);
    expect(lines).to.have.length(4);
  });

  it('has a line for each trace id, and an empty name for what has none', async () => {
    const traced = {
      operation: 'createGeneration',
      key: 'traced',
      body: { ...PICTURE, client_trace_id: '-1' },
    } as const;
    await sendHttp(running.origin, { ...traced, credential: fixture.secrets.get('owner') ?? '' });
    const [names, none, one, ...more] = (await (await ask('?by=client_trace_id', 'text/csv')).text()).split('\r\n');
    expect([names, none?.split(',')[0], more]).to.deep.equal([`client_trace_id,${NAMES}`, '', ['']]);
    expect(one).to.equal("'-1,1,0,10,0,0");
  });

  it('refuses in JSON, and sends no body for HEAD', async () => {
    const refused = await ask('?by=week', 'text/csv');
    expect([refused.status, await refused.json()]).to.have.nested.property('[1].code', 'FIELD_INVALID');
    const head = await ask('', 'text/csv', 'HEAD');
    expect([head.status, await head.text()]).to.deep.equal([200, '']);
  });
});

describe('csvLine', () => {
  for (const [value, field] of [
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
    ['\r=1', '"\'\r=1"'],
    [-1, '-1'],
    [undefined, ''],
  ] as const)
    it(`writes ${JSON.stringify(value)}`, () => {
      expect(csvLine([value, 2])).to.equal(`${field},2\r\n`);
    });
});
