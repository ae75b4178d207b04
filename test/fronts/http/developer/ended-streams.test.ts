// Goal: every stream of events ends with its credential, its account's standing, its client and its process, whether the client
// reads it or not, and one client cannot open any number of them.
// Method: the REST front on memory adapters; sockets that read nothing of streams that have much to tell.
import { expect } from 'chai';
import { connect, type Socket } from 'node:net';
import { CREDENTIAL_CACHE_MS } from '../../../../core/access/authenticate.js';
import type { Caller } from '../../../../core/access/credential.js';
import { expireKey, revokeKey, suspendAccount } from '../../../../core/access/manage.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { until } from '../../../fixtures/until.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { BASE, type RunningServer, serve } from '../host/rest-client.js';

describe('streams of events', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  let caller: Caller;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    harness = await openServiceHarness();
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness);
    caller = await harness.authenticator.authenticate(fixture.secrets.get('owner'));
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await running.server.close(100);
    await harness.close();
  });

  const paths = (): readonly string[] => ['/events', `/generations/${fixture.ids.get('own-generation') ?? ''}/events`];
  const head = (path: string): string =>
    `GET ${BASE}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fixture.secrets.get('owner') ?? ''}\r\n\r\n`;
  const followed = (): number => harness.context.appWatch.followed + harness.context.generationWatch.followed;

  /** A stream of which nothing is read. */
  function unread(path: string): { readonly socket: Socket; readonly isClosed: () => boolean } {
    const socket = connect(Number(new URL(running.origin).port), '127.0.0.1');
    sockets.push(socket);
    let isClosed = false;
    socket.on('error', () => undefined).on('close', () => (isClosed = true));
    socket.write(head(path));
    return { socket, isClosed: () => isClosed };
  }

  const read = (path: string): Promise<string> =>
    fetch(`${running.origin}${BASE}${path}`, {
      headers: { authorization: `Bearer ${fixture.secrets.get('owner') ?? ''}` },
    }).then((response) => response.text());

  const ENDS: Readonly<Record<string, () => Promise<unknown>>> = {
    'its key is revoked': () => revokeKey(harness.context, caller.credentialId),
    'its key expires': () => expireKey(harness.context, caller.credentialId, harness.context.clock.now() + 1),
    'its account is suspended': () => suspendAccount(harness.context, caller.accountId),
  };
  for (const [what, end] of Object.entries(ENDS))
    it(`end when ${what}`, async () => {
      const texts = paths().map(read);
      await until(() => followed() === 2);
      await end();
      harness.clock.advance(CREDENTIAL_CACHE_MS);
      for (const text of await Promise.all(texts)) expect(text).to.match(/^retry: 1000\n/);
      expect(followed()).to.equal(0);
    });

  it('end when the key is revoked although the client reads nothing, and much is to be told', async () => {
    const stream = unread('/events');
    stream.socket.pause();
    await until(() => followed() === 1);
    const template = (await harness.context.generations.read(fixture.ids.get('own-generation') ?? '')) as Generation;
    const prompt = 'x'.repeat(8_000);
    // More than the sockets between them hold.
    for (let told = 0; told < 9_000; told += 1)
      harness.context.appWatch.written({
        ...template,
        prompt,
        generationId: harness.context.ids.uuid(),
        createdAt: harness.context.clock.now(),
      });
    await revokeKey(harness.context, caller.credentialId);
    harness.clock.advance(CREDENTIAL_CACHE_MS);
    await until(() => followed() === 0);
    stream.socket.resume();
    await until(stream.isClosed);
  });

  it('are refused beyond the bound of an App, with a time to try again, and after others have ended accepted', async () => {
    const open: (() => void)[] = [];
    while (open.length < 32)
      open.push(harness.context.lastingCalls.followApp({ ...caller, credentialId: `key ${open.length}` }));
    const ask = (path: string, signal: AbortSignal | null = null) =>
      fetch(`${running.origin}${BASE}${path}`, {
        headers: { authorization: `Bearer ${fixture.secrets.get('owner') ?? ''}` },
        signal,
      });
    const refused = await ask('/events');
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '5']);
    expect(((await refused.json()) as { code: string }).code).to.equal('RATE_LIMITED');
    open[0]?.();
    const gone = new AbortController();
    expect((await ask('/events', gone.signal)).status).to.equal(200);
    gone.abort();
    await until(() => followed() === 0);
    expect((await ask(paths()[1] ?? '', AbortSignal.timeout(5_000))).status).to.equal(200);
  });
});
