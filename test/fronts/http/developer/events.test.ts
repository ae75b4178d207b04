// Goal: a client follows a generation by server-sent events, with any client of the standard, through interruptions, and
// nothing of the stream stays behind, however it ends.
// Method: the REST front on memory adapters; undici's EventSource, which reconnects as browsers do; connections are cut,
// credentials revoked, the process stopped.
import { expect } from 'chai';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Agent, type Dispatcher, EventSource } from 'undici';
import { CREDENTIAL_CACHE_MS } from '../../../../core/access/authenticate.js';
import type { Caller } from '../../../../core/access/credential.js';
import { revokeKey } from '../../../../core/access/manage.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { until } from '../../../fixtures/until.js';
import { createRequestFixture, type RequestFixture } from '../../../harness/request-fixture.js';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { BASE, type RunningServer, serve } from '../host/rest-client.js';

const TYPES = ['queued', 'running', 'progress', 'cancel_requested', 'ended'];

describe('the events of a generation over REST', () => {
  let harness: ServiceHarness;
  let fixture: RequestFixture;
  let running: RunningServer;
  let caller: Caller;
  let link: Server | undefined;
  const sources: EventSource[] = [];

  beforeEach(async () => {
    harness = await openServiceHarness();
    fixture = await createRequestFixture(harness.context);
    running = await serve(harness, { limits: { idleTimeoutMs: 500 } });
    caller = await harness.authenticator.authenticate(fixture.secrets.get('owner'));
  });
  afterEach(async () => {
    for (const source of sources.splice(0)) source.close();
    link?.close();
    link = undefined;
    await running.server.close(100);
    await harness.close();
  });

  const generationId = () => fixture.ids.get('own-generation') ?? '';
  const address = (id = generationId()) => `${running.origin}${BASE}/generations/${id}/events`;
  const authorization = () => ({ Authorization: `Bearer ${fixture.secrets.get('owner') ?? ''}` });
  const ask = (headers: Record<string, string> = {}, id?: string) =>
    fetch(address(id), { headers: { ...authorization(), ...headers } });
  const followed = () => harness.context.generationWatch.followed;

  async function write(changes: Partial<Generation>): Promise<void> {
    const before = (await harness.context.generations.read(generationId())) as Generation;
    await harness.context.generations.replace({ ...before, ...changes, version: before.version + 1 }, before.version);
  }

  interface Received {
    readonly type: string;
    readonly id: string;
    readonly data: JsonObject;
  }

  /** Listens as a browser does, through a link whose connections can be cut. */
  async function listen() {
    const received: Received[] = [];
    const sockets: Socket[] = [];
    link = createServer((socket) => {
      const onward = connect(running.port, '127.0.0.1');
      sockets.push(socket);
      for (const one of [socket, onward]) one.on('error', () => undefined);
      socket.pipe(onward).pipe(socket);
      socket.on('close', () => onward.destroy());
    });
    await new Promise<void>((resolve) => void link?.listen(0, '127.0.0.1', resolve));
    const dispatcher = new Agent().compose((dispatch): Dispatcher.Dispatch => {
      return (options, handler) =>
        dispatch(
          { ...options, headers: { ...options.headers, ...authorization() } as Record<string, string> },
          handler,
        );
    });
    const linked = address().replace(String(running.port), String((link.address() as AddressInfo).port));
    const source = new EventSource(linked, { node: { dispatcher } });
    sources.push(source);
    for (const type of TYPES)
      source.addEventListener(type, (event) => {
        const { lastEventId: id, data } = event as unknown as { readonly lastEventId: string; readonly data: string };
        received.push({ type, id, data: JSON.parse(data) as JsonObject });
      });
    /** Waits until it is connected again. */
    const cut = async (): Promise<void> => {
      const made = sockets.length;
      sockets.at(-1)?.destroy();
      await until(() => sockets.length > made && followed() === 1);
    };
    return { received, source, cut };
  }

  it('are those of the standard: types, ids, the task as GET answers it, and an end', async () => {
    const response = await ask();
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('cache-control'),
    ]).to.deep.equal([200, 'text/event-stream; charset=utf-8', 'no-store']);
    expect(response.headers.get('x-accel-buffering')).to.equal('no');
    await until(() => followed() === 1);
    await write({ status: 'running', runDeadlineAt: Date.now() });
    await cancelGeneration(harness.context, caller, generationId());
    await write({ status: 'cancelled', completedAt: Date.now() });
    const text = await response.text();
    expect(text.startsWith('retry: 1000\n\nid: 0\nevent: queued\ndata: {')).to.equal(true);
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).to.deep.equal([
      'queued',
      'running',
      'cancel_requested',
      'ended',
    ]);
    expect(text.split('\n\n')[1]).to.match(/event: queued\ndata: \{"type":"queued","at":"[^"]+","position":0,/);
    const last = JSON.parse(text.split('data: ').at(-1) ?? '') as { readonly task: JsonObject };
    const shown = (await (
      await fetch(`${running.origin}${BASE}/generations/${generationId()}`, { headers: authorization() })
    ).json()) as { readonly data: JsonObject };
    expect(last.task).to.deep.equal(shown.data);
    expect(followed()).to.equal(0);
  });

  it('reach a browser, each once and in order, though its connection is cut between any two', async () => {
    const { received, source, cut } = await listen();
    await until(() => received.length === 1);
    await cut();
    await write({ status: 'running', runDeadlineAt: Date.now() });
    await until(() => received.length === 2);
    await write({ progress: 0.25 });
    await until(() => received.length === 3);
    await cut();
    await write({ progress: 0.5 });
    await until(() => received.length === 4);
    await write({ status: 'cancelled', completedAt: Date.now(), cancelRequestedAt: Date.now() });
    // It connects again after the end, as it must, and is told that there is nothing more.
    await until(() => source.readyState === EventSource.CLOSED);
    expect(received.map(({ type, data }) => [type, data['progress']])).to.deep.equal([
      ['queued', undefined],
      ['running', undefined],
      ['progress', 0.25],
      ['progress', 0.5],
      ['cancel_requested', undefined],
      ['ended', undefined],
    ]);
    expect(new Set(received.map(({ id }) => id)).size).to.equal(received.length);
    expect(followed()).to.equal(0);
  });

  it('are refused like any request, and complete for a client that says it has them', async () => {
    for (const [id, status] of [
      ['foreign-generation', 404],
      ['other-app-generation', 404],
    ] as const)
      expect((await ask({}, fixture.ids.get(id))).status).to.equal(status);
    expect((await ask({}, 'x')).status).to.equal(404);
    expect((await fetch(address())).status).to.equal(401);
    const complete = await ask({ 'Last-Event-ID': '4' });
    expect([complete.status, await complete.text()]).to.deep.equal([204, '']);
    const head = await fetch(address(), { method: 'HEAD', headers: authorization() });
    expect([head.status, followed()]).to.deep.equal([200, 0]);
  });

  it('end when the credential is revoked, and are refused afterwards', async () => {
    const response = await ask();
    const text = response.text();
    await until(() => followed() === 1);
    await revokeKey(harness.context, caller.credentialId);
    harness.clock.advance(CREDENTIAL_CACHE_MS);
    expect(await text)
      .to.include('event: queued')
      .and.not.include('event: ended');
    expect((await ask()).status).to.equal(401);
    expect(followed()).to.equal(0);
  });

  it('end when the process stops, and when the client goes away', async () => {
    const gone = new AbortController();
    const left = await fetch(address(), { headers: authorization(), signal: gone.signal });
    await until(() => followed() === 1);
    gone.abort();
    await left.text().catch(() => undefined);
    await until(() => followed() === 0);
    const response = await ask();
    const text = response.text();
    await until(() => followed() === 1);
    await running.server.close(30_000);
    expect(await text).to.include('event: queued');
  });

  it('leave the connection open for longer than others may be idle', async () => {
    const response = await ask();
    const text = response.text();
    await new Promise((resolve) => harness.context.clock.after(1_200, () => resolve(undefined)));
    await cancelGeneration(harness.context, caller, generationId());
    expect(await text).to.include('event: ended');
  });

  it('are beside the header Darkroom-Progress of a task that runs', async () => {
    const progress = async (prefer = 'wait=0') => {
      const task = `${running.origin}${BASE}/generations/${generationId()}`;
      const response = await fetch(task, { headers: { ...authorization(), prefer } });
      return response.headers.get('darkroom-progress');
    };
    expect(await progress()).to.equal(null);
    expect(await progress('wait=1')).to.equal('0;position=0');
    await write({ status: 'running', runDeadlineAt: Date.now(), progress: 0.457_8 });
    expect(await progress()).to.equal('0.457');
    await write({ status: 'cancelled', completedAt: Date.now() });
    expect(await progress()).to.equal(null);
  });
});
