// Goal: the metrics report what happened, for any course of a generation and across processes; measuring changes no
// answer and no error.
// Method: processes with measured ports over stores in memory and a clock that the test moves; the counts are compared
// with the stores and ledgers afterwards, and the contracts of the stores run on measured ones.
import { expect } from 'chai';
import { Registry } from 'prom-client';
import { Metrics, observedPorts } from '../../../apps/metrics/metrics.js';
import { observedCalls } from '../../../apps/metrics/observed-calls.js';
import { PreparedHistogram } from '../../../apps/metrics/prepared-histogram.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { STORE_PORTS } from '../../../core/ports/ports.js';
import type { Providers } from '../../../core/ports/provider.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { parseExposition, valueOf } from '../../fixtures/exposition.js';
import { Gate, intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { imageModel } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { CoreHarness, Life, untilSettled } from '../../harness/core-harness.js';
import { MeasuredProcess } from '../../harness/measured-process.js';

const FINISHED = 'darkroom_generations_finished_total';

/** The methods of an instance, as its class lists them. */
function methodsOf(instance: object): readonly string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(instance)).filter((name) => name !== 'constructor');
}

async function create(harness: CoreHarness, { context }: MeasuredProcess, parameters = {}): Promise<string> {
  return (await createGeneration(context, harness.caller, harness.ports.ids.uuid(), harness.body(parameters)))
    .generation.generationId;
}

