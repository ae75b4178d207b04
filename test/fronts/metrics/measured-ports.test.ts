// Goal: what the metrics say is what happened, however a generation went and whichever process did what; measuring changes
// no answer and no error.
// Method: processes with measured ports over stores in memory and a clock moved by hand; the counts are compared with the
// stores and ledgers afterwards, and the contracts of the stores run on measured ones.
import { expect } from 'chai';
import { Registry } from 'prom-client';
import { observedCalls } from '../../../apps/metrics/observed-calls.js';
import { PreparedHistogram } from '../../../apps/metrics/prepared-histogram.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { cancelGeneration } from '../../../core/generation/cancel-generation.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { imageModel } from '../../fixtures/core-models.js';
import { untilSettled } from '../../fixtures/core-worker.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { Life } from '../../fixtures/cut-processes.js';
import { parseExposition, valueOf } from '../../fixtures/exposition.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { MeasuredProcess } from '../../fixtures/measured-process.js';
import { plainImage } from '../../fixtures/plain-media.js';

const FINISHED = 'darkroom_generations_finished_total';

async function create(world: CoreWorld, { context }: MeasuredProcess, parameters = {}): Promise<string> {
  return (await createGeneration(context, world.caller, world.ports.ids.uuid(), world.body(parameters))).generation.generationId;
}

