import { expect } from 'chai';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Agent, type Dispatcher, EventSource } from 'undici';
import { CREDENTIAL_CACHE_MS } from '../../../../core/access/authenticate.js';
import type { Caller } from '../../../../core/access/credential.js';
import { expireKey, revokeKey, suspendAccount } from '../../../../core/access/manage.js';
import { createGeneration } from '../../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../../core/generation/end-generation.js';
import type { Generation } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { until } from '../../../fixtures/clocks.js';
import { PICTURE } from '../../vectors/vector.js';
import { BASE, RestHarness } from '../host/rest-client.js';

// Goal: a client follows a generation by server-sent events, with any client of the standard, through interruptions, and
// nothing of the stream stays behind, however it ends.
// Method: the REST front on memory adapters; undici's EventSource, which reconnects as browsers do; connections are cut,
// credentials revoked, the process stopped.

const TYPES = ['queued', 'running', 'progress', 'cancel_requested', 'ended'];

describe('the events of a generation over REST', () => {
  let rest: RestHarness;
  let caller: Caller;
  let link: Server | undefined;
  const sources: EventSource[] = [];

  beforeEach(async () => {
    rest = await RestHarness.open({ limits: { idleTimeoutMs: 500 } });
    caller = await rest.harness.authenticator.authenticate(rest.fixture.secrets.get('owner'));
  });
  afterEach(async () => {
    for (const source of sources.splice(0)) source.close();
    link?.close();
    link = undefined;
    await rest.close();
  });

  const generationId = () => rest.fixture.ids.get('own-generation') ?? '';
  const address = (id = generationId()) => `${rest.origin}${BASE}/generations/${id}/events`;
  const authorization = () => ({ Authorization: `Bearer ${rest.fixture.secrets.get('owner') ?? ''}` });
  const ask = (headers: Record<string, string> = {}, id?: string) =>
    fetch(address(id), { headers: { ...authorization(), ...headers } });
  const followed = () => rest.harness.context.generationWatch.followed;

  async function write(changes: Partial<Generation>): Promise<void> {
    const before = (await rest.harness.context.generations.read(generationId())) as Generation;
    await rest.harness.context.generations.replace(
      { ...before, ...changes, version: before.version + 1 },
      before.version,
    );
  }

  interface ReceivedEvents {
    readonly type: string;
    readonly id: string;
    readonly data: JsonObject;
  }

  /** Listens as a browser does, through a link whose connections can be cut. */
  async function listen() {
    const received: ReceivedEvents[] = [];
    const sockets: Socket[] = [];
    link = createServer((socket) => {
      const onward = connect(rest.port, '127.0.0.1');
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
    const linked = address().replace(String(rest.port), String((link.address() as AddressInfo).port));
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
    await cancelGeneration(rest.harness.context, caller, generationId());
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
      await fetch(`${rest.origin}${BASE}/generations/${generationId()}`, { headers: authorization() })
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
    // It reconnects after the end, as the standard requires, and the answer ends the stream for good.
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
      expect((await ask({}, rest.fixture.ids.get(id))).status).to.equal(status);
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
    await revokeKey(rest.harness.context, caller.credentialId);
    rest.harness.clock.advance(CREDENTIAL_CACHE_MS);
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
    await rest.server.close(30_000);
    expect(await text).to.include('event: queued');
  });

  it('leave the connection open for longer than others may be idle', async () => {
    const response = await ask();
    const text = response.text();
    await new Promise((resolve) => rest.harness.context.clock.after(1_200, () => resolve(undefined)));
    await cancelGeneration(rest.harness.context, caller, generationId());
    expect(await text).to.include('event: ended');
  });

  it('are beside the header Darkroom-Progress of a task that runs', async () => {
    const progress = async (prefer = 'wait=0') => {
      const task = `${rest.origin}${BASE}/generations/${generationId()}`;
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

// Goal: a client follows all generations of its App by server-sent events through interruptions, and the stream ends with its
// credential and leaves nothing behind.
// Method: the REST front on memory adapters; streams are read by hand, cut and resumed, their key revoked.

interface Received {
  readonly id: string;
  readonly type: string;
  readonly task: JsonObject;
}

/** A stream of events that is read as it comes, until it is cut or ends. */
class Stream {
  readonly received: Received[] = [];
  hasEnded = false;
  private readonly cutter = new AbortController();

  static async open(url: string, headers: Record<string, string>): Promise<Stream> {
    const stream = new Stream();
    const response = await fetch(url, { headers, signal: stream.cutter.signal });
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    void stream.read(response);
    return stream;
  }

  cut(): void {
    this.cutter.abort();
  }

  private async read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk as Uint8Array).toString();
        for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
          this.take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
    } catch {
      // It was cut.
    }
    this.hasEnded = true;
  }

  private take(frame: string): void {
    const [, id = '', type = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    if (data !== '') this.received.push({ id, type, task: (JSON.parse(data) as { readonly task: JsonObject }).task });
  }
}

describe('the events of an App over REST', () => {
  let rest: RestHarness;
  const streams: Stream[] = [];

  beforeEach(async () => {
    rest = await RestHarness.open();
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.cut();
    await rest.close();
  });

  const followed = () => rest.harness.context.appWatch.followed;

  async function open(lastEventId?: string, kind = 'owner'): Promise<Stream> {
    const before = followed();
    const stream = await Stream.open(`${rest.origin}${BASE}/events`, {
      authorization: `Bearer ${rest.fixture.secrets.get(kind) ?? ''}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    });
    streams.push(stream);
    if (lastEventId === undefined) await until(() => followed() > before);
    return stream;
  }

  async function create(key: string): Promise<string> {
    const caller = await rest.harness.authenticator.authenticate(rest.fixture.secrets.get('owner'));
    return (await createGeneration(rest.harness.context, caller, key, { ...PICTURE })).generation.generationId;
  }

  it('come for each generation from its creation to its end, and resume where they were cut', async () => {
    const first = await open();
    const one = await create('one');
    await until(() => first.received.length === 1);
    first.cut();
    await until(() => followed() === 0);
    const two = await create('two');
    await rest.harness.startWorker();
    const second = await open(first.received[0]?.id);
    const ended = () => second.received.filter(({ type }) => type === 'ended').map(({ task }) => task['generation_id']);
    await until(() => ended().includes(one) && ended().includes(two));
    const typesOf = (id: string) =>
      second.received.filter(({ task }) => task['generation_id'] === id).map(({ type }) => type);
    expect(typesOf(one)[0], 'what was told is not told again').not.to.equal('queued');
    expect(typesOf(two)[0]).to.equal('queued');
    const end = second.received.find(({ type, task }) => type === 'ended' && task['generation_id'] === one);
    expect(end?.task['status']).to.equal('succeeded');
  });

  it('are of the App of the credential alone', async () => {
    const [own, strange] = [await open(), await open(undefined, 'stranger')];
    const id = await create('one');
    await until(() => own.received.length === 1);
    expect(own.received[0]?.task['generation_id']).to.equal(id);
    expect(strange.received).to.deep.equal([]);
  });

  it('end within seconds of the revocation of the key, and with the process', async () => {
    const caller = await rest.harness.authenticator.authenticate(rest.fixture.secrets.get('owner'));
    const stream = await open();
    await revokeKey(rest.harness.context, caller.credentialId);
    rest.harness.clock.advance(CREDENTIAL_CACHE_MS);
    await until(() => stream.hasEnded);
    await until(() => followed() === 0);
    const other = await open(undefined, 'stranger');
    await rest.server.close(5_000);
    await until(() => other.hasEnded);
    expect(followed()).to.equal(0);
  });
});

// Goal: every stream of events ends with its credential, its account's standing, its client and its process, whether the client
// reads it or not, and one client cannot open any number of them.
// Method: the REST front on memory adapters; sockets that read nothing of streams that have much to tell.

describe('streams of events', () => {
  let rest: RestHarness;
  let caller: Caller;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    rest = await RestHarness.open();
    caller = await rest.harness.authenticator.authenticate(rest.fixture.secrets.get('owner'));
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await rest.close();
  });

  const paths = (): readonly string[] => [
    '/events',
    `/generations/${rest.fixture.ids.get('own-generation') ?? ''}/events`,
  ];
  const head = (path: string): string =>
    `GET ${BASE}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rest.fixture.secrets.get('owner') ?? ''}\r\n\r\n`;
  const followed = (): number => rest.harness.context.appWatch.followed + rest.harness.context.generationWatch.followed;

  /** A stream of which nothing is read. */
  function unread(path: string): { readonly socket: Socket; readonly isClosed: () => boolean } {
    const socket = connect(Number(new URL(rest.origin).port), '127.0.0.1');
    sockets.push(socket);
    let isClosed = false;
    socket.on('error', () => undefined).on('close', () => (isClosed = true));
    socket.write(head(path));
    return { socket, isClosed: () => isClosed };
  }

  const read = (path: string): Promise<string> =>
    fetch(`${rest.origin}${BASE}${path}`, {
      headers: { authorization: `Bearer ${rest.fixture.secrets.get('owner') ?? ''}` },
    }).then((response) => response.text());

  const ENDS: Readonly<Record<string, () => Promise<unknown>>> = {
    'its key is revoked': () => revokeKey(rest.harness.context, caller.credentialId),
    'its key expires': () => expireKey(rest.harness.context, caller.credentialId, rest.harness.context.clock.now() + 1),
    'its account is suspended': () => suspendAccount(rest.harness.context, caller.accountId),
  };
  for (const [what, end] of Object.entries(ENDS))
    it(`end when ${what}`, async () => {
      const texts = paths().map(read);
      await until(() => followed() === 2);
      await end();
      rest.harness.clock.advance(CREDENTIAL_CACHE_MS);
      for (const text of await Promise.all(texts)) expect(text).to.match(/^retry: 1000\n/);
      expect(followed()).to.equal(0);
    });

  it('end when the key is revoked although the client reads nothing, and many events wait', async () => {
    const stream = unread('/events');
    stream.socket.pause();
    await until(() => followed() === 1);
    const template = (await rest.harness.context.generations.read(
      rest.fixture.ids.get('own-generation') ?? '',
    )) as Generation;
    const prompt = 'x'.repeat(8_000);
    // More than the sockets between them hold.
    for (let told = 0; told < 9_000; told += 1)
      rest.harness.context.appWatch.written({
        ...template,
        prompt,
        generationId: rest.harness.context.ids.uuid(),
        createdAt: rest.harness.context.clock.now(),
      });
    await revokeKey(rest.harness.context, caller.credentialId);
    rest.harness.clock.advance(CREDENTIAL_CACHE_MS);
    await until(() => followed() === 0);
    stream.socket.resume();
    await until(stream.isClosed);
  });

  it('are refused beyond the bound of an App, with a time to try again, and after others have ended accepted', async () => {
    const open: (() => void)[] = [];
    while (open.length < 32)
      open.push(rest.harness.context.lastingCalls.followApp({ ...caller, credentialId: `key ${open.length}` }));
    const ask = (path: string, signal: AbortSignal | null = null) =>
      fetch(`${rest.origin}${BASE}${path}`, {
        headers: { authorization: `Bearer ${rest.fixture.secrets.get('owner') ?? ''}` },
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
