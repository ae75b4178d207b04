// Goal: a process with exclusive stores starts new tasks at once after the one before was killed, and never exceeds the limit of
// a provider together with the tasks that the killed one left there; each of these takes a place until it is over, and no longer.
// Method: a worker dies with its provider full, and the worker of another boot starts on the same stores, which may be
// away; random ends of the orphaned tasks, with the tasks at the provider counted at each submission.
import { expect } from 'chai';
import fc from 'fast-check';
import { Worker } from '../../../apps/worker/worker.js';
import type { Boot } from '../../../core/boot.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { isTerminal } from '../../../core/generation/generation.js';
import type { ProviderGates } from '../../../core/providers/provider-gates.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import type { Interceptor } from '../../fixtures/intercepted.js';
import { imageModel } from '../../fixtures/models.js';
import { connectedProviders, imagesOf, ScriptedProvider, type ScriptedTask } from '../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

const FIRST: Boot = { id: 'first', isExclusive: true };
const SECOND: Boot = { id: 'second', isExclusive: true };
const HOUR_MS = 3_600_000;

type SubmitStep = ScriptedProvider['submitScript'][number];

/** A service whose first process dies with its tasks at one provider, and the next process on its stores. */
class Succession {
  /** Submissions that began while the provider had as many tasks as it may have. */
  readonly excesses: string[] = [];
  readonly left: string[] = [];
  worker: Worker | undefined;
  private gates: ProviderGates | undefined;
  private checks: Promise<void>[] = [];

  private constructor(
    readonly harness: CoreHarness,
    readonly provider: ScriptedProvider,
    private readonly limits: { p: ProviderLimits },
  ) {}

  /** The first process leaves one task for each of these steps. */
  static async open(steps: readonly SubmitStep[], limit: number, settings = {}): Promise<Succession> {
    const provider = new ScriptedProvider();
    const limits = { p: { maxConcurrent: Math.max(1, steps.length) } };
    const harness = await CoreHarness.open({
      models: ['plain-image', 'other-image'].map((modelKey) =>
        imageModel({ modelKey, route: [{ provider: 'p', settings: {}, weight: 1 }] }),
      ),
      credits: 10_000,
      settings,
      ports: { providers: connectedProviders({ p: provider }, limits) },
    });
    const succession = new Succession(harness, provider, limits);
    provider.newReport = () => ({ state: 'running' });
    provider.submitScript = [...steps, 'accept'];
    const life = new Life();
    const counting = CoreWorker.idle(harness, 'first', life.interceptor, {}, FIRST);
    counting.context.providerGates.counted();
    for (let made = 0; made < steps.length; made += 1) succession.left.push(await succession.create(made % 2 === 1));
    for (const id of succession.left) void counting.dispatcher.deliver(id).catch(() => undefined);
    await harness.clock.until(() => provider.submissions.length === steps.length, 'all are submitted');
    await harness.clock.advance(10);
    life.isDead = true;
    provider.submitScript = ['accept'];
    provider.onSubmit = ({ token }) => void succession.checks.push(succession.check(token));
    limits.p = { maxConcurrent: limit };
    return succession;
  }

  async create(ofOtherModel = false): Promise<string> {
    const { harness } = this;
    const body = harness.body({}, { model_key: ofOtherModel ? 'other-image' : 'plain-image' });
    const { generation } = await harness.post(harness.ports.ids.uuid(), body);
    return generation.generationId;
  }

  async start(interceptor?: Interceptor): Promise<Worker> {
    const context = this.harness.process(interceptor, {}, SECOND);
    this.worker = new Worker(context, { workerId: 'second', recoveryIntervalMs: 15_000, stopGraceMs: 1_000 });
    this.gates = context.providerGates;
    await this.harness.clock.run(this.worker.start());
    return this.worker;
  }

  get submitted(): readonly string[] {
    return this.provider.submissions.map(({ generationId }) => generationId);
  }

  /** Submissions of the second process. */
  get anew(): readonly string[] {
    return this.submitted.slice(this.left.length);
  }

  end(which: (task: ScriptedTask) => boolean = () => true): void {
    for (const task of this.provider.tasks.values())
      if (task.report.state === 'running' && which(task)) task.report = { state: 'succeeded', outputs: imagesOf(1) };
  }

  /** The number of tasks that the gates count, once all checks have run. */
  async counted(): Promise<number> {
    await Promise.all(this.checks);
    return this.gates?.seen.find(({ provider }) => provider === 'p')?.tasks ?? 0;
  }

