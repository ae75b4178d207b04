/*
 * Goal: an answer that is left while more of it waits than its reader takes closes its connection, and does no other harm.
 * Method: a real server that sends without end; requests on connections of their own and on kept ones.
 */
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { RawServer } from './raw-server.js';
import { errorOf, get, localClient, post } from './client.js';

describe('an answer that is left', () => {
  let server: RawServer;
  let client: HttpClient;
  let closed: Promise<unknown>[];
  beforeEach(async () => {
    closed = [];
    server = await RawServer.open(({ socket }) => {
      closed.push(
        new Promise((resolve) => {
          socket.once('close', resolve);
        }),
      );
      socket.once('data', () => Readable.from(endless()).pipe(socket));
    });
    client = localClient({ limits: { maxBodyBytes: 100_000_000 } });
  });
  afterEach(() => Promise.all([client.close(), server.close()]));

  for (const [how, send] of Object.entries({ 'its own connection': post, 'a kept connection': get })) {
    it(`closes ${how} though more of it waits`, async () => {
      const reading = (await send(client, server.url)).body()[Symbol.asyncIterator]();
      await reading.next();
      await stalled(server);
      await reading.return?.();
      await Promise.all(closed);
    });

    it(`closes ${how} when the call is aborted, and breaks off`, async () => {
      const abort = new AbortController();
      const answer = await send(client, server.url, { signal: abort.signal });
      const reading = answer.body()[Symbol.asyncIterator]();
      await reading.next();
      await stalled(server);
      abort.abort();
      await Promise.all(closed);
      expect(await errorOf(rest(reading))).to.have.property('kind', 'aborted');
    });
  }
});

async function* endless(): AsyncGenerator<Buffer> {
  yield Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 99000000\r\nConnection: close\r\n\r\n');
  for (;;) yield Buffer.alloc(256 * 1024, ' ');
}

async function rest(reading: AsyncIterator<Uint8Array>): Promise<void> {
  for (let next = await reading.next(); next.done !== true; next = await reading.next());
}

/** Resolves when the client takes no more: what is written stays with the server. */
async function stalled(server: RawServer): Promise<void> {
  const { socket } = server.connections.at(-1)!;
  let [before, unchanged] = [-1, 0];
  while (unchanged < 100) {
    unchanged = socket.bytesWritten === before && socket.writableLength > 0 ? unchanged + 1 : 0;
    before = socket.bytesWritten;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
