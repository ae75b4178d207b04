// Goal: the place of a generation in its App's line is how many of the same model were created before it and are queued, known
// two seconds later at most to every process and at once of its own writes, and asking costs no list for each.
// Method: random creations, starts and ends by two processes beside a model that counts; lists counted on their way; what is
// kept, by its counts and by what the garbage collector leaves.
import { expect } from 'chai';
import fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import type { Page } from '../../../core/paging.js';
import { collectGarbage } from '../../fixtures/collect-garbage.js';
import { CoreHarness } from '../../harness/core-harness.js';

const KEPT_MS = 2_000;
const MODELS = ['one', 'two'] as const;

describe('the place in the queue', () => {
  let harness: CoreHarness;
  let template: Generation;
  let lists: number;
  let fails: boolean;
  let own: Context;
  let other: Context;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    template = await harness.create();
    await harness.context.generations.remove(template.generationId, template.version);
    [lists, fails] = [0, false];
    other = harness.process();
    own = harness.process(async (call) => {
      if (call.name === 'generations.list') lists += 1;
      if (fails) throw new StoreUnavailable('not now');
      return call.proceed();
    });
  });

  async function create(context: Context, modelKey: string, appId = template.appId): Promise<Generation> {
    await harness.clock.advance(1);
    const now = harness.clock.now();
    const made = { ...template, generationId: harness.ports.ids.uuid(), modelKey, appId, createdAt: now, version: 0 };
    await context.generations.insert(made);
    return made;
  }

  async function begin(context: Context, generation: Generation): Promise<void> {
    const next = { ...generation, version: generation.version + 1, status: 'running' as const };
    await context.generations.replace(next, generation.version);
  }

  it('counts those of the same App and model alone, in order of creation', async () => {
    const stranger = await harness.newCaller(0);
    await create(other, 'one', stranger.appId);
    const made = [await create(other, 'one'), await create(other, 'two'), await create(other, 'one')];
    expect(await Promise.all(made.map((one) => own.queuePositions.before(one)))).to.deep.equal([0, 0, 1]);
    expect(lists).to.equal(1);
  });

  it('is what a model says, at once after own writes and two seconds after those of others', async () => {
    const step = fc.record({
      isOwn: fc.boolean(),
      model: fc.constantFrom(...MODELS),
      begins: fc.boolean(),
      pick: fc.nat(99),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const queued: Generation[] = [];
        for (const { isOwn, model, begins, pick } of steps) {
          const context = isOwn ? own : other;
          if (!begins) queued.push(await create(context, model));
          else if (queued.length > 0) {
            const [chosen] = queued.splice(pick % queued.length, 1);
            if (chosen !== undefined) await begin(context, chosen);
          }
          if (!isOwn) await harness.clock.advance(KEPT_MS);
          for (const one of queued) {
            const before = queued.slice(0, queued.indexOf(one)).filter(({ modelKey }) => modelKey === one.modelKey);
            expect(await own.queuePositions.before(one)).to.equal(before.length);
          }
        }
        for (const one of queued) await begin(own, one);
      }),
      { numRuns: 50 },
    );
  });

  it('is listed once in two seconds, however many ask', async () => {
    const made = await create(other, 'one');
    await Promise.all(Array.from({ length: 100 }, () => own.queuePositions.before(made)));
    await harness.clock.advance(KEPT_MS - 1);
    await own.queuePositions.before(made);
    expect(lists).to.equal(1);
    await harness.clock.advance(1);
    await own.queuePositions.before(made);
    expect(lists).to.equal(2);
  });

  it('is not known of what is not queued, of a line too long, and while the store does not answer', async () => {
    const made = await create(other, 'one');
    expect(await own.queuePositions.before({ ...made, status: 'running' })).to.equal(undefined);
    fails = true;
    expect(await own.queuePositions.before(made)).to.equal(undefined);
    fails = false;
    await harness.clock.advance(KEPT_MS);
    for (let more = 0; more < 1_000; more += 1)
      await other.generations.insert({ ...made, generationId: harness.ports.ids.uuid() });
    expect(await own.queuePositions.before(made)).to.equal(undefined);
  });

  it('keeps of Apps that nobody asks for nothing beyond two seconds, once another one is asked for or written to', async () => {
    const idle = Array.from({ length: 20 }, (_, n) => `idle-${n}`);
    for (const appId of idle) {
      await own.queuePositions.before(await create(other, 'one', appId));
      await create(own, 'one', appId);
    }
    expect(own.queuePositions.counts).to.deep.equal({ apps: 20, written: 20 });
    await harness.clock.advance(KEPT_MS);
    await own.queuePositions.before(await create(other, 'one', 'asked'));
    expect(own.queuePositions.counts).to.deep.equal({ apps: 1, written: 0 });
    await harness.clock.advance(KEPT_MS);
    await create(own, 'one', 'written');
    expect(own.queuePositions.counts).to.deep.equal({ apps: 0, written: 0 });
  });

  it('does not keep generations themselves, with their prompts', async () => {
    const made = await create(other, 'one');
    const given: WeakRef<object>[] = [];
    const process = harness.process(async (call) => {
      const answer = await call.proceed();
      if (call.name !== 'generations.list') return answer;
      const items = (answer as Page<Generation>).items.map((item) => ({ ...item }));
      given.push(...items.map((item) => new WeakRef(item)));
      return { items };
    });
    const before = async (): Promise<number | undefined> =>
      process.queuePositions.before({ ...made, createdAt: Infinity });
    expect(await before()).to.equal(1);
    await insertOne(process, made, given);
    expect(await before()).to.equal(2);
    await nextTurn();
    collectGarbage();
    expect(given).to.have.length(2);
    expect(given.filter((one) => one.deref() !== undefined)).to.have.length(0);
    expect(await before(), 'the process is there still').to.equal(2);
  });
});

/** In a function of its own, so that nothing else refers to what it has inserted. */
async function insertOne({ ids, generations }: Context, template: Generation, given: WeakRef<object>[]): Promise<void> {
  const record = { ...template, generationId: ids.uuid() };
  given.push(new WeakRef(record));
  await generations.insert(record);
}
