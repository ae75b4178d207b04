import { expect } from 'chai';
import fc from 'fast-check';
import type { Waits } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { deleteGeneration } from '../../../core/generation/end-generation.js';
import {
  AppChanges,
  appEvents,
  type Beat,
  EVENT_TYPES,
  type GenerationEvent,
  readEventId,
} from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import { pause } from '../../../core/waiting.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a follower of an App receives every event of its generations, in order for each, whoever writes it, and misses
// nothing when its stream is cut anywhere and resumed.
// Method: streams in memory beside workers of the same and of another process, on a clock that only the test moves.

const BEAT_MS = 15_000;

/** Reads a stream until it is stopped; the harness's clock has to move meanwhile. */
class Reader {
  readonly told: GenerationEvent[] = [];
  beats = 0;
  lastId: string | undefined;
  isOver = false;
  hasEnded = false;
  private over: (() => void) | undefined;
  readonly done: Promise<void>;

  constructor(
    context: Context,
    private readonly harness: CoreHarness,
    after?: string,
    /** Leaves the stream after so many events and beats, as a broken line does. */
    private readonly most = Infinity,
    caller = harness.caller,
    /** Takes the ids of beats. */
    private readonly marks: (string | undefined)[] = [],
  ) {
    this.done = this.read(appEvents(context, caller, { after, beatMs: BEAT_MS, until: this.until() }));
  }

  get types(): readonly (readonly [string, string])[] {
    return this.told.map(({ type, generation: reported }) => [reported.generationId, type] as const);
  }

  async stop(): Promise<void> {
    this.isOver = true;
    this.over?.();
    await this.harness.clock.run(this.done);
  }

  private until(): Waits {
    const isOver = (): boolean => this.isOver;
    return {
      get isOver() {
        return isOver();
      },
      onOver: (listener) => {
        this.over = listener;
        return () => {
          this.over = undefined;
        };
      },
    };
  }

  private async read(events: AsyncGenerator<GenerationEvent | Beat>): Promise<void> {
    for await (const event of events) {
      this.lastId = event.id;
      if (event.type === 'beat') this.beats = this.marks.push(event.id);
      else this.told.push(event);
      if (this.told.length + this.beats >= this.most) break;
    }
    this.hasEnded = true;
  }
}

/** The types of the events received for each generation, in order. */
function byGeneration(told: readonly (readonly [string, string])[]): Map<string, string[]> {
  const types = new Map<string, string[]>();
  for (const [id, type] of told) types.set(id, [...(types.get(id) ?? []), type]);
  return types;
}

function expectInOrder(told: Reader['types']): void {
  for (const [id, types] of byGeneration(told)) {
    const ranks = types.map((type) => EVENT_TYPES.indexOf(type as (typeof EVENT_TYPES)[number]));
    expect(ranks, id).to.deep.equal(ranks.toSorted((a, b) => a - b));
  }
}