describe('measured ports', () => {
  it('tell what became of generations, and which credits moved', async () => {
    const world = await CoreWorld.open({ credits: 100 });
    const one = new MeasuredProcess(world, 'one');
    await one.startWorking();
    await untilSettled(world, await create(world, one, { count: 2 }));
    world.provider.submitScript = [{ refuse: { code: 'CONTENT_REJECTED_INPUT', message: 'No.', mayRetry: false } }];
    await untilSettled(world, await create(world, one));
    world.provider.submitScript = ['accept'];
    world.provider.newReport = () => ({ state: 'running' });
    const held = await create(world, one);
    await world.clock.advance(3_000);
    expect(await one.value('darkroom_worker_generations', { state: 'running' })).to.equal(1);
    await cancelGeneration(one.context, world.caller, held);
    await untilSettled(world, held);
    await create(world, one, { count: 4 });
    await create(world, one, { count: 3 });
    expect(await create(world, one, { count: 4 }).catch((error: unknown) => error)).to.have.property('code', 'CREDITS_INSUFFICIENT');

    const labels = { model: 'plain-image' };
    expect(await one.value('darkroom_generations_accepted_total', labels)).to.equal((await world.generations()).length);
    expect(await one.value(FINISHED, { ...labels, status: 'succeeded', code: 'none' })).to.equal(1);
    expect(await one.value(FINISHED, { ...labels, status: 'failed', code: 'CONTENT_REJECTED_INPUT' })).to.equal(1);
    expect(await one.value(FINISHED, { ...labels, status: 'cancelled', code: 'none' })).to.equal(1);
    expect(await one.value(FINISHED)).to.equal(3);
    expect(await one.value('darkroom_generation_run_seconds_count', labels)).to.equal(3);
    expect(await one.value('darkroom_generation_wait_seconds_count', labels)).to.equal(3);
    expect(await one.value('darkroom_provider_refusals_total', { provider: 'scripted', code: 'CONTENT_REJECTED_INPUT' })).to.equal(1);
    const account = await world.account();
    expect(await one.value('darkroom_holds_opened_total') - await one.value('darkroom_holds_closed_total')).to.equal(account.holds.size);
    expect(await one.value('darkroom_credits_moved_total', { kind: 'charge', to: 'spent' })).to.equal(account.spent);
    for (const kind of ['hold', 'release']) {
      const entries = (await world.entries()).filter((entry) => entry.kind === kind);
      expect(await one.value('darkroom_credits_moved_total', { kind }), kind).to.equal(entries.reduce((sum, { credits }) => sum + credits, 0));
    }
  });

  it('count an end once, though its settlement fails and a success comes too late', async () => {
    const world = await CoreWorld.open({ models: [imageModel({ runTimeoutMs: 60_000 })] });
    const gate = new Gate();
    let isLedgerAway = false;
    let turnedAway = 0;
    const stores: Interceptor = async (call) => {
      if (call.name === 'objects.read') await gate.wait();
      if (isLedgerAway && call.name === 'accounts.apply') {
        turnedAway += 1;
        throw new StoreUnavailable('The ledger is away.');
      }
      return call.proceed();
    };
    const [one, other] = [new MeasuredProcess(world, 'one', stores), new MeasuredProcess(world, 'other', stores)];
    const generationId = await create(world, one);
    await one.dispatcher.deliver(generationId);
    await world.clock.advance(10);
    expect(gate.reached).to.equal(true);
    world.clock.jump(70_000);
    const recovery = new Recovery(one.context);
    isLedgerAway = true;
    expect((await new Recovery(other.context).pass()).generations.failed, 'ended by another process, and not settled').to.equal(1);
    gate.open();
    await world.clock.advance(31_000);
    expect((await world.generation(generationId)).lateReport?.state).to.equal('succeeded');
    expect((await recovery.pass()).generations.failed, 'not settled here either').to.equal(1);
    await world.clock.advance(31_000);
    expect((await new Recovery(other.context).pass()).generations.failed, 'nor there').to.equal(1);
    isLedgerAway = false;
    await world.clock.advance(31_000);
    expect((await recovery.pass()).generations.settled).to.equal(1);
    await world.clock.advance(world.settings.outputRetentionMs);
    await recovery.pass();
    await recovery.pass();
    expect([await one.value(FINISHED), await other.value(FINISHED)]).to.deep.equal([0, 1]);
    expect(await other.value(FINISHED, { status: 'failed', code: 'TASK_TIMEOUT' })).to.equal(1);
    const away = { port: 'accounts', reason: 'unavailable' };
    expect(await one.value('darkroom_store_failures_total', away) + await other.value('darkroom_store_failures_total', away)).to.equal(turnedAway);
  });

  it('do not take an end for theirs that another process wrote and they could not settle', async () => {
    const world = await CoreWorld.open();
    let isLedgerAway = false;
    const stores: Interceptor = async (call) => {
      if (isLedgerAway && call.name === 'accounts.apply') throw new StoreUnavailable('The ledger is away.');
      return call.proceed();
    };
    const [one, other] = [new MeasuredProcess(world, 'one', stores), new MeasuredProcess(world, 'other', stores)];
    const generationId = await create(world, one);
    isLedgerAway = true;
    await cancelGeneration(other.context, world.caller, generationId);
    await world.clock.advance(2_000);
    expect((await new Recovery(one.context).pass()).generations.failed).to.equal(1);
    expect((await world.generation(generationId)).settledAt).to.equal(undefined);
    expect([await one.value(FINISHED), await other.value(FINISHED)]).to.deep.equal([0, 1]);
  });

  it('tell how long a generation waited and ran, and what it was when it never started', async () => {
    const world = await CoreWorld.open();
    const one = new MeasuredProcess(world, 'one');
    world.provider.newReport = () => ({ state: 'running', pollAfterMs: 1_000 });
    const ran = await create(world, one);
    const neverRan = await create(world, one);
    await cancelGeneration(one.context, world.caller, neverRan);
    world.clock.jump(20_000);
    await one.dispatcher.deliver(ran);
    await world.clock.advance(7_000);
    world.provider.onlyTask.report = { state: 'failed', failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false } };
    await untilSettled(world, ran);
    const g = await world.generation(ran);
    expect(await one.value('darkroom_generation_wait_seconds_sum')).to.equal(20);
    expect(await one.value('darkroom_generation_run_seconds_sum')).to.equal(((g.completedAt ?? 0) - g.createdAt) / 1_000 - 20);
    expect(await one.value('darkroom_generation_wait_seconds_count')).to.equal(2);
    expect(await one.value('darkroom_generation_run_seconds_count')).to.equal(1);
  });

  it('tell a lease that was lost once, by whoever took it over', async () => {
    const world = await CoreWorld.open();
    const life = new Life();
    const dying = new MeasuredProcess(world, 'dying', life.interceptor);
    const living = new MeasuredProcess(world, 'living');
    world.provider.newReport = () => ({ state: 'running', pollAfterMs: 60_000 });
    const generationId = await create(world, living);
    await dying.dispatcher.deliver(generationId);
    await world.clock.advance(5_000);
    life.isDead = true;
    await world.clock.advance(world.settings.leaseMs + 2_000);
    expect(await living.value('darkroom_leases_lost_total')).to.equal(0);
    await living.dispatcher.deliver(generationId);
    await world.clock.advance(world.settings.leaseMs * 3);
    expect((await world.generation(generationId)).lease).to.include({ worker: 'living', fence: 2 });
    expect(await living.value('darkroom_leases_lost_total')).to.equal(1);
    world.provider.onlyTask.report = { state: 'succeeded', outputs: [{ kind: 'image', mediaType: 'image/png' }] };
    await untilSettled(world, generationId);
    expect(await living.value('darkroom_leases_lost_total')).to.equal(1);
  });

  it('do not take a lease for lost whose holder slept and went on', async () => {
    const world = await CoreWorld.open();
    world.provider.newReport = () => ({ state: 'running', pollAfterMs: 100 });
    const one = new MeasuredProcess(world, 'one');
    const generationId = await create(world, one);
    await one.dispatcher.deliver(generationId);
    await world.clock.advance(50);
    world.clock.jump(world.settings.leaseMs + 5_000);
    await world.clock.advance(world.settings.leaseMs);
    expect((await world.generation(generationId)).lease?.expiresAt).to.be.greaterThan(world.clock.now());
    expect(await one.value('darkroom_leases_lost_total')).to.equal(0);
  });

  it('do not take a lease that was handed back for a lost one', async () => {
    const world = await CoreWorld.open();
    world.provider.newReport = () => ({ state: 'running', pollAfterMs: 60_000 });
    const [leaving, next] = [new MeasuredProcess(world, 'leaving'), new MeasuredProcess(world, 'next')];
    const generationId = await create(world, leaving);
    await leaving.dispatcher.deliver(generationId);
    await world.clock.advance(1_000);
    await world.clock.run(leaving.dispatcher.stop(1_000));
    await next.dispatcher.deliver(generationId);
    await world.clock.advance(1_000);
    expect((await world.generation(generationId)).lease?.worker).to.equal('next');
    expect(await next.value('darkroom_leases_lost_total')).to.equal(0);
  });

  it('tell conflicts and failures by port, and pass them on as they are', async () => {
    const world = await CoreWorld.open();
    const broken: Interceptor = (call) => {
      if (call.name === 'claims.insert') throw new StoreUnavailable('The claims are away.');
      if (call.name === 'uploads.read') throw new TypeError('A bug.');
      return call.proceed();
    };
    const one = new MeasuredProcess(world, 'one', broken);
    const error: unknown = await createGeneration(one.context, world.caller, 'k', world.body()).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(StoreUnavailable).and.have.property('message', 'The claims are away.');
    expect(await one.context.uploads.read('x').catch((thrown: unknown) => thrown)).to.be.instanceOf(TypeError);
    const g = await world.create();
    expect(await one.context.generations.replace({ ...g, version: 9 }, 8)).to.equal('conflict');
    expect(await one.value('darkroom_store_failures_total', { port: 'claims', reason: 'unavailable' })).to.equal(1);
    expect(await one.value('darkroom_store_failures_total', { port: 'uploads', reason: 'unexpected' })).to.equal(1);
    expect(await one.value('darkroom_store_failures_total')).to.equal(2);
    expect(await one.value('darkroom_store_conflicts_total', { port: 'generations', method: 'replace' })).to.equal(1);
    expect(await one.value('darkroom_store_call_duration_seconds_count', { port: 'claims', method: 'insert' })).to.equal(1);
  });

  it('tell how many commands went into one write of an account', async () => {
    const world = await CoreWorld.open({ credits: 10_000 });
    const one = new MeasuredProcess(world, 'one');
    await Promise.all(Array.from({ length: 40 }, () => create(world, one)));
    expect(await one.value('darkroom_account_write_commands_sum')).to.equal(40);
    expect(await one.value('darkroom_account_write_commands_count')).to.be.lessThan(40);
  });

  it('tell calls that a provider has not answered, and those it never will', async () => {
    const world = await CoreWorld.open();
    const one = new MeasuredProcess(world, 'one');
    await one.startWorking();
    world.provider.submitScript = ['hang', 'throw'];
    world.provider.recoverScript = 'throw';
    await create(world, one);
    await create(world, one);
    await world.clock.advance(100);
    expect(await one.value('darkroom_provider_calls_in_flight', { provider: 'scripted' })).to.equal(1);
    expect(await one.value('darkroom_provider_failures_total', { method: 'submit' })).to.equal(1);
    expect(await one.value('darkroom_provider_failures_total', { method: 'recover' })).to.equal(1);
    expect(await one.value('darkroom_wake_ups_delivered_total', { outcome: 'done' })).to.equal(2);
    expect(await one.value('darkroom_wake_ups_in_flight')).to.equal(0);
  });

  it('count the bytes of objects, and let whoever stops reading early go', async () => {
    const world = await CoreWorld.open();
    const one = new MeasuredProcess(world, 'one');
    await one.startWorking();
    await untilSettled(world, await create(world, one, { count: 2 }));
    const { byteLength } = plainImage();
    expect(await one.value('darkroom_object_bytes_total', { direction: 'written' })).to.equal(2 * byteLength);
    expect(await one.value('darkroom_object_bytes_total', { direction: 'read' })).to.equal(2 * byteLength);

    let isLetGo = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(10);
      } finally {
        isLetGo = true;
      }
    }
    const { read } = one.metrics.objects.counted({ read: async () => endless() });
    for await (const piece of (await read('key')) ?? []) if (piece.byteLength > 0) break;
    expect(isLetGo).to.equal(true);
    expect(await one.value('darkroom_object_bytes_total', { direction: 'read' })).to.equal(2 * byteLength + 10);
  });
});

