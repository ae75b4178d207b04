// Goal: a stop waits for the requests in progress and for nothing else, whatever connections are open.
// Method: a real server with a grace far longer than any test; raw sockets that send nothing, half a head, or a request
// whose answer the test sends when it chooses. That the stop completes is the proof.
import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Listening } from '../../../../apps/http/host/server.js';

const LONG_MS = 2_000_000_000;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe('a listener that stops', () => {
  let listening: Listening;
  let port: number;
  let asked: ServerResponse[];
  const sockets: Socket[] = [];
  let told: () => void;
  let accepted: number;

  beforeEach(async () => {
    asked = [];
    accepted = 0;
    const server = createServer((_, res) => {
      asked.push(res);
      told();
    });
    server.on('connection', () => {
      accepted += 1;
      told();
    });
    listening = new Listening(server, 'rest');
    ({ port } = await listening.listen('127.0.0.1', 0));
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listening.close(0);
  });

  async function until(holds: () => boolean): Promise<void> {
    while (!holds())
      await new Promise<void>((resolve) => {
        told = resolve;
      });
  }

  /** A connection that the server has accepted, with what is sent on it. */
  async function connected(sent = ''): Promise<Socket> {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    const taken = accepted + 1;
    if (sent !== '') socket.write(sent);
    await until(() => accepted >= taken);
    return socket;
  }

  it('does not wait for a connection without a request, nor for half a head', async () => {
    await connected();
    await connected('GET / HTTP/1.1\r\nHo');
    await listening.close(LONG_MS);
    expect(asked).to.deep.equal([]);
  });

  it('waits for no connection that has had its answer', async () => {
    const socket = await connected(REQUEST);
    await until(() => asked.length === 1);
    asked[0]?.end('done');
    await once(socket, 'data');
    await listening.close(LONG_MS);
  });

  it('finishes the current request though its head promised to keep the connection, and one sent just before', async () => {
    const socket = await connected(REQUEST);
    await until(() => asked.length === 1);
    asked[0]?.writeHead(200, { 'Content-Length': 8 }).write('half');
    await once(socket, 'data');
    const late = await connected();
    late.write(REQUEST);
    await new Promise((resolve) => late.write('', resolve));
    let isClosed = false;
    const closed = listening.close(LONG_MS).then(() => {
      isClosed = true;
    });
    await until(() => asked.length === 2);
    asked[1]?.end('late');
    expect(await text(late)).to.match(/late$/);
    expect(isClosed, 'with a request under way').to.equal(false);
    asked[0]?.end('done');
    expect(await text(socket)).to.equal('done');
    await closed;
  });

  it('closes a connection only after the last of its requests', async () => {
    const socket = await connected(REQUEST + REQUEST);
    await until(() => asked.length === 2);
    const closed = listening.close(LONG_MS);
    asked[0]?.end('first');
    asked[1]?.end('second');
    expect(await text(socket)).to.match(/first[^]*second$/);
    await closed;
  });

  it('aborts the rest after the grace', async () => {
    const socket = await connected(REQUEST);
    await until(() => asked.length === 1);
    const cut = once(socket, 'close');
    socket.resume();
    await listening.close(1);
    await cut;
  });
});
