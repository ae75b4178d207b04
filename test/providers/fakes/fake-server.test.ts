/*
 * Goal: the base of the vendors' fakes logs and counts requests, and each fault behaves as described.
 * Method: the platform's own client sends real requests; the client's view is compared with the requests that the
 * server handled.
 */
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import fc from 'fast-check';
import { WITHHELD } from './fake-request.js';
import { FakeServer, type Fault, type FakeRoute } from './fake-server.js';

describe('the base of fake vendors', () => {
  const opened: FakeServer[] = [];
  afterEach(async () => void (await Promise.all(opened.splice(0).map((server) => server.close()))));

  async function open(...routes: FakeRoute[]): Promise<FakeServer> {
    const server = await FakeServer.open(routes);
    opened.push(server);
    return server;
  }

  /** A vendor that takes tasks and counts how often it has. */
  async function vendor(): Promise<{ readonly server: FakeServer; readonly taken: () => number }> {
    let taken = 0;
    const server = await open({
      method: 'POST',
      path: '/tasks',
      of: 'submit',
      handle: () => ({ status: 202, json: { id: `task-${(taken += 1)}` } }),
    });
    return { server, taken: () => taken };
  }

  const send = (server: FakeServer, signal?: AbortSignal) =>
    fetch(`${server.url}/tasks`, {
      method: 'POST',
      body: '{"prompt":"a lighthouse"}',
      redirect: 'manual',
      ...(signal === undefined ? {} : { signal }),
    });

  const textOf = async (answer: Promise<Response>) => (await answer).text();
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('finds the route by method and path, with its parameters', async () => {
    const server = await open(
      { method: 'GET', path: '/tasks/:id', handle: ({ params }) => ({ json: params }) },
      { method: 'GET', path: '/files/*', handle: ({ params, query }) => ({ json: [params['*'], query.get('q')] }) },
    );
    expect(await (await fetch(`${server.url}/tasks/a%20b`)).json()).to.deep.equal({ id: 'a b' });
    expect(await (await fetch(`${server.url}/files/a/b.png?q=1`)).json()).to.deep.equal(['a/b.png', '1']);
    expect((await fetch(`${server.url}/tasks/a/b`)).status).to.equal(404);
    expect((await fetch(`${server.url}/tasks/a`, { method: 'DELETE' })).status).to.equal(404);
  });

  it('reads JSON and forms, and refuses more than its bound', async () => {
    const server = await FakeServer.open(
      [
        { method: 'POST', path: '/json', handle: (request) => ({ json: request.json() }) },
        {
          method: 'POST',
          path: '/form',
          handle: async (request) => {
            const form = await request.form();
            const file = form.get('file');
            if (!(file instanceof File)) throw new Error('There is no file.');
            return { json: [form.get('name'), file.name, file.type, await file.text()] };
          },
        },
      ],
      { maxBodyBytes: 1_000 },
    );
    opened.push(server);
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 2 }), async (value) => {
        const body = JSON.stringify(value);
        if (body.length > 900) return;
        const answer = await fetch(`${server.url}/json`, { method: 'POST', body });
        expect(JSON.stringify(await answer.json())).to.equal(body);
      }),
      { numRuns: 30 },
    );
    const form = new FormData();
    form.set('name', 'x');
    form.set('file', new File(['bytes'], 'a.png', { type: 'image/png' }));
    expect(await (await fetch(`${server.url}/form`, { method: 'POST', body: form })).json()).to.deep.equal([
      'x',
      'a.png',
      'image/png',
      'bytes',
    ]);
    expect((await fetch(`${server.url}/json`, { method: 'POST', body: 'x'.repeat(1_001) })).status).to.equal(413);
  });

  it('logs every request without its secrets, and counts submissions', async () => {
    const { server } = await vendor();
    await fetch(`${server.url}/tasks?a=1`, {
      method: 'POST',
      body: 'abc',
      headers: { authorization: 'Bearer s3cret' },
    });
    await fetch(`${server.url}/other`);
    const [first, second] = server.requests;
    expect(first).to.deep.include({ method: 'POST', path: '/tasks', query: '?a=1', of: ['submit'], isWhole: true });
    expect(first!.headers['authorization']).to.equal(WITHHELD);
    expect(first!.body.toString()).to.equal('abc');
    expect(first!.answers).to.deep.equal([{ status: 202, json: { id: 'task-1' } }]);
    expect(second).to.deep.include({ method: 'GET', path: '/other', of: [], timesHandled: 1 });
    expect([server.posts, server.handledPosts]).to.deep.equal([1, 1]);
    expect(JSON.stringify(server.requests)).to.not.include('s3cret');
  });

  it('answers 500 for a handler that throws, and keeps what it threw', async () => {
    const error = new Error('broken');
    const server = await open({
      method: 'GET',
      path: '/',
      handle: () => {
        throw error;
      },
    });
    expect((await fetch(server.url)).status).to.equal(500);
    expect(server.failures).to.deep.equal([error]);
  });

  it('applies a fault to the next request that matches, and to no other', async () => {
    const { server } = await vendor();
    server.plan({ type: 'status', status: 503 }, { of: 'poll' });
    server.plan({ type: 'status', status: 429, headers: { 'retry-after': '7' }, body: '{}' }, { of: 'submit' });
    const refused = await send(server);
    expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).to.deep.equal([429, '7', '{}']);
    expect((await send(server)).status).to.equal(202);
    server.forgetFaults();
    expect([server.posts, server.handledPosts]).to.deep.equal([2, 1]);
  });

  const BROKEN: readonly { readonly fault: Fault; readonly posts: number; readonly taken: number }[] = [
    { fault: { type: 'drop' }, posts: 1, taken: 0 },
    { fault: { type: 'cut-body' }, posts: 1, taken: 0 },
    { fault: { type: 'lose-answer' }, posts: 1, taken: 1 },
    { fault: { type: 'truncated' }, posts: 1, taken: 1 },
  ];
  for (const { fault, posts, taken: expected } of BROKEN) {
    it(`breaks the connection for ${fault.type}, with ${expected} handled`, async () => {
      const { server, taken } = await vendor();
      const planned = server.plan(fault, { of: 'submit' });
      expect(await failureOf(textOf(send(server)))).to.be.instanceOf(Error);
      await planned.met;
      expect([server.posts, taken()]).to.deep.equal([posts, expected]);
      expect(server.requests[0]!.isWhole).to.equal(expected > 0);
      expect((await send(server)).status, 'the next request').to.equal(202);
    });
  }

  it('handles a hanging request, and notices that its client leaves', async () => {
    const { server, taken } = await vendor();
    const planned = server.plan({ type: 'hang' });
    const abort = new AbortController();
    const answer = failureOf(send(server, abort.signal));
    await planned.met;
    expect(taken()).to.equal(1);
    abort.abort();
    expect(await answer).to.be.instanceOf(Error);
    await planned.left;
  });

  it('handles a late request once it is released, though its client has gone', async () => {
    const { server, taken } = await vendor();
    const planned = server.plan({ type: 'late' });
    expect(await failureOf(send(server))).to.be.instanceOf(Error);
    await planned.met;
    expect(taken()).to.equal(0);
    await planned.release();
    expect(taken()).to.equal(1);
  });

  it('delivers a request twice, and answers with the second', async () => {
    const { server, taken } = await vendor();
    server.plan({ type: 'twice' });
    expect(await (await send(server)).json()).to.deep.equal({ id: 'task-2' });
    expect([server.posts, server.handledPosts, taken()]).to.deep.equal([1, 2, 2]);
  });

  it('holds an answer back until it is released', async () => {
    const { server, taken } = await vendor();
    const planned = server.plan({ type: 'slow-answer' });
    let hasCome = false;
    const answer = send(server).then((came) => {
      hasCome = true;
      return came;
    });
    await planned.met;
    expect([taken(), hasCome]).to.deep.equal([1, false]);
    await planned.release();
    expect((await answer).status).to.equal(202);
  });

  it('sends a trickling answer whole, or without an end', async () => {
    const { server } = await vendor();
    server.plan({ type: 'trickle', everyMs: 0 });
    expect(await (await send(server)).json()).to.deep.equal({ id: 'task-1' });
    const endless = server.plan({ type: 'trickle', everyMs: 0, isEndless: true });
    const { body } = await send(server);
    const reader = body!.getReader();
    for (let read = 0; read < 100;) read += (await reader.read()).value?.byteLength ?? 0;
    await reader.cancel();
    await endless.left;
  });

  it('sends a huge answer only as fast as it is read, until the client leaves', async () => {
    const { server } = await vendor();
    const planned = server.plan({ type: 'huge' });
    const { body, headers } = await send(server);
    expect(headers.get('content-type')).to.equal('application/json');
    const reader = body!.getReader();
    let read = 0;
    while (read < 1_000_000) read += (await reader.read()).value?.byteLength ?? 0;
    await reader.cancel();
    await planned.left;
    expect(planned.sentBytes).to.be.within(read, 64 * 1024 * 1024);
  });

  it('answers with a page, another type or a redirect instead', async () => {
    const { server, taken } = await vendor();
    server.plan({ type: 'html' });
    const page = await send(server);
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([502, 'text/html; charset=utf-8']);
    expect(await page.text()).to.include('<html>');
    expect(taken()).to.equal(1);
    server.plan({ type: 'html', status: 200, isHandled: false });
    expect((await send(server)).status).to.equal(200);
    expect(taken()).to.equal(1);
    server.plan({ type: 'wrong-type', contentType: 'text/plain' });
    const typed = await send(server);
    expect([typed.status, typed.headers.get('content-type'), await typed.text()]).to.deep.equal([
      202,
      'text/plain',
      '{"id":"task-2"}',
    ]);
    server.plan({ type: 'redirect', to: 'http://10.0.0.1/' });
    const redirect = await send(server);
    expect([redirect.status, redirect.headers.get('location'), taken()]).to.deep.equal([307, 'http://10.0.0.1/', 2]);
  });

  it('tells a handler that its client has gone', async () => {
    let gone: () => void = () => undefined;
    const noticed = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const server = await open({
      method: 'POST',
      path: '/tasks',
      of: 'submit',
      handle: async (request) => {
        await once(request.gone, 'abort');
        gone();
        return {};
      },
    });
    const abort = new AbortController();
    const arrived = server.arrival({ of: 'submit' });
    const answer = failureOf(send(server, abort.signal));
    await arrived;
    abort.abort();
    await noticed;
    expect(await answer).to.be.instanceOf(Error);
  });

  it('says of a request whose body stopped coming that it is not whole', async () => {
    const { server } = await vendor();
    const socket = createConnection(server.port, '127.0.0.1');
    const arrived = server.arrival();
    socket.write('POST /tasks HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345');
    const request = await arrived;
    socket.destroy();
    await server.settled();
    expect([request.isWhole, request.timesHandled, server.posts]).to.deep.equal([false, 0, 1]);
  });

  it('closes with requests that wait, and frees who waits for their release', async () => {
    const { server } = await vendor();
    const planned = server.plan({ type: 'slow-answer' });
    const answer = failureOf(send(server));
    await planned.met;
    await server.close();
    expect(await answer).to.be.instanceOf(Error);
    await planned.release();
    expect(await failureOf(send(server))).to.be.instanceOf(Error);
  });
});