describe('a prepared histogram', () => {
  it('holds a value in the buckets it is not above, under its labels', async () => {
    const registry = new Registry();
    const histogram = new PreparedHistogram({ name: 'waits', help: 'Waits.', labelNames: ['of'], buckets: [1, 2], registers: [registry] });
    const observe = histogram.prepare({ of: 'a' });
    histogram.prepare({ of: 'never' });
    for (const value of [0, 1, 1.5, 2, 7]) observe(value);
    const families = parseExposition(await registry.metrics());
    const bucket = (le: string) => valueOf(families, 'waits_bucket', { of: 'a', le });
    expect([bucket('1'), bucket('2'), bucket('+Inf'), valueOf(families, 'waits_count'), valueOf(families, 'waits_sum')]).to.deep.equal([2, 4, 5, 5, 11.5]);
    expect(families[0]?.samples.map(({ labels }) => labels['of'])).to.deep.equal(['a', 'a', 'a', 'a', 'a']);
    expect(families[0]?.type).to.equal('histogram');
  });
});

describe('observed calls', () => {
  class Port {
    private readonly name = 'port';
    async say(what: string): Promise<string> {
      if (what === '') throw new Error('There is nothing to say.');
      return `${this.name}: ${what}`;
    }
  }

  it('pass arguments, answers and errors through, though the observer breaks', async () => {
    const broken = (): never => { throw new Error('The observer broke.'); };
    const port = observedCalls(new Port(), { say: true }, () => ({ begun: broken, answered: broken, failed: broken, ended: broken }));
    expect(await port.say('hello')).to.equal('port: hello');
    expect(await port.say('').catch((error: Error) => error.message)).to.equal('There is nothing to say.');
  });
});
