import { expect } from 'chai';
import { once } from 'node:events';
import { connect } from 'node:net';
import { csvLine } from '../../../../apps/http/render/credits.js';
import { renderTask, TASK_TEXTS } from '../../../../apps/http/render/generation.js';
import { CREDENTIAL_CACHE_MS } from '../../../../core/access/authenticate.js';
import type { Caller } from '../../../../core/access/credential.js';
import { createApp, createKey, revokeKey, suspendAccount } from '../../../../core/access/manage.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { until } from '../../../fixtures/clocks.js';
import { VIEWS } from '../../../fixtures/stored-records.js';
import { OAuthHarness } from '../../oauth/oauth-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { BASE, RestHarness, sendHttp, type serve } from '../host/rest-client.js';
import { forAllSync } from '../../../harness/for-all.js';

let rest: RestHarness;

/** Serves a new harness in which the accounts and generations of the fixture are. */
async function open(options?: Parameters<typeof serve>[1]): Promise<void> {
  rest = await RestHarness.open(options);
}

const close = () => rest.close();

/*
 * Goal: a refused client learns from the answer where it gets a token and what it lacks, and is not sent in circles.
 * Method: requests to the API of a whole service in this process, with credentials that are refused for each reason.
 */

const OTHER_APP = '0199f0d2-6d1c-7c4e-9a53-3f2b8e1d7a60';

describe('WWW-Authenticate of the API', () => {
  let service: OAuthHarness;
  let metadata: string;
  before(async () => {
    service = await OAuthHarness.open();
    metadata = `resource_metadata="${service.origin}/.well-known/oauth-protected-resource/api/v1/developer"`;
  });
  after(() => service.close());

  const challengeOf = async (credential: string | undefined, headers: Record<string, string> = {}): Promise<string> => {
    const response = await fetch(`${service.origin}/api/v1/developer/credits`, {
      headers: { ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }), ...headers },
    });
    return `${response.status} ${response.headers.get('www-authenticate')}`;
  };
  const key = async (scopes?: readonly string[]) => {
    const { context } = service.harness;
    const { appId } = await createApp(context, { accountId: service.person.accountId, name: 'an App' });
    return createKey(context, { appId, name: 'a key', ...(scopes === undefined ? {} : { scopes }) });
  };

  it('names no error where no credential was sent', async () => {
    expect(await challengeOf(undefined)).to.equal(`401 Bearer ${metadata}`);
  });

  it('names an invalid token', async () => {
    const { secret, key: created } = await key();
    await revokeKey(service.harness.context, created.keyId);
    for (const credential of [secret, 'svc_live_x', `svc_oauth_${'A'.repeat(43)}`, 'x'])
      expect(await challengeOf(credential)).to.equal(`401 Bearer error="invalid_token", ${metadata}`);
  });

  it('names the scope that is missing', async () => {
    const { secret } = await key(['uploads:write']);
    expect(await challengeOf(secret)).to.equal(
      `403 Bearer error="insufficient_scope", scope="credits:read", ${metadata}`,
    );
  });

  it('names no scope where another App is asked for: no scope would change that', async () => {
    const { secret } = await key();
    expect(await challengeOf(secret, { 'X-App-Id': OTHER_APP })).to.equal(`403 Bearer ${metadata}`);
  });

  it('is not on other answers', async () => {
    const { secret } = await key();
    expect(await challengeOf(secret)).to.equal('200 null');
  });

  it('names no metadata where no tokens are given out', async () => {
    const without = await OAuthHarness.open({ people: { hasOAuth: false } });
    const { headers } = await fetch(`${without.origin}/api/v1/developer/credits`);
    const document = await fetch(`${without.origin}/.well-known/oauth-protected-resource/api/v1/developer`);
    await without.close();
    expect(headers.get('www-authenticate')).to.equal('Bearer');
    expect(document.status).to.equal(404);
  });
});

/** A refusal shows the balance to a client that may read it, which saves a request, and to no other client. */
describe('a refusal for lack of credits', () => {
  before(() => open());
  after(close);

  for (const operation of ['createGeneration', 'estimateGeneration'] as const)
    for (const [as, told] of [
      ['poor', '25'],
      ['poor-writer', null],
    ] as const)
      it(`of ${operation} as ${as} has ${told ?? 'nothing'} in Darkroom-Credits-Available`, async () => {
        const { status, headers } = await sendHttp(rest.origin, {
          operation,
          credential: rest.fixture.secrets.get(as) ?? '',
          ...(operation === 'createGeneration' ? { key: as } : {}),
          body: { ...PICTURE, parameters: { size: '96x64', n: 3 } },
        });
        expect([status, headers.get('darkroom-credits-available')]).to.deep.equal([402, told]);
      });
});

