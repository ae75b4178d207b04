import { expect } from 'chai';
import fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../../core/context.js';
import { type ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { EVENT_TYPES, type GenerationEvent, generationEvents, isLastEvent } from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import { getGeneration, viewGeneration } from '../../../core/generation/read-generations.js';
import type { Page } from '../../../core/paging.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { collectGarbage } from '../../fixtures/resident-memory.js';
import { CoreHarness, CoreWorker, untilSettled, expectCode } from '../../harness/core-harness.js';
import { aTombstone } from '../../fixtures/stored-records.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a client sees only its own generations, with fresh URLs for outputs, and gets a poll time exactly while there is
// something to wait for; an estimate returns the price and the refusals of a create beforehand.
// Method: the use cases on memory adapters; URLs are fetched as a client would.

describe('a generation as its owner sees it', () => {
  it('is found by its id in any letter case, by its own App only, with the same answer for all others', async () => {
    const harness = await CoreHarness.open();
    const { generationId } = await harness.create();
    expect((await getGeneration(harness.context, harness.caller, generationId.toUpperCase())).generationId).to.equal(
      generationId,
    );
    const other = await harness.newCaller(0);
    const refusals = new Set<string>();
    for (const [caller, id] of [
      [other, generationId],
      [{ ...harness.caller, appId: other.appId }, generationId],
      [{ ...other, appId: harness.caller.appId }, generationId],
      [harness.caller, '01900000-0000-7000-8000-00000000ffff'],
      [harness.caller, 'x'],
      [harness.caller, `${generationId}\n`],
    ] as const) {
      const error = (await getGeneration(harness.context, caller, id).catch(
        (refusal: unknown) => refusal,
      )) as ServiceError;
      refusals.add(JSON.stringify([error.code, error.message, error.details]));
    }
    expect([...refusals]).to.deep.equal([JSON.stringify(['TASK_NOT_FOUND', 'There is no such generation.', {}])]);
  });

  it('says when to poll again while it is open, and has outputs once it has ended', async () => {
    const harness = await CoreHarness.open();
    const queued = await harness.create({ count: 2 });
    expect(await viewGeneration(harness.context, queued)).to.deep.equal({
      generation: queued,
      outputs: [],
      pollAfterMs: harness.settings.pollAfterMs,
    });
    await CoreWorker.start(harness);
    const view = await viewGeneration(harness.context, await untilSettled(harness, queued.generationId));
    expect(view).not.to.have.property('pollAfterMs');
    expect(new Set(view.outputs.map(({ url }) => url))).to.have.property('size', 2);
    for (const { url } of view.outputs) {
      const fetched = harness.ports.objects.handle({ method: 'GET', url, headers: {} });
      expect([
        fetched.status,
        fetched.headers['content-type'],
        Buffer.from(fetched.body).equals(plainImage()),
      ]).to.deep.equal([200, 'image/png', true]);
    }
    harness.clock.jump(harness.settings.outputUrlMs);
    for (const { url } of view.outputs)
      expect(harness.ports.objects.handle({ method: 'GET', url, headers: {} }).status).to.equal(403);
  });
});

describe('estimateGeneration', () => {
  it('answers the price, refuses what create would refuse, and stores nothing', async () => {
    const harness = await CoreHarness.open({ credits: 25 });
    const codeFor = (body: ReturnType<CoreHarness['body']>) =>
      estimateGeneration(harness.context, harness.caller, body).then(
        () => 'OK',
        (error: ServiceError) => error.code,
      );
    expect(await estimateGeneration(harness.context, harness.caller, harness.body({ count: 2 }))).to.deep.equal({
      modelKey: 'plain-image',
      operation: 'image_generation',
      estimatedCredits: 20,
      currency: 'credits',
    });
    expect(await codeFor(harness.body({ count: 3 }))).to.equal('CREDITS_INSUFFICIENT');
    expect(await codeFor(harness.body({ count: 0 }))).to.equal('FIELD_INVALID');
    expect(await codeFor({ prompt: 'p' })).to.equal('FIELD_REQUIRED');
    expect([await harness.generations(), (await harness.account()).version]).to.deep.equal([[], 1]);
  });
});

// Goal: the queue position of a generation in its App is the number of queued generations of the same model that were
// created before it. Every process knows it after two seconds at most, its own writes immediately, and a query does not
// list generations each time.
// Method: random creations, starts and ends by two processes beside a model that counts; lists counted on their way;
// the cache is checked by its counts and by what the garbage collector leaves.

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
    await forAll(50, [fc.array(step, { maxLength: 30 })], async (steps) => {
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
    });
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

/** A separate function, so that no other reference to the inserted generation remains. */
async function insertOne({ ids, generations }: Context, template: Generation, given: WeakRef<object>[]): Promise<void> {
  const record = { ...template, generationId: ids.uuid() };
  given.push(new WeakRef(record));
  await generations.insert(record);
}

// Goal: a follower of a generation receives every event once and in order, also after an interruption at any point.
// Method: core on memory adapters with a clock that the test moves; random histories are written as versions, and read
// by followers that are cut off and resume after the last event that they received.

const BEAT_MS = 15_000;

describe('events of a generation', () => {
  let harness: CoreHarness;
  let generation: Generation;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    generation = await harness.create();
  });

  const follow = (until: TestedCall, after?: string) =>
    generationEvents(harness.context, harness.caller, generation.generationId, { after, beatMs: BEAT_MS, until });
  /** The newest version with changes, as some process writes it. */
  async function write(changes: Partial<Generation>): Promise<void> {
    const before = await harness.generation(generation.generationId);
    const next = { ...before, ...changes, version: before.version + 1 };
    await harness.context.generations.replace(next, before.version);
  }

  /** The events that a follower receives until no more come, or until it has `most` of them. */
  async function received(after?: string, most = Infinity): Promise<GenerationEvent[]> {
    const until = new TestedCall();
    const events: GenerationEvent[] = [];
    const all = (async () => {
      for await (const event of follow(until, after)) {
        if (event.type === 'beat') return until.end();
        events.push(event);
        if (events.length >= most) return;
      }
    })();
    await harness.clock.run(all);
    return events;
  }

  it('come in order, once, whatever is skipped, and resume after any of them', async () => {
    const step = fc.constantFrom<Partial<Generation>>(
      {},
      { progress: 0.25 },
      { progress: 0.5 },
      { cancelRequestedAt: 1_700_000_003_000 },
      { status: 'running', runDeadlineAt: 1_700_000_600_000 },
    );
    await forAll(50, [fc.array(step, { maxLength: 6 }), fc.nat({ max: 5 })], async (steps, cut) => {
      generation = await harness.create();
      for (const changes of steps) await write(changes);
      await write({ status: 'succeeded', completedAt: 1_700_000_005_000, updatedAt: 1_700_000_005_000 });
      const all = await received();
      const ranks = all.map(({ type }) => EVENT_TYPES.indexOf(type));
      expect(ranks).to.deep.equal([...new Set(ranks)].sort((a, b) => a - b));
      expect([all[0]?.type, all.at(-1)?.type]).to.deep.equal(['queued', 'ended']);
      const seen = all.slice(0, cut);
      const rest = await received(seen.at(-1)?.id);
      expect([...seen, ...rest].map(({ id }) => id)).to.deep.equal(all.map(({ id }) => id));
    });
  });

  it('come when they happen: by this process at once, and of progress what grows', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const ended = (async () => {
      for await (const event of follow(until))
        types.push(
          event.type === 'beat' ? event.type : `${event.type} ${event.generation.progress ?? '-'} ${event.at}`,
        );
    })();
    await harness.clock.advance(0);
    await write({ status: 'running', runDeadlineAt: 9_000 + generation.terms.runTimeoutMs });
    await harness.clock.advance(0);
    await write({ progress: 0.5, updatedAt: 10_000 });
    await harness.clock.advance(0);
    await write({ progress: 0.5, updatedAt: 11_000 });
    await write({ progress: 0.75, updatedAt: 12_000 });
    await harness.clock.advance(0);
    await write({ status: 'succeeded', completedAt: 13_000 });
    await harness.clock.run(ended);
    expect(types).to.deep.equal([
      `queued - ${generation.createdAt}`,
      'running - 9000',
      'progress 0.5 10000',
      'progress 0.75 12000',
      'ended 0.75 13000',
    ]);
    expect(harness.context.generationWatch.followed).to.equal(0);
  });

  it('come of what another process writes with the next look', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const ended = (async () => {
      for await (const event of follow(until)) types.push(event.type === 'beat' ? event.type : event.type);
    })();
    await harness.clock.advance(0);
    await cancelGeneration(harness.process(), harness.caller, generation.generationId);
    await harness.clock.run(ended);
    expect(types).to.deep.equal(['queued', 'cancel_requested', 'ended']);
  });

  it('beat while nothing happens, and end with whoever listens', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const ended = (async () => {
      for await (const event of follow(until)) types.push(event.type === 'beat' ? event.type : event.type);
    })();
    await harness.clock.advance(BEAT_MS);
    await harness.clock.advance(BEAT_MS);
    until.end();
    await harness.clock.run(ended);
    expect(types).to.deep.equal(['queued', 'beat', 'beat']);
    expect([until.listeners, harness.context.generationWatch.followed]).to.deep.equal([0, 0]);
  });

  it('end when the generation is removed', async () => {
    const until = new TestedCall();
    const ended = (async () => {
      const types: string[] = [];
      for await (const event of follow(until)) types.push(event.type === 'beat' ? event.type : event.type);
      return types;
    })();
    await harness.clock.advance(0);
    const { generationId, version } = generation;
    await harness.context.generations.replace(
      { ...aTombstone(1), kind: 'expired', generationId, version: version + 1 },
      version,
    );
    expect(await harness.clock.run(ended)).to.deep.equal(['queued']);
  });

  it("begin for nobody else, and from the start where the id is not an event's", async () => {
    const other = await harness.newCaller(0);
    const options = { beatMs: BEAT_MS, until: new TestedCall() };
    const foreign = generationEvents(harness.context, other, generation.generationId, options);
    await expectCode('TASK_NOT_FOUND', foreign.next());
    expect(harness.context.generationWatch.followed).to.equal(0);
    await harness.cancel(generation.generationId);
    for (const id of ['', 'x', '5', '-1', '1-', '1-99999', '0.5'])
      expect(
        (await received(id)).map(({ type }) => type),
        id,
      ).to.deep.equal(['queued', 'cancel_requested', 'ended']);
    const [last] = (await received()).slice(-1);
    expect(isLastEvent(last?.id)).to.equal(true);
    expect(await received(last?.id)).to.deep.equal([]);
  });
});