describe('the events of an App', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open({ credits: 100_000 });
  });

  it('tell of every generation of the App from now on, and of no other App', async () => {
    const before = await harness.create();
    const reader = new Reader(harness.context, harness);
    await harness.clock.advance(1);
    const after = await harness.create();
    await harness.create({}, await harness.newCaller(1_000));
    await CoreWorker.start(harness);
    await untilSettled(harness, before.generationId);
    await untilSettled(harness, after.generationId);
    await harness.clock.advance(10_000);
    await reader.stop();
    const types = byGeneration(reader.types);
    expect([...types.keys()].sort()).to.deep.equal([before.generationId, after.generationId].sort());
    expect(types.get(before.generationId)?.[0]).not.to.equal('queued');
    expect(types.get(before.generationId)?.at(-1)).to.equal('ended');
    expect(types.get(after.generationId)?.[0]).to.equal('queued');
    expect(types.get(after.generationId)?.at(-1)).to.equal('ended');
    expectInOrder(reader.types);
    expect(harness.context.appWatch.followed).to.equal(0);
  });

  it('tell what was missed in the order in which it was created, as far as a page goes', async () => {
    const cut = new Reader(harness.context, harness, undefined, 1);
    await harness.clock.run(cut.done);
    const ids: string[] = [];
    for (let made = 0; made < 3; made += 1) {
      await harness.clock.advance(1_000);
      ids.push((await harness.create()).generationId);
    }
    const resumed = new Reader(harness.context, harness, cut.lastId, ids.length);
    await harness.clock.run(resumed.done);
    expect(resumed.types).to.deep.equal(ids.map((id) => [id, 'queued']));
  });

  it('tell of what began and has ended while the new stream looked for what there was before', async () => {
    const before = await harness.create();
    await CoreWorker.start(harness);
    await untilSettled(harness, before.generationId);
    await harness.clock.advance(1_000);
    let look = (): void => undefined;
    const looking = new Promise<void>((resolve) => {
      look = resolve;
    });
    const generations: Context['generations'] = {
      ...harness.context.generations,
      list: async (...wanted) => {
        await looking;
        return harness.context.generations.list(...wanted);
      },
    };
    const reader = new Reader({ ...harness.context, generations }, harness);
    await harness.clock.advance(1_000);
    const { generationId } = await harness.create();
    await untilSettled(harness, generationId);
    look();
    await harness.clock.advance(10_000);
    await reader.stop();
    const types = byGeneration(reader.types);
    expect([...types.keys()]).to.deep.equal([generationId]);
    expect([types.get(generationId)?.[0], types.get(generationId)?.at(-1)]).to.deep.equal(['queued', 'ended']);
    expectInOrder(reader.types);
  });

  it('tell at once of what this process writes, and of what others write at the next look', async () => {
    const other = harness.process();
    const [near, far] = [new Reader(harness.context, harness), new Reader(other, harness)];
    await harness.clock.advance(1);
    await harness.create();
    await harness.clock.advance(0);
    expect([near.told.length, far.told.length]).to.deep.equal([1, 0]);
    await harness.clock.advance(500);
    expect(far.types).to.deep.equal(near.types);
    await near.stop();
    await far.stop();
  });

  it('tell of an end that came between two looks, or between the start of the stream and the first look', async () => {
    const { generationId } = await harness.create();
    const reader = new Reader(harness.process(), harness);
    await harness.clock.advance(1);
    await CoreWorker.start(harness);
    await untilSettled(harness, generationId);
    await harness.clock.advance(1_000);
    expect(reader.types.at(-1)).to.deep.equal([generationId, 'ended']);
    await reader.stop();
  });

  it('tell nothing twice of what has ended, whatever becomes of its record', async () => {
    const reader = new Reader(harness.context, harness);
    await harness.clock.advance(1);
    const { generationId } = await harness.create();
    await CoreWorker.start(harness);
    await untilSettled(harness, generationId);
    await harness.clock.advance(1_000);
    await harness.clock.run(deleteGeneration(harness.context, harness.caller, generationId));
    await harness.clock.advance(60_000);
    await reader.stop();
    expect(reader.types.filter(([, type]) => type === 'ended')).to.have.length(1);
    expect(reader.beats).to.be.greaterThan(1);
  });

  it('miss no end, though the stream is cut after any event or beat and resumed, by any process', async () => {
    await forAll(
      40,
      [
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(0, 400, 5_000, 600_000),
      ],
      async (cuts, count, awayMs) => {
        const one = await CoreHarness.open({ credits: 100_000 });
        const processes = [one.context, one.process()];
        await CoreWorker.start(one);
        let reader = new Reader(one.context, one, undefined, cuts[0]);
        await one.clock.advance(1);
        const made: string[] = [];
        const told: (readonly [string, string])[] = [];
        for (const [index, most] of cuts.entries()) {
          for (let n = 0; n < count; n += 1) made.push((await one.create()).generationId);
          await one.clock.advance(700);
          const last = reader.lastId;
          expectInOrder(reader.types);
          await reader.stop();
          told.push(...reader.types);
          await one.clock.advance(awayMs);
          if (last === undefined) throw new Error('Nothing was told.');
          reader = new Reader(processes[index % 2] as Context, one, last, most);
          await one.clock.advance(1);
        }
        await reader.stop();
        for (const id of made) await untilSettled(one, id);
        // The last one is not cut.
        const last = new Reader(one.context, one, reader.lastId);
        await one.clock.advance(10_000);
        await last.stop();
        told.push(...reader.types, ...last.types);
        const endedIds = new Set(told.filter(([, type]) => type === 'ended').map(([id]) => id));
        expect(made.filter((id) => !endedIds.has(id))).to.deep.equal([]);
      },
    );
  });

  it('resume after an id of the last day, and start over after anything else', async () => {
    const { generationId } = await harness.create();
    await CoreWorker.start(harness);
    await untilSettled(harness, generationId);
    const id = `${(harness.clock.now() - 3_600_000).toString(36)}_${harness.ports.ids.uuid()}_4`;
    for (const [after, expected] of [
      [id, ['queued', 'running', 'ended']],
      [id.slice(0, id.indexOf('_') + 1), ['queued', 'running', 'ended']],
      ['', []],
      ['4', []],
      [`${id}_5`, []],
      [`zzzzzzzzzzzz_${generationId}_4`, []],
      [`a_${generationId}_9`, []],
      ['a', []],
      ['a__4', []],
    ] as const) {
      const reader = new Reader(harness.context, harness, after);
      await harness.clock.advance(1_000);
      await reader.stop();
      expect(
        reader.types.map(([, type]) => type).filter((type) => type !== 'progress'),
        after,
      ).to.deep.equal(expected);
    }
  });

  it('miss nothing of a stream that is cut before its first event and resumed from where it began', async () => {
    const marks: (string | undefined)[] = [];
    const reader = new Reader(harness.context, harness, undefined, 0, harness.caller, marks);
    await harness.clock.run(reader.done);
    const { generationId } = await harness.create();
    await CoreWorker.start(harness);
    await untilSettled(harness, generationId);
    await harness.clock.advance(3_600_000);
    const resumed = new Reader(harness.process(), harness, marks[0]);
    await harness.clock.advance(1_000);
    await resumed.stop();
    const types = resumed.types.map(([, type]) => type).filter((type) => type !== 'progress');
    expect(types).to.deep.equal(['queued', 'running', 'ended']);
  });

  it('start, with their first heartbeat, before what changed while the past was sent', async () => {
    const before = await harness.create();
    await CoreWorker.start(harness);
    await untilSettled(harness, before.generationId);
    await harness.clock.advance(3_600_000);
    const id = `${(harness.clock.now() - 7_200_000).toString(36)}_`;
    const until = { isOver: false, onOver: () => () => undefined };
    const events = appEvents(harness.context, harness.caller, { after: id, beatMs: BEAT_MS, until });
    expect((await harness.clock.run(events.next())).value).to.include({ type: 'queued' });
    // The client takes its time, and meanwhile another generation comes and ends.
    const meanwhile = await harness.create();
    await untilSettled(harness, meanwhile.generationId);
    await harness.clock.advance(600_000);
    const told = new Set<string>();
    let beat: string | undefined;
    while (beat === undefined) {
      const { value } = await harness.clock.run(events.next());
      if (value?.type === 'beat') beat = value.id;
      else if (value?.type === 'ended') told.add(value.generation.generationId);
    }
    await events.return(undefined);
    expect([...told]).to.deep.equal([before.generationId]);
    const reader = new Reader(harness.process(), harness, beat);
    await harness.clock.advance(1_000);
    await reader.stop();
    expect(reader.types).to.deep.include([meanwhile.generationId, 'ended']);
  });

  it('show that they are looked for, and end with their client, where page after page has nothing new', async () => {
    let isOver = false;
    const begunAt = harness.clock.now();
    const empty = harness.process(async (call) => {
      const { createdFrom } = (call.args[0] ?? {}) as { readonly createdFrom?: number };
      if (call.name !== 'generations.list' || createdFrom === undefined || createdFrom > begunAt - 3_600_000)
        return call.proceed();
      await pause(harness.clock, 20_000);
      return { items: [], nextCursor: 'more' };
    });
    const until: Waits = {
      get isOver() {
        return isOver;
      },
      onOver: () => () => undefined,
    };
    const after = `${(harness.clock.now() - 7_200_000).toString(36)}_`;
    const given: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of appEvents(empty, harness.caller, { after, beatMs: BEAT_MS, until })) {
        given.push(event);
        isOver = given.length === 3;
      }
    };
    await harness.clock.run(read());
    expect(given).to.deep.equal([{ type: 'beat' }, { type: 'beat' }, { type: 'beat' }]);
  });

  it('end for a client that stays too slow, though it keeps receiving some', async () => {
    const template = await harness.create();
    const until = { isOver: false, onOver: () => () => undefined };
    const events = appEvents(harness.context, harness.caller, { beatMs: BEAT_MS, until });
    expect((await harness.clock.run(events.next())).value).to.include({ type: 'beat' });
    const write = (): void =>
      harness.context.appWatch.written({
        ...template,
        generationId: harness.ports.ids.uuid(),
        createdAt: harness.clock.now(),
      });
    let told = 0;
    for (write(), write(); (await harness.clock.run(events.next())).done !== true; write(), write()) told += 1;
    expect(told).to.be.within(9_000, 11_000);
    expect(harness.context.appWatch.followed).to.equal(0);
  });

  it('end for a client that was not told of ten thousand that have changed', async () => {
    const template = await harness.create();
    const reader = new Reader(harness.context, harness);
    await harness.clock.advance(1);
    for (let n = 0; n < 10_002; n += 1)
      harness.context.appWatch.written({
        ...template,
        generationId: harness.ports.ids.uuid(),
        createdAt: harness.clock.now(),
      });
    await harness.clock.run(reader.done);
    expect([reader.hasEnded, harness.context.appWatch.followed]).to.deep.equal([true, 0]);
  });
});