  /** A task that its generation has given up, or lost to another attempt, may be there as well. */
  private async check(token: string): Promise<void> {
    const running = [...this.provider.tasks.values()].filter(
      ({ report, submission }) => report.state === 'running' && submission.token !== token,
    );
    const { maxConcurrent = Infinity } = this.limits.p;
    const atOnce = await Promise.all(
      running.map(async ({ submission }) => {
        const { status, attempt } = await this.harness.generation(submission.generationId);
        return status === 'running' && attempt?.token === submission.token;
      }),
    );
    const count = atOnce.filter(Boolean).length;
    if (count >= maxConcurrent) this.excesses.push(`submitted beside ${count}, of ${maxConcurrent}`);
  }
}

const steps = (count: number, step: SubmitStep = 'accept') => Array.from({ length: count }, () => step);

describe('the tasks that a killed process left at a provider', () => {
  it('leave the free places to new tasks at once', async () => {
    const succession = await Succession.open(steps(2), 3);
    const ids = [await succession.create(), await succession.create()];
    const { clock } = succession.harness;
    const from = clock.monotonic();
    await succession.start();
    await clock.until(() => succession.anew.length === 1, 'one is submitted');
    expect(clock.monotonic() - from).to.be.below(1_000);
    await clock.advance(5 * 60_000);
    expect(succession.anew, 'and no more').to.deep.equal([ids[0]]);
    succession.end();
    for (const id of [...ids, ...succession.left]) {
      await clock.advance(5_000);
      succession.end();
      expect((await untilSettled(succession.harness, id)).status).to.equal('succeeded');
    }
    expect([await succession.counted(), succession.excesses]).to.deep.equal([0, []]);
  });

  it('take their places while they wait to be taken over', async () => {
    const succession = await Succession.open(steps(3), 3);
    const { harness } = succession;
    // One of them has the only place of the model; the others wait for it.
    harness.models = harness.models.map((model) => ({ ...model, concurrency: 1 }));
    await succession.create();
    await succession.start();
    await harness.clock.advance(5 * 60_000);
    expect([succession.anew, await succession.counted()]).to.deep.equal([[], 3]);
  });

  it('take places also where nobody has said whether they were taken', async () => {
    const succession = await Succession.open(['take-and-throw', 'hang'], 2);
    succession.provider.recoverScript = 'throw';
    await succession.create();
    await succession.start();
    await succession.harness.clock.advance(60_000);
    expect([succession.anew, await succession.counted()]).to.deep.equal([[], 2]);
  });

  for (const [where, leaseMs, setMs] of [
    ['had much longer leases', HOUR_MS, 0],
    ['lived before the clock was set back by hours', 30_000, -2 * HOUR_MS],
  ] as const) {
    it(`are counted where that process ${where}`, async () => {
      const succession = await Succession.open(steps(2), 2, { leaseMs });
      const { harness } = succession;
      harness.clock.jump(setMs);
      Object.assign(harness.settings, { leaseMs: 30_000 });
      await succession.create();
      await succession.start();
      await harness.clock.advance(9 * 60_000);
      expect([succession.anew, await succession.counted()]).to.deep.equal([[], 2]);
    });
  }

  it('are counted page by page, whatever else is open', async () => {
    const succession = await Succession.open(steps(3), 3, { maxOpenGenerationsPerAccount: 1_000 });
    for (let made = 0; made < 250; made += 1) await succession.create();
    let pages = 0;
    await succession.start(async (call) => {
      const { limit = Infinity } = (call.args[1] ?? {}) as { limit?: number };
      if (call.name === 'accounts.holdsBefore' && limit === 100) pages += 1;
      return call.proceed();
    });
    await succession.harness.clock.advance(60_000);
    // Once to count the tasks, and once to take over the runs.
    expect([pages, succession.anew.length, await succession.counted()]).to.deep.equal([2 * 3, 0, 3]);
  });

  it('keep everything from being submitted until they are counted, however long a store is away', async () => {
    const succession = await Succession.open(steps(1), 2);
    const { harness } = succession;
    let isAway = true;
    await succession.create();
    await succession.start(async (call) => {
      if (isAway && call.name === 'accounts.holdsBefore') throw new StoreUnavailable('No answer.');
      return call.proceed();
    });
    await harness.clock.advance(5 * 60_000);
    expect(succession.anew).to.deep.equal([]);
    expect(harness.warnings.map(({ event }) => event)).to.include('tasks of earlier processes not counted');
    isAway = false;
    await harness.clock.until(() => succession.anew.length === 1, 'it is submitted', 31_000);
    await harness.clock.advance(60_000);
    expect([await succession.counted(), succession.excesses]).to.deep.equal([2, []]);
  });

  it('are counted but for one whose record can never be read', async () => {
    const succession = await Succession.open(steps(2), 2);
    await succession.create();
    await succession.start(async (call) => {
      if (call.name === 'generations.read' && call.args[0] === succession.left[0]) throw new Error('It is damaged.');
      return call.proceed();
    });
    await succession.harness.clock.until(() => succession.anew.length === 1, 'the new one is submitted', 10_000);
    expect(succession.harness.warnings.map(({ event }) => event)).to.include('task of an earlier process not counted');
  });

  it('give their places back soon after their generations have failed, however long leases are', async () => {
    const succession = await Succession.open(steps(1), 1, { leaseMs: HOUR_MS });
    const { harness } = succession;
    const { runDeadlineAt = 0 } = await harness.generation(succession.left[0]!);
    const [model] = harness.models;
    // Only the model of the new one is left.
    harness.models = [{ ...model!, modelKey: 'other-image' }];
    await succession.start();
    await harness.clock.advance(runDeadlineAt - harness.clock.now());
    expect(await succession.counted()).to.equal(1);
    const id = await succession.create(true);
    // No worker can poll the task in the period after the deadline in which a last poll is allowed.
    await harness.clock.advance(2 * harness.settings.providerCallMs + 2 * 15_000 + 31_000);
    expect((await harness.generation(succession.left[0]!)).status).to.equal('failed');
    expect(succession.anew).to.deep.equal([id]);
  });

  it('take no place once what they delivered is in our own store', async () => {
    const succession = await Succession.open(steps(1), 1);
    const { harness } = succession;
    const record = await harness.generation(succession.left[0]!);
    const { reference: _, ...attempt } = record.attempt!;
    const next = { ...record, attempt: { ...attempt, delivered: [] }, version: record.version + 1 };
    await harness.ports.generations.replace(next, record.version);
    await succession.create();
    await succession.start(async (call) => {
      // It stays unchanged: no worker takes it over.
      if (call.name === 'generations.due') throw new StoreUnavailable('No answer.');
      return call.proceed();
    });
    await harness.clock.until(() => succession.anew.length === 1, 'the new one is submitted', 10_000);
  });

  it('never exceed the limit with new ones, and give every place back, however they end', async function run() {
    this.timeout(120_000);
    await forAll(
      100,
      [
        fc.record({
          left: fc.array(fc.constantFrom<SubmitStep>('accept', 'accept', 'hang', 'take-and-throw'), { maxLength: 5 }),
          limit: fc.integer({ min: 1, max: 5 }),
          made: fc.nat({ max: 5 }),
          concurrency: fc.constantFrom(1, 3, 50),
          withdrawn: fc.boolean(),
          setMs: fc.constantFrom(0, 0, -50_000, 50_000),
          failures: fc.nat({ max: 3 }),
          actions: fc.array(
            fc.record({
              act: fc.constantFrom('end', 'cancel', 'fail', 'create', 'wait', 'wait long'),
              index: fc.nat({ max: 9 }),
            }),
            { maxLength: 12 },
          ),
        }),
      ],
      async ({ left, limit, made, concurrency, withdrawn, setMs, failures, actions }) => {
        const succession = await Succession.open(left, limit);
        const { harness, provider } = succession;
        const { clock } = harness;
        const ids = [...succession.left];
        for (let count = 0; count < made; count += 1) ids.push(await succession.create());
        harness.models = harness.models
          .filter(({ modelKey }) => !withdrawn || modelKey === 'plain-image')
          .map((model) => ({ ...model, concurrency }));
        clock.jump(setMs);
        let toFail = failures;
        await succession.start(async (call) => {
          if (/holdsBefore|generations\.read/.test(call.name) && toFail > 0 && (toFail -= 1) >= 0)
            throw new StoreUnavailable('No answer.');
          return call.proceed();
        });
        for (const { act, index } of actions) {
          const task = [...provider.tasks.values()][index];
          if (act === 'end') succession.end((one) => one === task);
          else if (act === 'fail' && task?.report.state === 'running')
            task.report = {
              state: 'failed',
              failure: { code: 'INTERNAL_ERROR', message: 'It broke.', mayRetry: true },
            };
          else if (act === 'cancel' && index < ids.length) await harness.cancel(ids[index]!);
          else if (act === 'create') ids.push(await succession.create());
          await clock.advance(act === 'wait long' ? 400_000 : 3_000);
        }
        provider.newReport = () => ({ state: 'succeeded', outputs: imagesOf(1) });
        for (let rounds = 0; rounds < 300; rounds += 1) {
          succession.end();
          await clock.advance(5_000);
          if ((await harness.generations()).every(({ status }) => isTerminal(status))) break;
        }
        await clock.advance(2 * harness.settings.leaseMs);
        expect(succession.excesses).to.deep.equal([]);
        const open = (await harness.generations()).filter(({ status }) => !isTerminal(status));
        expect(open.map(({ status, attempt }) => [status, attempt])).to.deep.equal([]);
        expect(await succession.counted(), 'places that are taken').to.equal(0);
        await succession.worker?.stop();
      },
    );
  });
});
