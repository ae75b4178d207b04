// Goal: a client that prefers to wait gets its answer when the generation ends or the time is over, and nothing of its
// wait stays behind, however it ends.
// Method: the REST front on memory adapters; generations are ended and credentials revoked while requests wait, and
// clients go away.
import { expect } from 'chai';
import { once } from 'node:events';
import { connect } from 'node:net';
import { CREDENTIAL_CACHE_MS } from '../../../../core/access/authenticate.js';
import type { Caller } from '../../../../core/access/credential.js';
import { revokeKey, suspendAccount } from '../../../../core/access/manage.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { until } from '../../../fixtures/until.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { PICTURE } from '../../vectors/vector.js';
import { BASE, type RunningServer, serve } from '../host/rest-client.js';

describe('a request that prefers to wait', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  let caller: Caller;

  beforeEach(async () => {
    harness = await openServiceHarness();
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness, { limits: { idleTimeoutMs: 500, keepAliveTimeoutMs: 500 } });
    caller = await harness.authenticator.authenticate(fixture.secrets.get('owner'));
  });
  afterEach(async () => {
    await running.server.close(100);
    await harness.close();
  });

  const headers = (prefer: string, more: Record<string, string> = {}) => ({
    'Authorization': `Bearer ${fixture.secrets.get('owner') ?? ''}`,
    'Content-Type': 'application/json',
    'Prefer': prefer,
    ...more,
  });
  const generationId = () => fixture.ids.get('own-generation') ?? '';
  const look = (prefer: string, signal: AbortSignal | null = null) =>
    fetch(`${running.origin}${BASE}/generations/${generationId()}`, { headers: headers(prefer), signal });
  const create = (prefer: string, key: string) =>
    fetch(`${running.origin}${BASE}/generations`, {
      method: 'POST',
      headers: headers(prefer, { 'Idempotency-Key': key }),
      body: JSON.stringify(PICTURE),
    });
  const followed = () => harness.context.generationWatch.followed;
  const waiting = () => until(() => followed() > 0);
  const cancel = (id: string) => cancelGeneration(harness.context, caller, id);
  const statusOf = async (response: Response) =>
    ((await response.json()) as { readonly data: JsonObject }).data['status'];

  it('is answered when the generation ends, although its connection would be idle for too long', async () => {
    const answer = look('wait=60');
    await waiting();
    await new Promise((resolve) => harness.context.clock.after(1_200, () => resolve(undefined)));
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
    const foreign = await fetch(`${running.origin}${BASE}/generations/${fixture.ids.get('foreign-generation') ?? ''}`, {
      headers: headers('wait=60'),
    });
    expect([foreign.status, foreign.headers.get('preference-applied')]).to.deep.equal([404, null]);
    expect(followed()).to.equal(0);
  });

  it('is a create that is answered 202 with the end, as is its repetition', async () => {
    const answer = create('wait=60', 'k');
    await waiting();
    const { items } = await harness.context.generations.list({ of: 'app', appId: caller.appId }, { limit: 1 });
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
    const models = await fetch(`${running.origin}${BASE}/credits`, { headers: headers('wait=60') });
    expect([models.status, models.headers.get('preference-applied')]).to.deep.equal([200, null]);
  });

  for (const [what, end] of [
    ['its account is suspended', () => suspendAccount(harness.context, caller.accountId)],
    ['its credential is revoked', () => revokeKey(harness.context, caller.credentialId)],
  ] as const)
    it(`ends when ${what}`, async () => {
      const answer = look('wait=60');
      await waiting();
      await end();
      harness.clock.advance(CREDENTIAL_CACHE_MS);
      const response = await answer;
      expect(response.status).to.equal(401);
      expect(((await response.json()) as JsonObject)['code']).to.equal('DEVELOPER_TOKEN_REVOKED');
      expect(followed()).to.equal(0);
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
    const closed = running.server.close(30_000);
    const response = await answer;
    expect([response.status, response.headers.get('connection')]).to.deep.equal([200, 'close']);
    expect(await statusOf(response)).to.equal('queued');
    await closed;
  });

  it('leaves its connection to the next request, which may be idle for no longer than any other', async () => {
    const port = Number(new URL(running.origin).port);
    const socket = connect(port, '127.0.0.1');
    const text = (prefer: string) =>
      `GET ${BASE}/generations/${generationId()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fixture.secrets.get('owner') ?? ''}\r\n${prefer}\r\n\r\n`;
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    socket.write(text('Prefer: wait=1'));
    await until(() => received.includes('"queued"'));
    await once(socket, 'close');
  });
});