// Goal: a client that prefers to wait gets its answer when the generation ends or the time is over, and nothing of its
// wait stays behind, however it ends.
// Method: the REST front on memory adapters; generations are ended and credentials revoked while requests wait, and
// clients go away.

describe('a request that prefers to wait', () => {
  let caller: Caller;

  beforeEach(async () => {
    await open({ limits: { idleTimeoutMs: 500, keepAliveTimeoutMs: 500 } });
    caller = await rest.harness.authenticator.authenticate(rest.fixture.secrets.get('owner'));
  });
  afterEach(close);

  const headers = (prefer: string, more: Record<string, string> = {}) => ({
    'Authorization': `Bearer ${rest.fixture.secrets.get('owner') ?? ''}`,
    'Content-Type': 'application/json',
    'Prefer': prefer,
    ...more,
  });
  const generationId = () => rest.fixture.ids.get('own-generation') ?? '';
  const look = (prefer: string, signal: AbortSignal | null = null) =>
    fetch(`${rest.origin}${BASE}/generations/${generationId()}`, { headers: headers(prefer), signal });
  const create = (prefer: string, key: string) =>
    fetch(`${rest.origin}${BASE}/generations`, {
      method: 'POST',
      headers: headers(prefer, { 'Idempotency-Key': key }),
      body: JSON.stringify(PICTURE),
    });
  const followed = () => rest.harness.context.generationWatch.followed;
  const waiting = () => until(() => followed() > 0);
  const cancel = (id: string) => cancelGeneration(rest.harness.context, caller, id);
  const statusOf = async (response: Response) =>
    ((await response.json()) as { readonly data: JsonObject }).data['status'];

  it('is answered when the generation ends, although its connection would be idle for too long', async () => {
    const answer = look('wait=60');
    await waiting();
    await new Promise((resolve) => rest.harness.context.clock.after(1_200, () => resolve(undefined)));
    await cancel(generationId());
    const response = await answer;
    expect([response.status, response.headers.get('preference-applied')]).to.deep.equal([200, 'wait=60']);
    expect(await statusOf(response)).to.equal('cancelled');
    expect(followed()).to.equal(0);
  });

  it('is answered with what there is when the time is over', async () => {
    const response = await look('respond-async, wait=1');
    expect([response.status, response.headers.get('preference-applied')]).to.deep.equal([200, 'wait=1']);
    expect(await statusOf(response)).to.equal('queued');
    expect(followed()).to.equal(0);
  });

  it('is answered at once for a generation that has ended, and for one that is not its own', async () => {
    await cancel(generationId());
    const response = await look('wait=60');
    expect([response.status, response.headers.get('preference-applied')]).to.deep.equal([200, 'wait=60']);
    const foreign = await fetch(
      `${rest.origin}${BASE}/generations/${rest.fixture.ids.get('foreign-generation') ?? ''}`,
      {
        headers: headers('wait=60'),
      },
    );
    expect([foreign.status, foreign.headers.get('preference-applied')]).to.deep.equal([404, null]);
    expect(followed()).to.equal(0);
  });

  it('is a create that is answered 202 with the end, as is its repetition', async () => {
    const answer = create('wait=60', 'k');
    await waiting();
    const { items } = await rest.harness.context.generations.list({ of: 'app', appId: caller.appId }, { limit: 1 });
    await cancel(items[0]?.generationId ?? '');
    for (const [response, replayed] of [
      [await answer, null],
      [await create('wait=60', 'k'), 'true'],
    ] as const) {
      expect([response.status, response.headers.get('preference-applied')]).to.deep.equal([202, 'wait=60']);
      expect(response.headers.get('idempotency-replayed')).to.equal(replayed);
      expect(response.headers.get('location')).to.be.a('string');
      expect(await statusOf(response)).to.equal('cancelled');
    }
  });

  it('waits for nothing where the preference is not understood, or nothing could end', async () => {
    for (const prefer of ['wait=0', 'wait=soon', 'respond-async']) {
      const response = await look(prefer);
      expect([response.status, response.headers.get('preference-applied')]).to.deep.equal([200, null]);
    }
    const models = await fetch(`${rest.origin}${BASE}/credits`, { headers: headers('wait=60') });
    expect([models.status, models.headers.get('preference-applied')]).to.deep.equal([200, null]);
  });

  for (const [what, end] of [
    ['its account is suspended', () => suspendAccount(rest.harness.context, caller.accountId)],
    ['its credential is revoked', () => revokeKey(rest.harness.context, caller.credentialId)],
  ] as const)
    it(`ends when ${what}`, async () => {
      const answer = look('wait=60');
      await waiting();
      await end();
      rest.harness.clock.advance(CREDENTIAL_CACHE_MS);
      const response = await answer;
      expect(response.status).to.equal(401);
      expect(((await response.json()) as JsonObject)['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect(followed()).to.equal(0);
    });

  it('is refused for a create that its provider delays, if its credential is revoked meanwhile', async () => {
    const { generations, providers } = rest.harness.context;
    const { items: before } = await generations.list({ of: 'app', appId: caller.appId }, { limit: 10 });
    let isDelayed = false;
    const acceptanceDelayMs = () => {
      isDelayed = true;
      return 300;
    };
    Object.assign(providers.find('canned') as object, { acceptanceDelayMs });
    const answer = create('wait=1', 'delayed');
    await until(() => isDelayed);
    await revokeKey(rest.harness.context, caller.credentialId);
    rest.harness.clock.advance(CREDENTIAL_CACHE_MS);
    const response = await answer;
    expect([response.status, ((await response.json()) as JsonObject)['code']]).to.deep.equal([
      401,
      'DEVELOPER_TOKEN_REVOKED',
    ]);
    const { items: after } = await generations.list({ of: 'app', appId: caller.appId }, { limit: 10 });
    expect(after).to.deep.equal(before);
  });

  it('ends when its client goes away', async () => {
    const gone = new AbortController();
    const answer = look('wait=60', gone.signal).catch((error: unknown) => error);
    await waiting();
    gone.abort();
    await answer;
    await until(() => followed() === 0);
  });

  it('is answered at once when the process is to stop', async () => {
    const answer = look('wait=60');
    await waiting();
    const closed = rest.server.close(30_000);
    const response = await answer;
    expect([response.status, response.headers.get('connection')]).to.deep.equal([200, 'close']);
    expect(await statusOf(response)).to.equal('queued');
    await closed;
  });

  it('leaves its connection to the next request, which may be idle for no longer than any other', async () => {
    const port = Number(new URL(rest.origin).port);
    const socket = connect(port, '127.0.0.1');
    const text = (prefer: string) =>
      `GET ${BASE}/generations/${generationId()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rest.fixture.secrets.get('owner') ?? ''}\r\n${prefer}\r\n\r\n`;
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    socket.write(text('Prefer: wait=1'));
    await until(() => received.includes('"queued"'));
    await once(socket, 'close');
  });
});

// Goal: the text of a task that is kept with its record is what the task would be rendered as now.
// Method: views of a few records in random order, each compared with a new rendering; addresses and poll times change
// between them.

describe('the text of a task', () => {
  it('is that of a new rendering, whatever was shown before', () => {
    forAllSync(100, [VIEWS], (views) => {
      for (const view of views) expect(TASK_TEXTS.of(view)).to.equal(JSON.stringify(renderTask(view)));
    });
  });
});

// Goal: usage comes as CSV to clients that prefer it and to nobody else, with all rows, and no text in it is a formula.
// Method: requests to a started server with different Accept headers; lines of CSV one by one.

const NAMES = 'generations,failed,reserved_credits,charged_credits,released_credits';

describe('GET /usage as CSV', () => {
  before(() => open());
  after(close);

  const ask = (query: string, accept: string, method = 'GET') =>
    fetch(`${rest.origin}/api/v1/developer/usage${query}`, {
      method,
      headers: { Authorization: `Bearer ${rest.fixture.secrets.get('owner') ?? ''}`, Accept: accept },
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
    await sendHttp(rest.origin, { ...other, credential: rest.fixture.secrets.get('other-app') ?? '' });
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
    await sendHttp(rest.origin, { ...traced, credential: rest.fixture.secrets.get('owner') ?? '' });
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
