// Goal: whoever follows a generation is told of everything that happens to it, once and in order, also after an
// interruption at any place.
// Method: core on memory adapters with a clock that the test moves; random histories are written as versions, and read
// by followers that are cut off and go on after the last event that they received.
import { expect } from 'chai';
import fc from 'fast-check';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { EVENT_TYPES, type GenerationEvent, generationEvents, isLastEvent } from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { aTombstone } from '../../fixtures/stored-records.js';
import { CoreHarness } from '../../harness/core-harness.js';

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

  /** What a follower receives until nothing more comes, or it is to stop after so many. */
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

  it('come in order, once, whatever is skipped, and go on behind any of them', async () => {
    const step = fc.constantFrom<Partial<Generation>>(
      {},
      { progress: 0.25 },
      { progress: 0.5 },
      { cancelRequestedAt: 1_700_000_003_000 },
      { status: 'running', runDeadlineAt: 1_700_000_600_000 },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), fc.nat({ max: 5 }), async (steps, cut) => {
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
      }),
      { numRuns: 50 },
    );
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

  it("begin for nobody else, and from the start where the id is no event's", async () => {
    const other = await harness.newCaller(0);
    const options = { beatMs: BEAT_MS, until: new TestedCall() };
    const foreign = generationEvents(harness.context, other, generation.generationId, options);
    expect(await codeOf(foreign.next())).to.equal('TASK_NOT_FOUND');
    expect(harness.context.generationWatch.followed).to.equal(0);
    await cancelGeneration(harness.context, harness.caller, generation.generationId);
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
