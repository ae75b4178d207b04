/*
 * Goal: a call that is over listens to its signal no longer, however it has ended: a signal may outlive many calls.
 * Method: a real server that answers in every way; the platform counts the listeners of a signal that all calls share.
 */
import { expect } from 'chai';
import { getEventListeners } from 'node:events';
import type { HttpAnswer } from '../../../adapters/http/http-answer.js';
import { FakeServer, type Fault } from '../../providers/fakes/fake-server.js';
import { get, localClient, post } from './client.js';

const ENDS: readonly (readonly [name: string, fault: Fault | undefined])[] = [
  ['answered', undefined],
  ['answered with an error', { type: 'status', status: 503, body: '{}' }],
  ['refused without a body', { type: 'status', status: 401 }],
  ['not answered', { type: 'lose-answer' }],
  ['closed at once', { type: 'drop' }],
  ['answered with half a body', { type: 'truncated' }],
  ['answered without end', { type: 'huge' }],
  ['answered too late', { type: 'hang' }],
  ['redirected', { type: 'redirect', to: 'http://127.0.0.1:1/' }],
];

const READ: Readonly<Record<string, (answer: HttpAnswer) => unknown>> = {
  'read to its end': (answer) => answer.bytes(),
  'read as JSON': (answer) => answer.json(),
  'discarded': (answer) => answer.discard(),
  'left after its first piece': async (answer) => {
    for await (const _ of answer.body()) break;
  },
};

describe('a signal of calls that are over', () => {
  for (const [how, send] of Object.entries({ POST: post, GET: get }))
    for (const [end, fault] of ENDS)
      for (const [way, read] of Object.entries(READ))
        it(`has no listener when a ${how} was ${end} and its answer ${way}`, async () => {
          const handle = () => ({ json: { pictures: 'x'.repeat(1_000) } });
          const server = await FakeServer.open([
            { method: 'POST', path: '/tasks', handle },
            { method: 'GET', path: '/tasks', handle },
          ]);
          const client = localClient({ limits: { maxBodyBytes: 100_000, headersTimeoutMs: 50 } });
          const { signal } = new AbortController();
          try {
            if (fault !== undefined) server.plan(fault);
            await send(client, `${server.url}/tasks`, { signal })
              .then(read)
              .catch(() => undefined);
            expect(getEventListeners(signal, 'abort')).to.have.length(0);
          } finally {
            await client.close();
            await server.close();
          }
        });

  it('has none when nothing listens, and when the address is refused', async () => {
    const client = localClient();
    const { signal } = new AbortController();
    for (const url of ['http://127.0.0.1:1/', 'http://10.0.0.1/', 'ftp://127.0.0.1/'])
      await get(client, url, { signal }).catch(() => undefined);
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
    await client.close();
  });
});