// Goal: a stream of an App remembers only generations that may still change, sends the whole of a long past, forgets no
// pending event, and gives no id beyond an event that it has not sent.
// Method: generations are shown to the memory of one stream, as its past and as changes in between.

const NOW = Date.UTC(2026, 2, 14);
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

function generation(number: number, changes: Partial<Generation> = {}): Generation {
  const generationId = `0199f0d2-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
  return { ...aGeneration(1), generationId, createdAt: NOW, updatedAt: NOW, ...changes };
}

function ended(number: number, at: number, version = 5): Generation {
  return generation(number, { status: 'succeeded', createdAt: at, updatedAt: at, completedAt: at, version });
}

describe('what a stream of an App remembers', () => {
  const anHourAgo = NOW - HOUR_MS;
  const resumed = () => new AppChanges(NOW, { completeTo: NOW - 2 * HOUR_MS });
  const drain = (changes: AppChanges, toldTo = NOW) => [...changes.events(toldTo)];

  it('leaves nothing of a long past out, whatever is written meanwhile, and keeps nothing of it', () => {
    const changes = resumed();
    let told = 0;
    for (let number = 0; number < 25_000; number += 1) {
      const events = changes.eventsOfPast(ended(number, anHourAgo));
      told += events.filter(({ type }) => type === 'ended').length;
      if (number % 1_000 === 0) changes.note(generation(100_000 + number));
    }
    expect(told).to.equal(25_000);
    expect(changes.remembered).to.equal(0);
    changes.pastIsTold();
    expect(drain(changes).filter(({ type }) => type === 'queued')).to.have.length(25);
  });

  it('tells nothing again of what ended long ago, though its record is written once more', () => {
    const changes = resumed();
    changes.eventsOfPast(ended(1, anHourAgo));
    changes.pastIsTold();
    changes.note(ended(1, anHourAgo, 6));
    expect(drain(changes)).to.deep.equal([]);
  });

  it('tells what is new of a generation that the past has shown to be open', () => {
    const changes = resumed();
    changes.eventsOfPast(generation(1, { createdAt: anHourAgo, updatedAt: anHourAgo, version: 1 }));
    changes.note({ ...ended(1, NOW), createdAt: anHourAgo });
    changes.pastIsTold();
    expect(drain(changes).map(({ type }) => type)).to.deep.equal(['ended']);
  });

  it('tells an end once, where the past shows it before an older version that waits and a look after it', () => {
    const changes = resumed();
    const begun = { createdAt: anHourAgo, version: 3, status: 'running', startedAt: anHourAgo + MINUTE_MS } as const;
    const over = { ...generation(1, begun), status: 'succeeded', version: 4, completedAt: NOW } as const;
    changes.note(generation(1, begun));
    expect(changes.eventsOfPast(over).map(({ type }) => type)).to.include('ended');
    changes.pastIsTold();
    expect(drain(changes)).to.deep.equal([]);
    changes.note(over);
    expect(drain(changes)).to.deep.equal([]);
  });

  it('gives all that waits together ids that lead back to before the oldest of it', () => {
    const changes = resumed();
    changes.pastIsTold();
    changes.note(ended(1, NOW + 20 * MINUTE_MS));
    changes.note(ended(2, NOW + MINUTE_MS));
    const marks = drain(changes, NOW).map(({ id }) => readEventId(id)?.completeTo);
    expect(new Set(marks)).to.deep.equal(new Set([NOW]));
  });

  it('begins at its own time behind an id of the future', () => {
    const changes = new AppChanges(NOW, { completeTo: NOW + HOUR_MS });
    expect(changes.from).to.equal(NOW - 2 * MINUTE_MS);
  });

  it('forgets what ended ten minutes ago once there is much of it, and looks for it seldom', () => {
    const changes = new AppChanges(NOW, undefined);
    for (let number = 0; number < 25_000; number += 1) {
      changes.note(ended(number, NOW + MINUTE_MS));
      drain(changes);
      changes.forgetEnded(NOW + MINUTE_MS);
    }
    expect(changes.remembered, 'ended less than ten minutes ago').to.equal(25_000);
    for (let number = 25_000; number < 60_000; number += 1) {
      changes.note(ended(number, NOW + HOUR_MS));
      drain(changes);
      changes.forgetEnded(NOW + HOUR_MS);
    }
    expect(changes.remembered).to.equal(35_000);
  });

  it('keeps neither prompts nor parameters of what waits', () => {
    const changes = new AppChanges(NOW, undefined);
    changes.note(generation(1, { prompt: 'long', negativePrompt: 'longer', parameters: { size: '1x1' } }));
    const [event] = drain(changes);
    expect(event?.generation).to.include({ prompt: '' }).and.not.to.have.property('negativePrompt');
    expect(event?.generation.parameters).to.deep.equal({});
  });
});
