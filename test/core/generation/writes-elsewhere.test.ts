// Goal: who waits or follows is told of what another process writes as soon as the store tells of it, and within half a
// second while the store does not; reads are seldom while it does.
// Method: two processes in memory on a store that tells, is interrupted or loses a write; the clock moves by the test's hand.
import { expect } from 'chai';
import type { Context } from '../../../core/context.js';
import { cancelGeneration } from '../../../core/generation/end-generation.js';
import { appEvents } from '../../../core/generation/events.js';
import type { Generation } from '../../../core/generation/generation.js';
import { waitForGeneration } from '../../../core/generation/wait-for-generation.js';
import { LOOK_EVERY_MS, LOOK_SELDOM_MS } from '../../../core/generation/watch.js';
import { generationChangesContract } from '../../contracts/generation-changes.contract.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { TellingGenerations } from '../../fixtures/telling-generations.js';
import { CoreHarness } from '../../harness/core-harness.js';

const WAIT_MS = 60_000;

describe('writes of other processes', () => {
  let harness: CoreHarness;
  let telling: TellingGenerations;
  let writer: Context;
  let reader: Context;
  let asked: string[];

  beforeEach(async () => {
    harness = await CoreHarness.open();
    telling = new TellingGenerations(harness.ports.generations);
    asked = [];
    writer = harness.process(undefined, { generations: telling.store });
    reader = harness.process(
      async (call) => {
        asked.push(call.name);
        return call.proceed();
      },
      { generations: telling.store },
      undefined,
      telling,
    );
  });

  const asks = (name: string): number => asked.filter((one) => one === name).length;

  /** A waiting call on the reader, and how it ended. */
  function waitingFor({ generationId }: Generation): { ended: Generation | undefined; done: Promise<void> } {
    const waiting: { ended: Generation | undefined; done: Promise<void> } = {
      ended: undefined,
      done: Promise.resolve(),
    };
    waiting.done = waitForGeneration(reader, harness.caller, generationId, { waitMs: WAIT_MS }).then((ended) => {
      waiting.ended = ended;
    });
    return waiting;
  }

  const end = ({ generationId }: Generation) => cancelGeneration(writer, harness.caller, generationId);

  it('wake who waits at once', async () => {
    const generation = await harness.create();
    const waiting = waitingFor(generation);
    await harness.clock.advance(1);
    const reads = asks('generations.read');
    await end(generation);
    await harness.clock.advance(0);
    expect(waiting.ended?.status).to.equal('cancelled');
    expect(asks('generations.read'), 'the record came with the change').to.equal(reads);
    expect(telling.followed).to.equal(0);
  });

  it('are told to who follows the App at once', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const all = (async () => {
      for await (const { type } of appEvents(reader, harness.caller, { beatMs: WAIT_MS, until })) types.push(type);
    })();
    await harness.clock.advance(1);
    const record = await harness.create();
    const runDeadlineAt = harness.clock.now() + record.terms.runTimeoutMs;
    await writer.generations.replace({ ...record, version: record.version + 1, runDeadlineAt }, record.version);
    await harness.clock.advance(0);
    expect(types).to.deep.equal(['beat', 'queued', 'running']);
    until.end();
    await harness.clock.run(all);
    expect(telling.followed).to.equal(0);
  });

  it('are looked for seldom while the store tells, once a look has found all of before', async () => {
    const waiting = waitingFor(await harness.create());
    await harness.clock.advance(LOOK_EVERY_MS + 1);
    const before = asks('generations.read');
    await harness.clock.advance(4 * LOOK_SELDOM_MS);
    expect(asks('generations.read') - before).to.equal(4);
    expect(waiting.ended).to.equal(undefined);
    await harness.clock.run(waiting.done);
  });

  it('are found though the store lost one without a word', async () => {
    const generation = await harness.create();
    const waiting = waitingFor(generation);
    await harness.clock.advance(LOOK_EVERY_MS + 1);
    telling.loses = true;
    await end(generation);
    await harness.clock.advance(LOOK_SELDOM_MS);
    expect(waiting.ended?.status).to.equal('cancelled');
  });

  it('are found within half a second from an interruption until a look after its end', async () => {
    const [first, second, third] = [await harness.create(), await harness.create(), await harness.create()];
    const waits = [first, second, third].map(waitingFor);
    await harness.clock.advance(2 * LOOK_SELDOM_MS + 1);
    telling.interrupt();
    await end(first);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(waits[0]?.ended?.status).to.equal('cancelled');
    await end(second);
    telling.reopen();
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(waits[1]?.ended?.status).to.equal('cancelled');
    await end(third);
    await harness.clock.advance(0);
    expect(waits[2]?.ended?.status).to.equal('cancelled');
  });

  it('of an App are found in the same way, and its lists are seldom while the store tells', async () => {
    const until = new TestedCall();
    const types: string[] = [];
    const all = (async () => {
      for await (const { type } of appEvents(reader, harness.caller, { beatMs: 10 * WAIT_MS, until })) types.push(type);
    })();
    await harness.clock.advance(LOOK_EVERY_MS + 1);
    const before = asks('generations.list');
    await harness.clock.advance(2 * LOOK_SELDOM_MS);
    const aLook = (asks('generations.list') - before) / 2;
    telling.interrupt();
    const generation = await harness.create();
    await end(generation);
    await harness.clock.advance(LOOK_EVERY_MS);
    expect(types).to.deep.equal(['beat', 'queued', 'cancel_requested', 'ended']);
    expect(aLook, 'two of what is open, one of what is new').to.equal(3);
    until.end();
    await harness.clock.run(all);
  });

  it('are followed once a watch, and by nobody when nobody waits', async () => {
    expect(telling.followed).to.equal(0);
    const waits = [waitingFor(await harness.create()), waitingFor(await harness.create())];
    await harness.clock.advance(1);
    expect(telling.followed).to.equal(1);
    await harness.clock.advance(WAIT_MS);
    await Promise.all(waits.map(({ done }) => done));
    expect(telling.followed).to.equal(0);
  });
});

generationChangesContract({
  name: 'the store of these tests',
  supports: {},
  open: async () => {
    const changes = new TellingGenerations((await CoreHarness.open()).ports.generations);
    return { changes, own: changes.store, other: changes.store };
  },
  close: async () => undefined,
});
