// Goal: every endpoint is notified of an end at least once, by a schedule, and never of an older state after a newer
// one; an endpoint that fails is disabled in time, and this is reported.
// Method: a worker in memory on a clock that only the test moves, with receivers whose answers the test gives.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { deleteGeneration } from '../../../core/generation/end-generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import type { WebhookMessage } from '../../../core/ports/outside.js';
import { replayDeliveries, replayDelivery } from '../../../core/webhooks/deliveries.js';
import { WEBHOOK_EVENTS } from '../../../core/webhooks/endpoint.js';
import { deleteEndpoint, getEndpoint, rotateSecret, updateEndpoint } from '../../../core/webhooks/manage-endpoints.js';
import { MAX_TESTS_PER_DAY, MAX_TESTS_PER_MINUTE, sendTest } from '../../../core/webhooks/test-event.js';
import type { Interceptor } from '../../fixtures/intercepted.js';
import { CoreWorker, expectCode, untilSettled } from '../../harness/core-harness.js';
import { DeliveredHarness } from './delivered-harness.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('deliveries of webhooks', () => {
  let harness: DeliveredHarness;
  beforeEach(async () => {
    harness = await DeliveredHarness.open();
  });

  it('tell each endpoint of the end once, with the generation as it is, under its own id and secret', async () => {
    const one = await harness.endpoint();
    const two = await harness.endpoint({ url: 'https://receiver.example/two' });
    const { generationId } = await harness.ended();
    for (const { endpointId } of [one, two]) await harness.untilState(endpointId, 'delivered');
    expect(harness.told()).to.have.deep.members([
      ['generation.succeeded', one.url],
      ['generation.succeeded', two.url],
    ]);
    const [first, second] = harness.sender.received;
    expect(first?.view.generation).to.include({ generationId, status: 'succeeded' });
    expect(first?.view.outputs).to.have.length(1);
    expect(first?.messageId).not.to.equal(second?.messageId);
    expect(first?.keys).not.to.deep.equal(second?.keys);
    expect((await harness.delivery(one.endpointId)).attempts).to.have.length(1);
  });

  it('tell only what the endpoint wants, and nothing to other Apps', async () => {
    const failures = await harness.endpoint({ url: 'https://receiver.example/f', events: ['generation.failed'] });
    const stranger = await harness.endpoint({ url: 'https://receiver.example/s' }, await harness.core.newCaller(0));
    await harness.ended();
    await harness.core.clock.advance(DAY_MS);
    expect(harness.told()).to.deep.equal([]);
    expect(await harness.deliveries(failures.endpointId)).to.deep.equal([]);
    expect(await harness.deliveries(stranger.endpointId)).to.deep.equal([]);
  });

  it('cost an App without endpoints no write', async () => {
    const calls: string[] = [];
    const generation = await harness.core.create();
    await CoreWorker.start(harness.core, 'counted', (call) => {
      if (/^(?:deliveries|webhookEndpoints)\./.test(call.name)) calls.push(call.name);
      return call.proceed();
    });
    await untilSettled(harness.core, generation.generationId);
    expect(new Set(calls)).to.deep.equal(new Set(['webhookEndpoints.read']));
  });

  it('tell of the start where that is wanted, and of the end after it under another id', async () => {
    const { endpointId } = await harness.endpoint({ url: 'https://receiver.example/all', events: [...WEBHOOK_EVENTS] });
    const { provider, clock } = harness.core;
    provider.newReport = () => ({ state: 'running', outputs: [] });
    const { generationId } = await harness.core.create();
    await CoreWorker.start(harness.core);
    await clock.advance(1_000);
    provider.onlyTask.report = { state: 'cancelled', outputs: [] };
    await untilSettled(harness.core, generationId);
    const { attempts } = await harness.untilState(endpointId, 'delivered');
    expect(attempts.map(({ event, result }) => [event, result])).to.deep.equal([
      ['generation.running', 'delivered'],
      ['generation.failed', 'delivered'],
    ]);
    const [start, end] = harness.sender.received;
    expect(start?.messageId).not.to.equal(end?.messageId);
  });

  it('skip a start that was not delivered before the end came', async () => {
    harness.sender.receive = ({ event }) => ({ status: event === 'generation.running' ? 500 : 200 });
    const { endpointId } = await harness.endpoint({ url: 'https://receiver.example/all', events: [...WEBHOOK_EVENTS] });
    await harness.ended();
    await harness.untilState(endpointId, 'delivered');
    await harness.core.clock.advance(10 * DAY_MS);
    const events = harness.told().map(([event]) => event);
    expect(events.indexOf('generation.succeeded')).to.equal(events.length - 1);
  });

  it('are tried ten times over 75 hours under one id, then given up and said so', async () => {
    harness.sender.receive = () => ({ status: 503 });
    const { endpointId } = await harness.endpoint();
    await harness.ended();
    const startedAt = harness.core.clock.now();
    const delivery = await harness.untilState(endpointId, 'exhausted', 10 * DAY_MS);
    expect((harness.core.clock.now() - startedAt) / HOUR_MS).to.be.within(75 * 0.9, 75 * 1.1);
    expect(delivery.attempts).to.have.length(10);
    expect(new Set(harness.sender.received.map(({ messageId }) => messageId)).size).to.equal(1);
    expect(harness.core.warnings.filter(({ event }) => event === 'webhook delivery given up')).to.have.length(1);
    expect(harness.core.warnings.find(({ event }) => event === 'webhook delivery given up')?.about).to.include({
      attempts: 10,
      status: 503,
    });
  });

  it('of tests tell of an example once, signed as every message, and leave no mark on the endpoint', async () => {
    const { context, caller, clock } = harness.core;
    harness.sender.receive = () => ({ status: 410 });
    const endpoint = await harness.endpoint();
    await CoreWorker.start(harness.core);
    const test = await sendTest(context, caller, endpoint.endpointId);
    await clock.advance(DAY_MS);
    const { state, attempts } = await harness.delivery(endpoint.endpointId);
    expect([state, attempts.map(({ status }) => status)]).to.deep.equal(['exhausted', [410]]);
    const [{ view, keys, ...message } = {}, ...more] = harness.sender.received as readonly Partial<WebhookMessage>[];
    expect([message.event, keys?.length, more]).to.deep.equal(['generation.test', 1, []]);
    expect(view?.generation).to.include({ generationId: test.generationId, status: 'succeeded' });
    expect(await context.generations.read(test.generationId)).to.equal(null);
    expect(await getEndpoint(context, caller, endpoint.endpointId)).to.deep.equal(endpoint);
    expect(harness.core.warnings).to.deep.equal([]);
  });

  it('of tests reach a disabled endpoint, each under another id, and are not replayed with others', async () => {
    const { context, caller, clock } = harness.core;
    const { endpointId } = await harness.endpoint();
    await updateEndpoint(context, caller, endpointId, { enabled: false });
    await CoreWorker.start(harness.core);
    for (let n = 0; n < 2; n += 1) await sendTest(context, caller, endpointId);
    await clock.advance(1_000);
    expect((await harness.deliveries(endpointId)).map(({ state }) => state)).to.deep.equal(['delivered', 'delivered']);
    expect(new Set(harness.sender.received.map(({ messageId }) => messageId)).size).to.equal(2);
    await updateEndpoint(context, caller, endpointId, { enabled: true });
    expect(await replayDeliveries(context, caller, endpointId, { state: 'delivered' }, undefined)).to.deep.equal({
      replayed: 0,
    });
  });

  it('of tests are limited by minute and by day', async () => {
    const { context, caller, clock } = harness.core;
    const { endpointId } = await harness.endpoint();
    for (let n = 0; n < MAX_TESTS_PER_DAY; n += 1) {
      if (n % MAX_TESTS_PER_MINUTE === 0) await clock.advance(60_000);
      await sendTest(context, caller, endpointId);
    }
    await clock.advance(60_000);
    await expectCode('RATE_LIMITED', sendTest(context, caller, endpointId));
    const other = await harness.endpoint({ url: 'https://receiver.example/other' });
    await expectCode('OK', sendTest(context, caller, other.endpointId));
    await clock.advance(DAY_MS);
    await expectCode('OK', sendTest(context, caller, endpointId));
  });

  it('wait as long as the receiver asks', async () => {
    const receivedAt: number[] = [];
    harness.sender.receive = () => {
      receivedAt.push(harness.core.clock.now());
      return receivedAt.length === 1 ? { status: 429, retryAfterMs: 2 * HOUR_MS } : { status: 200 };
    };
    const { endpointId } = await harness.endpoint();
    await harness.ended();
    await harness.untilState(endpointId, 'delivered');
    const [failedAt = 0, repeatedAt = 0] = receivedAt;
    expect(receivedAt).to.have.length(2);
    expect(repeatedAt - failedAt).to.be.within(2 * HOUR_MS, 2 * HOUR_MS + 1_000);
  });

  it('take a redirect for a failure, and any 2xx for an acceptance', async () => {
    for (const [status, result] of [
      [204, 'delivered'],
      [299, 'delivered'],
      [301, 'failed'],
      [404, 'failed'],
    ] as const) {
      const one = await DeliveredHarness.open();
      one.sender.receive = () => ({ status });
      const { endpointId } = await one.endpoint();
      await one.ended();
      await one.core.clock.until(async () => (await one.delivery(endpointId)).attempts.length === 1, 'it was tried');
      expect((await one.delivery(endpointId)).attempts[0], `${status}`).to.include({ status, result });
    }
  });

  it('disable an endpoint that answers 410, and keep what it misses for a replay', async () => {
    harness.sender.receive = () => ({ status: 410 });
    const { endpointId } = await harness.endpoint();
    await harness.ended();
    await harness.untilState(endpointId, 'disabled');
    await harness.core.clock.advance(DAY_MS);
    expect(await getEndpoint(harness.core.context, harness.core.caller, endpointId)).to.have.deep.nested.property(
      'disabled.because',
      'gone',
    );
    expect(harness.core.warnings.map(({ event }) => event)).to.include('webhook endpoint disabled');
    await harness.ended();
    expect((await harness.deliveries(endpointId)).map(({ state }) => state)).to.deep.equal(['disabled', 'disabled']);
    expect(harness.sender.received).to.have.length(1);
  });

  it('disable an endpoint that has failed for five days, and not one that succeeded meanwhile', async () => {
    let status = 500;
    harness.sender.receive = () => ({ status });
    const { endpointId } = await harness.endpoint();
    const isDisabled = async () =>
      (await getEndpoint(harness.core.context, harness.core.caller, endpointId)).disabled?.because;
    const failing = async () =>
      (await getEndpoint(harness.core.context, harness.core.caller, endpointId)).failingSince !== undefined;
    await harness.ended();
    await harness.core.clock.advance(4 * DAY_MS);
    expect([await failing(), await isDisabled()]).to.deep.equal([true, undefined]);
    status = 200;
    await harness.ended();
    await harness.core.clock.advance(HOUR_MS);
    expect([await failing(), await isDisabled()]).to.deep.equal([false, undefined]);
    status = 500;
    for (let day = 0; day < 5; day += 1) {
      await harness.ended();
      expect(await isDisabled(), `day ${day}`).to.equal(undefined);
      await harness.core.clock.advance(DAY_MS);
    }
    await harness.ended();
    await harness.core.clock.advance(HOUR_MS);
    expect(await isDisabled()).to.equal('failing');
    await updateEndpoint(harness.core.context, harness.core.caller, endpointId, { enabled: true });
    expect([await failing(), await isDisabled()]).to.deep.equal([false, undefined]);
  });

  it('are signed by the secret before the newest one too, for a day', async () => {
    const { endpointId } = await harness.endpoint();
    await harness.ended();
    await harness.untilState(endpointId, 'delivered');
    await rotateSecret(harness.core.context, harness.core.caller, endpointId);
    await harness.ended();
    await harness.core.clock.advance(DAY_MS);
    await harness.ended();
    await harness.core.clock.advance(1_000);
    const [first, second, third] = harness.sender.received.map(({ keys }) => keys);
    expect(second).to.have.length(2);
    expect(second?.[1]).to.equal(first?.[0]);
    expect(third).to.deep.equal([second?.[0]]);
  });

  it('end with the endpoint, and with the generation', async () => {
    harness.sender.receive = () => ({ status: 500 });
    const gone = await harness.endpoint();
    const kept = await harness.endpoint({ url: 'https://receiver.example/kept' });
    const { generationId } = await harness.ended();
    await harness.untilState(gone.endpointId, 'retrying');
    await harness.untilState(kept.endpointId, 'retrying');
    await deleteEndpoint(harness.core.context, harness.core.caller, gone.endpointId);
    await harness.core.clock.run(deleteGeneration(harness.core.context, harness.core.caller, generationId));
    expect((await harness.delivery(kept.endpointId)).state).to.equal('cancelled');
    await harness.core.clock.advance(DAY_MS);
    expect((await harness.delivery(gone.endpointId)).state).to.equal('cancelled');
    expect(harness.sender.received).to.have.length(2);
    const replay = replayDelivery(
      harness.core.context,
      harness.core.caller,
      kept.endpointId,
      (await harness.delivery(kept.endpointId)).deliveryId,
    );
    expect(await replay.catch((error: unknown) => error)).to.have.property('code', 'CONFLICT');
  });

  it('tell the address of a single generation, signed by the default secret, and its 410 disables nothing', async () => {
    const { context, caller } = harness.core;
    const { key } = await rotateSecret(context, caller, 'default');
    harness.sender.receive = () => ({ status: 410 });
    const webhookUrl = 'https://receiver.example/one';
    const { generation } = await createGeneration(context, caller, 'k', harness.core.body(), { webhookUrl });
    await harness.ended();
    await untilSettled(harness.core, generation.generationId);
    const delivery = await harness.untilState(caller.appId, 'exhausted');
    expect(delivery).to.include({ url: webhookUrl, generationId: generation.generationId });
    expect(harness.told()).to.deep.equal([['generation.succeeded', webhookUrl]]);
    expect(harness.sender.received[0]?.keys).to.deep.equal([key]);
  });

  it('are removed 30 days after their last change', async () => {
    const { endpointId } = await harness.endpoint();
    await harness.ended();
    await harness.untilState(endpointId, 'delivered');
    const recovery = new Recovery(harness.core.context);
    harness.core.clock.jump(30 * DAY_MS - 1_000);
    await harness.core.clock.run(recovery.pass());
    expect(await harness.deliveries(endpointId)).to.have.length(1);
    harness.core.clock.jump(1_000);
    await harness.core.clock.run(recovery.pass());
    expect(await harness.deliveries(endpointId)).to.deep.equal([]);
  });
});

