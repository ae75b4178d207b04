/*
 * Goal: no way in which a connection ends brings the process down, and an answer that its server broke off is not whole.
 * Method: a real server whose answer ends with its connection, left in every way; and one that resets a connection while
 * the answer waits for its reader. Whatever a connection throws where nobody catches it fails the run.
 */
import { expect } from 'chai';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import { RawServer } from './raw-server.js';
import { errorOf, get, localClient, post } from './client.js';

const HEADS = {
  'ends with its connection': 'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n',
  'is of HTTP 1.0': 'HTTP/1.0 200 OK\r\n\r\n',
};

interface Left {
  readonly client: HttpClient;
  readonly answer: HttpAnswer;
  readonly abort: AbortController;
}

const WAYS: Readonly<Record<string, (left: Left) => Promise<unknown>>> = {
  'is given up': async ({ answer }) => answer.discard(),
  'is aborted': async ({ answer, abort }) => {
    const reading = errorOf(answer.bytes());
    abort.abort();
    await reading;
  },
  'pauses for too long': ({ answer }) => errorOf(answer.bytes()),
  'is too large': ({ answer }) => errorOf(answer.bytes()),
  'is left by closing the client': async ({ answer, client }) => {
    const reading = errorOf(answer.bytes());
    await client.close();
    await reading;
  },
};

describe('a connection that ends', () => {
  for (const [how, send] of Object.entries({ POST: post, GET: get })) {
    for (const [kind, head] of Object.entries(HEADS)) {
      for (const [way, leave] of Object.entries(WAYS)) {
        it(`does no harm when the answer to a ${how} that ${kind} ${way}`, async () => {
          const isLarge = way === 'is too large';
          const server = await RawServer.open(({ socket }) => {
            socket.once('data', () => socket.write(head + 'x'.repeat(isLarge ? 200_000 : 6)));
          });
          const client = localClient({ limits: { idleTimeoutMs: 100, maxBodyBytes: 100_000 } });
          const abort = new AbortController();
          const answer = await send(client, server.url, { signal: abort.signal });
          await leave({ client, answer, abort });
          await Promise.all([client.close(), server.close()]);
          await turns(50);
        });
      }
    }

    // With much more waiting, the platform reports such a reset as an end: then the answer may count as whole.
    for (const kib of [290, 330, 360]) {
      it(`breaks off the answer to a ${how} when it is reset while ${kib} KiB of it wait`, async () => {
        const server = await RawServer.open(({ socket }) => {
          socket.once('data', () =>
            socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${'x'.repeat(kib * 1024)}`),
          );
        });
        const client = localClient({ limits: { maxBodyBytes: 2 * 1024 * 1024 } });
        const answer = await send(client, server.url);
        const { socket } = server.connections.at(-1)!;
        while (!(socket.writableLength === 0)) await turns(1);
        await turns(50);
        socket.resetAndDestroy();
        await turns(50);
        expect(await errorOf(answer.bytes())).to.have.property('kind', 'unknown-outcome');
        await Promise.all([client.close(), server.close()]);
      });
    }
  }
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}