describe('measured ports', () => {
  it('count the outcomes of generations, and the credits moved', async () => {
    const harness = await CoreHarness.open({ credits: 100 });
    const one = new MeasuredProcess(harness, 'one');
    await one.startWorking();
    await untilSettled(harness, await create(harness, one, { count: 2 }));
    harness.provider.submitScript = [{ refuse: { code: 'CONTENT_REJECTED_INPUT', message: 'No.', mayRetry: false } }];
    await untilSettled(harness, await create(harness, one));
    harness.provider.submitScript = ['accept'];
    harness.provider.newReport = () => ({ state: 'running' });
    const held = await create(harness, one);
    await harness.clock.advance(3_000);
    expect(await one.value('darkroom_worker_generations', { state: 'running' })).to.equal(1);
    await cancelGeneration(one.context, harness.caller, held);
    await untilSettled(harness, held);
    await create(harness, one, { count: 4 });
    await create(harness, one, { count: 3 });
    expect(await create(harness, one, { count: 4 }).catch((error: unknown) => error)).to.have.property(
      'code',
      'CREDITS_INSUFFICIENT',
    );

    const labels = { model: 'plain-image' };
    expect(await one.value('darkroom_generations_accepted_total', labels)).to.equal(
      (await harness.generations()).length,
    );
    expect(await one.value(FINISHED, { ...labels, status: 'succeeded', code: 'none' })).to.equal(1);
    expect(await one.value(FINISHED, { ...labels, status: 'failed', code: 'CONTENT_REJECTED_INPUT' })).to.equal(1);
    expect(await one.value(FINISHED, { ...labels, status: 'cancelled', code: 'none' })).to.equal(1);
    expect(await one.value(FINISHED)).to.equal(3);
    expect(await one.value('darkroom_generation_run_seconds_count', labels)).to.equal(3);
    expect(await one.value('darkroom_generation_wait_seconds_count', labels)).to.equal(3);
    expect(
      await one.value('darkroom_provider_refusals_total', { provider: 'scripted', code: 'CONTENT_REJECTED_INPUT' }),
    ).to.equal(1);
    const account = await harness.account();
    expect(
      (await one.value('darkroom_holds_opened_total')) - (await one.value('darkroom_holds_closed_total')),
    ).to.equal(account.holds.size);
    expect(await one.value('darkroom_credits_moved_total', { kind: 'charge', to: 'spent' })).to.equal(account.spent);
    for (const kind of ['hold', 'release']) {
      const entries = (await harness.entries()).filter((entry) => entry.kind === kind);
      expect(await one.value('darkroom_credits_moved_total', { kind }), kind).to.equal(
        entries.reduce((sum, { credits }) => sum + credits, 0),
      );
    }
  });

  it('show what is at each provider with its limit, whether it is paused, and refusals for capacity', async () => {
    const harness = await CoreHarness.open();
    const limited: Providers = { ...harness.ports.providers, limits: () => ({ maxConcurrent: 1 }) };
    const one = new MeasuredProcess(harness, 'one', undefined, { providers: limited });
    const labels = { provider: 'scripted' };
    const gauges = async () => ({
      circuit: await one.value('darkroom_provider_circuit', labels),
      tasks: await one.value('darkroom_provider_tasks', labels),
      waiting: await one.value('darkroom_provider_waiting', labels),
      slots: await one.value('darkroom_provider_slots', labels),
    });
    await one.startWorking();
    harness.provider.newReport = () => ({ state: 'running' });
    await create(harness, one);
    await create(harness, one);
    await harness.clock.until(() => harness.provider.tasks.size === 1, 'the limit is reached');
    expect(await gauges()).to.deep.equal({ circuit: 0, tasks: 1, waiting: 1, slots: 1 });
    expect(await one.value('darkroom_provider_slots_limit', labels)).to.equal(1);
    expect(await one.value('darkroom_provider_capacity_refusals_total', labels)).to.equal(0);

    const failure = { code: 'PROVIDER_UNAVAILABLE', message: 'It is full.', mayRetry: true } as const;
    harness.provider.submitScript = [{ refuse: failure, because: 'capacity' }];
    harness.provider.onlyTask.report = { state: 'succeeded', outputs: [{ kind: 'image', mediaType: 'image/png' }] };
    await harness.clock.until(() => harness.provider.submissions.length > 1, 'the next one was refused');
    await harness.clock.advance(1);
    expect(await one.value('darkroom_provider_capacity_refusals_total', labels)).to.equal(1);
    expect((await gauges()).circuit).to.equal(2);
  });

  it('count reports with an unknown status, and calls for which the credential was refused', async () => {
    const harness = await CoreHarness.open();
    const one = new MeasuredProcess(harness, 'one');
    await one.startWorking();
    const labels = { provider: 'scripted' };
    const refusals = () => one.value('darkroom_provider_access_refusals_total', { ...labels, method: 'output' });
    harness.provider.newReport = () => ({ state: 'running', unknownStatus: 'PONDERING', pollAfterMs: 1_000 });
    await create(harness, one);
    await harness.clock.until(
      () => (harness.provider.tasks.size > 0 ? harness.provider.onlyTask.polls > 2 : false),
      'polled',
    );
    expect(await one.value('darkroom_provider_unknown_statuses_total', labels)).to.be.at.least(2);
    const warned = (wanted: string) => harness.warnings.filter(({ event }) => event === wanted).length;
    expect(warned('provider reports a status that is not known')).to.equal(1);
    expect(await refusals()).to.equal(0);
    let tries = 0;
    harness.provider.onOutput = async () => {
      tries += 1;
      throw Object.assign(new Error('The key is refused.'), { isAccessRefused: true });
    };
    harness.provider.onlyTask.report = { state: 'succeeded', outputs: [{ kind: 'image', mediaType: 'image/png' }] };
    await harness.clock.until(() => tries > 2, 'fetched three times');
    await harness.clock.advance(1);
    expect(await refusals()).to.equal(tries);
    expect(warned('provider refuses the credential')).to.equal(1);
  });

  it('count an end once, though its settlement fails and a success comes too late', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ runTimeoutMs: 60_000 })] });
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
    const [one, other] = [new MeasuredProcess(harness, 'one', stores), new MeasuredProcess(harness, 'other', stores)];
    const generationId = await create(harness, one);
    await one.dispatcher.deliver(generationId);
    await harness.clock.advance(10);
    expect(gate.reached).to.equal(true);
    harness.clock.jump(70_000);
    const recovery = new Recovery(one.context);
    isLedgerAway = true;
    await new Recovery(other.context).pass();
    // The period for a last poll is over as well.
    harness.clock.jump(2 * harness.settings.providerCallMs + 60_000);
    expect(
      (await new Recovery(other.context).pass()).generations.ended,
      'ended by another process, and not settled',
    ).to.equal(1);
    gate.open();
    await harness.clock.advance(31_000);
    expect((await harness.generation(generationId)).lateReport?.state).to.equal('succeeded');
    expect((await recovery.pass()).generations.failed, 'not settled here either').to.equal(1);
    await harness.clock.advance(31_000);
    expect((await new Recovery(other.context).pass()).generations.failed, 'nor there').to.equal(1);
    isLedgerAway = false;
    await harness.clock.advance(31_000);
    expect((await recovery.pass()).generations.settled).to.equal(1);
    await harness.clock.advance(harness.settings.outputRetentionMs);
    await recovery.pass();
    await recovery.pass();
    expect([await one.value(FINISHED), await other.value(FINISHED)]).to.deep.equal([0, 1]);
    expect(await other.value(FINISHED, { status: 'failed', code: 'TASK_TIMEOUT' })).to.equal(1);
    const away = { port: 'accounts', reason: 'unavailable' };
    expect(
      (await one.value('darkroom_store_failures_total', away)) +
        (await other.value('darkroom_store_failures_total', away)),
    ).to.equal(turnedAway);
  });

  it('do not count an end that another process wrote and they could not settle', async () => {
    const harness = await CoreHarness.open();
    let isLedgerAway = false;
    const stores: Interceptor = async (call) => {
      if (isLedgerAway && call.name === 'accounts.apply') throw new StoreUnavailable('The ledger is away.');
      return call.proceed();
    };
    const [one, other] = [new MeasuredProcess(harness, 'one', stores), new MeasuredProcess(harness, 'other', stores)];
    const generationId = await create(harness, one);
    isLedgerAway = true;
    await cancelGeneration(other.context, harness.caller, generationId);
    await harness.clock.advance(2_000);
    expect((await new Recovery(one.context).pass()).generations.failed).to.equal(1);
    expect((await harness.generation(generationId)).settledAt).to.equal(undefined);
    expect([await one.value(FINISHED), await other.value(FINISHED)]).to.deep.equal([0, 1]);
  });

  it('measure how long a generation waited and ran, also if it never started', async () => {
    const harness = await CoreHarness.open();
    const one = new MeasuredProcess(harness, 'one');
    harness.provider.newReport = () => ({ state: 'running', pollAfterMs: 1_000 });
    const ran = await create(harness, one);
    const neverRan = await create(harness, one);
    await cancelGeneration(one.context, harness.caller, neverRan);
    harness.clock.jump(20_000);
    await one.dispatcher.deliver(ran);
    await harness.clock.advance(7_000);
    harness.provider.onlyTask.report = {
      state: 'failed',
      failure: { code: 'PROVIDER_REJECTED', message: 'No.', mayRetry: false },
    };
    await untilSettled(harness, ran);
    const g = await harness.generation(ran);
    expect(await one.value('darkroom_generation_wait_seconds_sum')).to.equal(20);
    expect(await one.value('darkroom_generation_run_seconds_sum')).to.equal(
      ((g.completedAt ?? 0) - g.createdAt) / 1_000 - 20,
    );
    expect(await one.value('darkroom_generation_wait_seconds_count')).to.equal(2);
    expect(await one.value('darkroom_generation_run_seconds_count')).to.equal(1);
  });

  it('count a lost lease once, in the process that took it over', async () => {
    const harness = await CoreHarness.open();
    const life = new Life();
    const dying = new MeasuredProcess(harness, 'dying', life.interceptor);
    const living = new MeasuredProcess(harness, 'living');
    harness.provider.newReport = () => ({ state: 'running', pollAfterMs: 60_000 });
    const generationId = await create(harness, living);
    await dying.dispatcher.deliver(generationId);
    await harness.clock.advance(5_000);
    life.isDead = true;
    await harness.clock.advance(harness.settings.leaseMs + 2_000);
    expect(await living.value('darkroom_leases_lost_total')).to.equal(0);
    await living.dispatcher.deliver(generationId);
    await harness.clock.advance(harness.settings.leaseMs * 3);
    expect((await harness.generation(generationId)).lease).to.include({ worker: 'living', fence: 2 });
    expect(await living.value('darkroom_leases_lost_total')).to.equal(1);
    harness.provider.onlyTask.report = { state: 'succeeded', outputs: [{ kind: 'image', mediaType: 'image/png' }] };
    await untilSettled(harness, generationId);
    expect(await living.value('darkroom_leases_lost_total')).to.equal(1);
  });

  it('do not count the lease of a holder that paused and continued as lost', async () => {
    const harness = await CoreHarness.open();
    harness.provider.newReport = () => ({ state: 'running', pollAfterMs: 100 });
    const one = new MeasuredProcess(harness, 'one');
    const generationId = await create(harness, one);
    await one.dispatcher.deliver(generationId);
    await harness.clock.advance(50);
    harness.clock.jump(harness.settings.leaseMs + 5_000);
    await harness.clock.advance(harness.settings.leaseMs);
    expect((await harness.generation(generationId)).lease?.expiresAt).to.be.greaterThan(harness.clock.now());
    expect(await one.value('darkroom_leases_lost_total')).to.equal(0);
  });

  it('do not count a lease that was handed back as lost', async () => {
    const harness = await CoreHarness.open();
    harness.provider.newReport = () => ({ state: 'running', pollAfterMs: 60_000 });
    const [leaving, next] = [new MeasuredProcess(harness, 'leaving'), new MeasuredProcess(harness, 'next')];
    const generationId = await create(harness, leaving);
    await leaving.dispatcher.deliver(generationId);
    await harness.clock.advance(1_000);
    await harness.clock.run(leaving.dispatcher.stop(1_000));
    await next.dispatcher.deliver(generationId);
    await harness.clock.advance(1_000);
    expect((await harness.generation(generationId)).lease?.worker).to.equal('next');
    expect(await next.value('darkroom_leases_lost_total')).to.equal(0);
  });

  it('count conflicts and failures by port, and pass them on unchanged', async () => {
    const harness = await CoreHarness.open();
    const broken: Interceptor = (call) => {
      if (call.name === 'claims.insert') throw new StoreUnavailable('The claims are away.');
      if (call.name === 'uploads.read') throw new TypeError('A bug.');
      return call.proceed();
    };
    const one = new MeasuredProcess(harness, 'one', broken);
    const error: unknown = await createGeneration(one.context, harness.caller, 'k', harness.body()).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(StoreUnavailable).and.have.property('message', 'The claims are away.');
    expect(await one.context.uploads.read('x').catch((thrown: unknown) => thrown)).to.be.instanceOf(TypeError);
    const g = await harness.create();
    expect(await one.context.generations.replace({ ...g, version: 9 }, 8)).to.equal('conflict');
    expect(await one.value('darkroom_store_failures_total', { port: 'acceptances', reason: 'unavailable' })).to.equal(
      1,
    );
    expect(await one.value('darkroom_store_failures_total', { port: 'uploads', reason: 'unexpected' })).to.equal(1);
    expect(await one.value('darkroom_store_failures_total')).to.equal(2);
    expect(await one.value('darkroom_store_conflicts_total', { port: 'generations', method: 'replace' })).to.equal(1);
    expect(
      await one.value('darkroom_store_call_duration_seconds_count', { port: 'acceptances', method: 'accept' }),
    ).to.equal(1);
  });

  it('count calls and failures of every store port', async () => {
    const { ports } = await CoreHarness.open();
    const metrics = new Metrics();
    const away: Interceptor = () => Promise.reject(new StoreUnavailable('The store is away.'));
    const stores = STORE_PORTS.map((port) => [port, intercepted<object>(port, ports[port], away)] as const);
    const measured = observedPorts({ ...ports, ...Object.fromEntries(stores) }, metrics);
    const counted: string[] = [];
    const expected: string[] = [];
    for (const port of STORE_PORTS) {
      const calls = measured[port] as unknown as Readonly<Record<string, () => Promise<unknown>>>;
      const methods = port === 'wakeUps' ? ['schedule'] : methodsOf(ports[port]);
      for (const method of methods) await calls[method]?.().catch(() => undefined);
      expected.push(...methods.map((method) => `${port}.${method}: 1 call`), `${port}: ${methods.length} failures`);
      const families = parseExposition(await metrics.text());
      for (const method of methods) {
        const labels = { port, method };
        counted.push(
          `${port}.${method}: ${valueOf(families, 'darkroom_store_call_duration_seconds_count', labels)} call`,
        );
      }
      const failures = valueOf(families, 'darkroom_store_failures_total', { port, reason: 'unavailable' });
      counted.push(`${port}: ${failures} failures`);
    }
    expect(counted).to.deep.equal(expected);
  });

  it('count the commands in one write of an account', async () => {
    const harness = await CoreHarness.open({ credits: 10_000 });
    const one = new MeasuredProcess(harness, 'one');
    await Promise.all(Array.from({ length: 40 }, () => create(harness, one)));
    expect(await one.value('darkroom_account_write_commands_sum')).to.equal(40);
    expect(await one.value('darkroom_account_write_commands_count')).to.be.lessThan(40);
  });

  it('count calls that a provider has not answered yet, and failed ones', async () => {
    const harness = await CoreHarness.open();
    const one = new MeasuredProcess(harness, 'one');
    await one.startWorking();
    harness.provider.submitScript = ['hang', 'throw'];
    harness.provider.recoverScript = 'throw';
    await create(harness, one);
    await create(harness, one);
    await harness.clock.advance(100);
    expect(await one.value('darkroom_provider_calls_in_flight', { provider: 'scripted' })).to.equal(1);
    expect(await one.value('darkroom_provider_failures_total', { method: 'submit' })).to.equal(1);
    expect(await one.value('darkroom_provider_failures_total', { method: 'recover' })).to.equal(1);
    expect(await one.value('darkroom_wake_ups_delivered_total', { outcome: 'done' })).to.equal(2);
    expect(await one.value('darkroom_wake_ups_in_flight')).to.equal(0);
  });

  it('count the bytes of objects, and release a reader that stops early', async () => {
    const harness = await CoreHarness.open();
    const one = new MeasuredProcess(harness, 'one');
    await one.startWorking();
    await untilSettled(harness, await create(harness, one, { count: 2 }));
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
  it('counts a value in the buckets it does not exceed, under its labels', async () => {
    const registry = new Registry();
    const histogram = new PreparedHistogram({
      name: 'waits',
      help: 'Waits.',
      labelNames: ['of'],
      buckets: [1, 2],
      registers: [registry],
    });
    const observe = histogram.prepare({ of: 'a' });
    histogram.prepare({ of: 'never' });
    for (const value of [0, 1, 1.5, 2, 7]) observe(value);
    const families = parseExposition(await registry.metrics());
    const bucket = (le: string) => valueOf(families, 'waits_bucket', { of: 'a', le });
    expect([
      bucket('1'),
      bucket('2'),
      bucket('+Inf'),
      valueOf(families, 'waits_count'),
      valueOf(families, 'waits_sum'),
    ]).to.deep.equal([2, 4, 5, 5, 11.5]);
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

  it('pass arguments, answers and errors through, though the observer fails', async () => {
    const broken = (): never => {
      throw new Error('The observer broke.');
    };
    const port = observedCalls(new Port(), () => [
      {
        begun: broken,
        answered: broken,
        failed: broken,
        ended: broken,
      },
    ]);
    expect(await port.say('hello')).to.equal('port: hello');
    expect(await port.say('').catch((error: Error) => error.message)).to.equal('There is nothing to say.');
  });
});
