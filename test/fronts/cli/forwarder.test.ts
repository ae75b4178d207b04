// Goal: messages are posted a bounded number at a time, no more are taken than are kept, and none of a generation follows a later
// one; what a post throws is not lost.
// Method: posts that the test ends, in the order that it chooses.
import { expect } from 'chai';
import { type Attempt, Forwarder, type ListenedMessage, type Posted } from '../../../apps/cli/commands/listen.js';
import { until } from '../../fixtures/clocks.js';

const messageOf = (
  generationId: string,
  event: ListenedMessage['event'] = 'generation.succeeded',
): ListenedMessage => ({
  messageId: `msg_${generationId}_${event}`,
  event,
  generationId,
  occurredAt: '2026-03-14T09:26:54.598Z',
  body: '{}',
});

describe('the forwarder of darkroom webhooks listen', () => {
  let forwarder: Forwarder;
  let stop: AbortController;
  let attempts: Attempt[];
  let posting: { readonly id: string; readonly end: (posted: Partial<Posted>) => void }[];
  let mostAtOnce: number;

  beforeEach(() => {
    [attempts, posting, mostAtOnce] = [[], [], 0];
    stop = new AbortController();
    const post = ({ messageId: id }: ListenedMessage): Promise<Posted> =>
      new Promise((resolve) => {
        const one = {
          id,
          end: (posted: Partial<Posted>) => {
            posting = posting.filter((other) => other !== one);
            resolve({ tookMs: 1, ...posted });
          },
        };
        posting.push(one);
        mostAtOnce = Math.max(mostAtOnce, posting.length);
      });
    forwarder = new Forwarder(post, (attempt) => attempts.push(attempt), stop.signal);
  });

  it('posts four at a time and takes a hundred', async () => {
    let taken = 0;
    const all = (async () => {
      for (let n = 0; n < 150; n += 1) {
        await forwarder.take(messageOf(`g${n}`));
        taken += 1;
      }
    })();
    await until(() => taken === 99 && posting.length === 4);
    while (attempts.length < 150) {
      posting[0]?.end({ status: 204 });
      await new Promise(setImmediate);
    }
    await all;
    await forwarder.settled();
    expect([mostAtOnce, forwarder.counts]).to.deep.equal([4, { delivered: 150, exhausted: 0 }]);
  });

  it('posts a later message of a generation after the earlier one, which it tries no more', async () => {
    await forwarder.take(messageOf('one', 'generation.running'));
    await until(() => posting.length === 1);
    await forwarder.take(messageOf('one'));
    await new Promise(setImmediate);
    expect(posting.map(({ id }) => id)).to.deep.equal(['msg_one_generation.running']);
    posting[0]?.end({ status: 500 });
    await until(() => posting.length === 1 && posting[0]?.id === 'msg_one_generation.succeeded');
    posting[0]?.end({ status: 204 });
    await forwarder.settled();
    expect(attempts.map(({ message, state }) => [message.event, state])).to.deep.equal([
      ['generation.running', 'retrying'],
      ['generation.succeeded', 'delivered'],
    ]);
  });

  it('waits as long as it is asked, a minute at most, and begins nothing once it is stopped', async () => {
    await forwarder.take(messageOf('one'));
    await forwarder.take(messageOf('two'));
    await until(() => posting.length === 2);
    posting[0]?.end({ status: 503, retryAfter: 30 });
    posting[0]?.end({ status: 429, retryAfter: 86_400 });
    await until(() => attempts.length === 2);
    expect(attempts.map(({ waitSeconds }) => waitSeconds)).to.deep.equal([30, 60]);
    stop.abort();
    await forwarder.take(messageOf('three'));
    await forwarder.settled();
    expect([posting, attempts.length]).to.deep.equal([[], 2]);
  });

  it('ends with the first failure of a post or of its report, by the next message and by the end of all', async () => {
    for (const part of ['post', 'report'] as const) {
      const failing = new Forwarder(
        ({ messageId }) =>
          part === 'post' ? Promise.reject(new Error(messageId)) : Promise.resolve({ tookMs: 1, status: 204 }),
        ({ message }) => {
          throw new Error(message.messageId);
        },
        stop.signal,
      );
      await failing.take(messageOf('one'));
      await failing.take(messageOf('two'));
      await new Promise(setImmediate);
      const failures = [failing.take(messageOf('three')), failing.settled()].map((one) =>
        one.catch((error: unknown) => (error as Error).message),
      );
      expect(await Promise.all(failures), part).to.deep.equal(Array(2).fill('msg_one_generation.succeeded'));
    }
  });
});
