/*
 * Goal: no way in which a connection ends brings the process down.
 * Method: a real server whose answer ends with its connection, left in every way. Whatever a connection throws where nobody catches it
 * fails the run.
 */
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { errorOf, get, localClient, post } from './client.js';
import { RawServer } from './raw-server.js';
import { turns } from './turns.js';

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
  }
});
