/*
 * Goal: a request arrives as it was made, once, on the connection it should have; what cannot be sent is refused before.
 * Method: real servers that keep what they received, and count connections.
 */
import { expect } from 'chai';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import type { HttpRequest } from '../../../adapters/http/http-request.js';
import { errorOf, get, localClient, post } from './client.js';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly connection: number;
}

describe('an outgoing request', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  let client: HttpClient;
  let url: string;
  let received: Received[];
  let live: Set<unknown>;
  beforeEach(async () => {
    received = [];
    live = new Set();
    const sockets: unknown[] = [];
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        if (!sockets.includes(request.socket)) sockets.push(request.socket);
        const { method = '', headers } = request;
        received.push({
          method,
          url: request.url ?? '',
          headers,
          body: Buffer.concat(pieces).toString(),
          connection: sockets.indexOf(request.socket),
        });
        response.end('ok');
      });
    });
    server.on('connection', (socket) => {
      live.add(socket);
      socket.once('close', () => live.delete(socket));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = localClient({ maxConnectionsPerOrigin: 2 });
    opened.push(client, {
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    });
  });
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));

  const sent = async (request: Partial<HttpRequest>) => {
    await (await client.request({ method: 'GET', url, signal: new AbortController().signal, ...request })).bytes();
    return received.at(-1)!;
  };
  async function* textStream(...texts: string[]) {
    for (const text of texts) yield Buffer.from(text);
  }

  it('arrives as it was made', async () => {
    expect(await sent({ url: `${url}/a/b?c=d%20e#f`, headers: { 'X-Key': 'value' } })).to.deep.include({
      method: 'GET',
      url: '/a/b?c=d%20e',
      body: '',
    });
    expect(received[0]?.headers).to.include({
      'x-key': 'value',
      'user-agent': 'darkroom',
      'accept-encoding': 'gzip, deflate, br',
      'host': url.slice(7),
    });
    for (const body of ['text é', Buffer.from('text é')]) {
      expect(await sent({ method: 'POST', body }))
        .to.deep.include({ method: 'POST', body: 'text é' })
        .and.have.nested.property('headers.content-length', '7');
    }
    const stream = await sent({ method: 'PUT', body: { stream: textStream('te', 'xt'), byteSize: 4 } });
    expect(stream)
      .to.deep.include({ method: 'PUT', body: 'text' })
      .and.have.nested.property('headers.content-length', '4');
    expect(stream.headers).to.not.have.property('transfer-encoding');
    expect(received).to.have.length(4);
  });

  it('fails if its body has another length than declared', async () => {
    for (const byteSize of [3, 5]) {
      const error = await errorOf(sent({ method: 'PUT', body: { stream: textStream('te', 'xt'), byteSize } }));
      expect(error).to.include({ kind: 'unknown-outcome', requestSent: true });
    }
    expect(received).to.deep.equal([]);
  });

  it('takes no connection from others if its declared length is none', async () => {
    const only = localClient({ maxConnectionsPerOrigin: 1 });
    opened.push(only);
    const body = { stream: textStream('text'), byteSize: 1.5 };
    expect(await errorOf(get(only, url, { method: 'PUT', body }))).to.include({ requestSent: false });
    await (await get(only, url)).bytes();
    expect(received.map(({ method }) => method)).to.deep.equal(['GET']);
  });

  it('uses a new connection for POST and PATCH, and a kept one for other methods', async () => {
    await sent({});
    await sent({ method: 'POST', body: '{}' });
    await sent({ method: 'PATCH', body: '{}' });
    await sent({});
    await sent({ method: 'DELETE' });
    await sent({ onOwnConnection: true });
    await sent({ method: 'POST', body: '{}', onOwnConnection: false });
    expect(
      new Set(received.filter(({ headers }) => headers.connection === 'close').map(({ connection }) => connection)),
      'each its own',
    ).to.have.property('size', 3);
    const own = received.filter(({ headers }) => headers.connection === 'close').map(({ connection }) => connection);
    const kept = received.filter(({ headers }) => headers.connection !== 'close').map(({ connection }) => connection);
    expect(received.map(({ headers }) => headers.connection)).to.deep.equal([
      'keep-alive',
      'close',
      'close',
      'keep-alive',
      'keep-alive',
      'close',
      'keep-alive',
    ]);
    expect(kept.filter((connection) => own.includes(connection))).to.deep.equal([]);
  });

  it('waits when an origin has reached its limit of connections', async () => {
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        await (await get(client, url)).bytes();
        most = Math.max(most, live.size);
      }),
    );
    expect([received.length, most]).to.deep.equal([20, 2]);
  });

  it('leaves no connection once the client is closed', async () => {
    await Promise.all(Array.from({ length: 4 }, async () => (await post(client, url)).bytes()));
    await (await get(client, url)).bytes();
    await client.close();
    while (live.size > 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  });

  it('is refused if a header cannot be sent, without repeating its value', async () => {
    for (const headers of [
      { host: 's3cret' },
      { 'Content-Length': '1' },
      { 'transfer-encoding': 'chunked' },
      { connection: 'close' },
      { 'a b': 'c' },
      { '': 'c' },
      { key: 's3cret\r\nx: y' },
      { key: 's3cret\0' },
      { key: 's3cret€' },
    ]) {
      const failure = await get(client, url, { headers }).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(RangeError);
      expect(String(failure)).to.not.include('s3cret');
    }
    expect(received).to.deep.equal([]);
  });
});
