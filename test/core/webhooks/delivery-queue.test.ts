// Goal: one process sends a bounded number of messages at once, and a slow endpoint delays no other; messages without a
// slot are sent later, and so are those in flight when the process stops.
// Method: receivers that answer when the test says so, with many deliveries at once.
import { expect } from 'chai';
import type { Caller } from '../../../core/access/credential.js';
import type { WebhookMessage } from '../../../core/ports/outside.js';
import { announced } from '../../../core/webhooks/decide.js';
import type { WebhookEndpoint } from '../../../core/webhooks/endpoint.js';
import { DEFAULT_ENDPOINT, rotateSecret } from '../../../core/webhooks/manage-endpoints.js';
import { DeliveryQueue } from '../../../core/webhooks/send-delivery.js';
import { CoreWorker, untilSettled } from '../../harness/core-harness.js';
import { DeliveredHarness } from './delivered-harness.js';

const SLOW = 'https://slow.example/hook';
const FAST = 'https://fast.example/hook';

describe('the queue of deliveries', () => {
  let harness: DeliveredHarness;
  let queue: DeliveryQueue;
  let generationId: string;
  /** Functions that answer the messages in flight to slow endpoints. */
  let answers: (() => void)[];
  let most: number;

  beforeEach(async () => {
    harness = await DeliveredHarness.open();
    queue = new DeliveryQueue(harness.core.context);
    answers = [];
    most = 0;
    const worker = await CoreWorker.start(harness.core);
    ({ generationId } = await harness.core.create());
    await untilSettled(harness.core, generationId);
    // From now on, the queue has all wake-ups for itself.
    await worker.context.wakeUps.stop();
    harness.sender.receive = ({ url }, signal) => {
      if (!url.startsWith('https://slow.')) return { status: 200 };
      return new Promise((resolve, reject) => {
        answers.push(() => resolve({ status: 200 }));
        most = Math.max(most, queue.counts.sending);
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    };
  });

  interface Made {
    readonly isDisabled?: boolean;
    /** The webhook URL of each delivery's generation. */
    readonly urlOf?: (index: number) => string;
  }

  /** Creates this many deliveries to an endpoint, and wakes the queue for each; resolves when all wake-ups are done. */
  async function deliver(
    { endpointId }: Pick<WebhookEndpoint, 'endpointId'>,
    count: number,
    { accountId, appId }: Caller = harness.core.caller,
    { isDisabled = false, urlOf }: Made = {},
  ): Promise<void> {
    const { ports, clock } = harness.core;
    const [occurredAt, createdAt] = [clock.now(), clock.now()];
    const about = { accountId, appId, endpointId, generationId, event: 'generation.succeeded', occurredAt } as const;
    const ids = Array.from({ length: count }, () => ports.ids.uuid());
    for (const [index, deliveryId] of ids.entries()) {
      const url = urlOf?.(index);
      const base = { ...about, deliveryId, createdAt, ...(url === undefined ? {} : { url }) };
      await ports.deliveries.insert(announced(base, isDisabled));
    }
    await Promise.all(ids.map((id) => queue.deliver(id)));
  }

  /** From now on no receiver answers until the returned function is called. */
  function hang(): () => void {
    const { clock } = harness.core;
    let hangs = true;
    harness.sender.receive = () => {
      if (!hangs) return { status: 200 };
      return new Promise((resolve) => {
        clock.after(15_000, () => resolve({ fault: 'timeout' }));
      });
    };
    return () => {
      hangs = false;
    };
  }

  /** Wakes the queue from now on; returns a function that counts the wake-ups. */
  async function waking(): Promise<() => number> {
    let woken = 0;
    await harness.core.context.wakeUps.start(({ id }) => {
      woken += 1;
      return queue.deliver(id);
    }, 10_000);
    return () => woken;
  }

  async function pass(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 1) await harness.core.clock.advance(1_000);
  }

  const sentTo = (wanted: string) => harness.sender.received.filter(({ url }: WebhookMessage) => url === wanted).length;

  /** Answers everything that comes, until nothing comes any more. */
  async function answerAll(): Promise<void> {
    for (;;) {
      await harness.core.clock.advance(1);
      const waiting = answers.splice(0);
      if (waiting.length === 0) return;
      for (const answer of waiting) answer();
    }
  }

  it('sends four messages to an endpoint at once, and others past those that wait for it', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    const fast = await harness.endpoint({ url: FAST });
    const waiting = deliver(slow, 12);
    await harness.core.clock.advance(1);
    expect([sentTo(SLOW), queue.counts.waiting]).to.deep.equal([4, 8]);
    await deliver(fast, 30);
    expect(sentTo(FAST)).to.equal(30);
    await answerAll();
    await waiting;
    expect([sentTo(SLOW), queue.counts.sending, queue.counts.waiting]).to.deep.equal([12, 0, 0]);
  });

  it('wakes again what finds no place to wait for its endpoint, and sends all of it', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    const waiting = deliver(slow, 300);
    await harness.core.clock.advance(1);
    expect([queue.counts.sending, queue.counts.waiting]).to.deep.equal([4, 256]);
    await answerAll();
    await waiting;
    expect(sentTo(SLOW)).to.equal(260);
    await harness.core.context.wakeUps.start(({ id }) => queue.deliver(id), 100);
    await harness.core.clock.advance(15_000);
    await answerAll();
    expect(sentTo(SLOW)).to.equal(300);
    const states = new Set((await harness.deliveries(slow.endpointId)).map(({ state }) => state));
    expect([...states]).to.deep.equal(['delivered']);
  });

  it('keeps an account whose endpoints all hang from delaying others, however many deliveries it has', async () => {
    const hanging = await harness.core.newCaller(0);
    for (let hook = 0; hook < 10; hook += 1)
      void deliver(await harness.endpoint({ url: `https://slow.example/${hook}` }, hanging), 300, hanging);
    await harness.core.clock.advance(1);
    expect(queue.counts).to.deep.equal({ sending: 16, waiting: 512 });
    const fast = await harness.endpoint({ url: FAST });
    await deliver(fast, 100);
    expect(sentTo(FAST)).to.equal(100);
  });

  it('sends past a full line what has room', async () => {
    for (let number = 0; number < 4; number += 1) {
      const hanging = await harness.core.newCaller(0);
      for (let hook = 0; hook < 4; hook += 1)
        void deliver(await harness.endpoint({ url: `https://slow.example/${hook}` }, hanging), 132, hanging);
    }
    await harness.core.clock.advance(1);
    expect(queue.counts).to.deep.equal({ sending: 64, waiting: 2_000 });
    const fast = await harness.endpoint({ url: FAST });
    await deliver(fast, 1);
    expect(sentTo(FAST)).to.equal(1);
  });

  it('sends a backlog of an endpoint that hangs all the time, and looks at the rest every five minutes', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    hang();
    void deliver(slow, 1_000);
    await harness.core.clock.advance(1);
    const woken = await waking();
    const before = harness.sender.received.length;
    await pass(1_800);
    const sent = harness.sender.received.length - before;
    expect(sent).to.be.at.least(400);
    expect(woken()).to.be.at.most(sent + (1_000 - 260) * (1_800 / 300));
  });

  it('sends all of a backlog within five minutes once its endpoint answers', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    const answer = hang();
    void deliver(slow, 1_000);
    await harness.core.clock.advance(1);
    await waking();
    await pass(300);
    answer();
    await pass(300 + 15);
    const tried = new Set(harness.sender.received.map(({ messageId }) => messageId));
    expect(tried.size).to.equal(1_000);
  });

  it('looks at a backlog of addresses of single generations about as often as its account lets it send', async () => {
    const { context, caller } = harness.core;
    await rotateSecret(context, caller, DEFAULT_ENDPOINT);
    hang();
    void deliver({ endpointId: caller.appId }, 1_028, caller, { urlOf: (index) => `https://slow.example/${index}` });
    await harness.core.clock.advance(1);
    expect(queue.counts).to.deep.equal({ sending: 16, waiting: 512 });
    const woken = await waking();
    await pass(60);
    expect(woken()).to.be.at.most(4 * 500);
    await pass(600);
    expect(woken()).to.be.at.most(8 * 500);
  });

  it('does not take an endpoint for a fast one by what was not sent to it', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    hang();
    void deliver(slow, 20);
    await pass(75);
    await deliver(slow, 200, harness.core.caller, { isDisabled: true });
    void deliver(slow, 360);
    await harness.core.clock.advance(1);
    expect(queue.counts).to.deep.equal({ sending: 4, waiting: 256 });
    const woken = await waking();
    await pass(60);
    expect(woken()).to.be.at.most(60);
  });

  it('takes a delivery once, however often it is woken for it', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    const waiting = deliver(slow, 1);
    await harness.core.clock.advance(1);
    const again = queue.deliver((await harness.delivery(slow.endpointId)).deliveryId);
    await harness.core.clock.advance(1);
    expect(queue.counts).to.deep.equal({ sending: 1, waiting: 0 });
    await answerAll();
    await Promise.all([waiting, again]);
    expect(sentTo(SLOW)).to.equal(1);
  });

  it('sends sixteen messages of an account at once, and 128 in all', async () => {
    const all: Promise<void>[] = [];
    for (let number = 0; number < 10; number += 1) {
      const caller = await harness.core.newCaller(0);
      for (let hook = 0; hook < 6; hook += 1)
        all.push(deliver(await harness.endpoint({ url: `https://slow.example/${hook}` }, caller), 4, caller));
      await harness.core.clock.advance(1);
      expect(queue.counts.sending, `${number + 1} accounts`).to.equal(Math.min(16 * (number + 1), 128));
    }
    await answerAll();
    await Promise.all(all);
    expect(most).to.equal(128);
    expect(harness.sender.received).to.have.length(10 * 6 * 4);
  });

  it('finishes what is being sent while it stops, cuts it after a while, and leaves it to the next process', async () => {
    const slow = await harness.endpoint({ url: SLOW });
    const waiting = Promise.allSettled([deliver(slow, 6)]);
    await harness.core.clock.advance(1);
    answers.shift()?.();
    const stopped = queue.stop(5_000);
    await harness.core.clock.advance(1);
    answers.shift()?.();
    await harness.core.clock.advance(5_000);
    expect(await stopped).to.equal(false);
    await waiting;
    const { attempts } = (await harness.deliveries(slow.endpointId)).find(({ state }) => state === 'retrying') ?? {};
    expect(attempts?.map(({ result }) => result)).to.deep.equal(['unknown']);
    const left = (await harness.deliveries(slow.endpointId)).filter(({ state }) => state !== 'delivered');
    expect(left.length).to.be.greaterThan(2);
    const next = new DeliveryQueue(harness.core.process());
    harness.sender.receive = () => ({ status: 200 });
    await harness.core.context.wakeUps.start(({ id }) => next.deliver(id), 100);
    await harness.core.clock.advance(60_000);
    await Promise.all(left.map(({ deliveryId }) => next.deliver(deliveryId)));
    const states = new Set((await harness.deliveries(slow.endpointId)).map(({ state }) => state));
    expect([...states]).to.deep.equal(['delivered']);
  });
});