async function isDelivered(harness: DeliveredHarness, endpointId: string): Promise<boolean> {
  return (await harness.deliveries(endpointId))[0]?.state === 'delivered';
}

describe('deliveries, with the worker cut at any call', () => {
  it('are made and sent all the same', async () => {
    let cuts = 0;
    for (let at = 0; ; at += 1) {
      const harness = await DeliveredHarness.open();
      const { endpointId } = await harness.endpoint();
      let calls = 0;
      let isCut = false;
      const cutting: Interceptor = async (call) => {
        if (call.name === 'wakeUps.start' || call.name === 'wakeUps.stop') return call.proceed();
        if (isCut) throw new StoreUnavailable('The process has ended.');
        if (calls++ === at) {
          isCut = true;
          // Half of the calls have their effect.
          if (at % 2 === 0) await call.proceed();
          throw new StoreUnavailable('The process ends.');
        }
        return call.proceed();
      };
      const generation = await harness.core.create();
      const doomed = await CoreWorker.start(harness.core, 'doomed', cutting);
      await harness.core.clock.until(
        async () => isCut || (await isDelivered(harness, endpointId)),
        'it is cut, or done',
      );
      if (!isCut) break;
      void doomed.context.wakeUps.stop();
      cuts += 1;
      const worker = await CoreWorker.start(harness.core, 'next');
      const recovery = new Recovery(worker.context, (left) => worker.dispatcher.takeOver(left));
      for (let passes = 0; passes < 60; passes += 1) {
        await harness.core.clock.run(recovery.pass());
        await harness.core.clock.advance(60_000);
      }
      expect((await harness.core.generation(generation.generationId)).status, `cut at ${at}`).to.equal('succeeded');
      expect((await harness.delivery(endpointId)).state, `cut at ${at}`).to.equal('delivered');
      expect(harness.sender.received.length, `cut at ${at}`).to.be.within(1, 2);
    }
    expect(cuts).to.be.greaterThan(15);
  });
});
