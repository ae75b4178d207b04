// Goal: of requests that come at the same time under one key, one is accepted and the others are answered from it, all
// together: how many they are does not multiply what the account's writer does.
// Method: hundreds of creates at once in one process on memory adapters, where each call takes a millisecond; the calls and the
// time are counted.
import { expect } from 'chai';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';

const TWINS = 300;
const CALL_MS = 1;

describe('creates under one key at the same time', () => {
  let harness: CoreHarness;
  const calls = new Map<string, number>();

  beforeEach(() => calls.clear());

  /** A process whose calls on stores take time, and are counted. */
  function counting() {
    return harness.process(async (call) => {
      calls.set(call.name, (calls.get(call.name) ?? 0) + 1);
      await new Promise<void>((resolve) => {
        harness.clock.after(CALL_MS, resolve);
      });
      return call.proceed();
    });
  }

  it('are one generation, and all answered in the time of a few calls', async () => {
    harness = await CoreHarness.open();
    const context = counting();
    const beganAt = harness.clock.now();
    const created = await harness.clock.run(
      Promise.all(Array.from({ length: TWINS }, () => createGeneration(context, harness.caller, 'k', harness.body()))),
    );
    expect(new Set(created.map(({ generation }) => generation.generationId)).size).to.equal(1);
    expect(created.filter(({ replayed }) => !replayed)).to.have.length(1);
    expect([calls.get('accounts.apply'), calls.get('generations.insert')]).to.deep.equal([1, 1]);
    // The first claims it for its acceptance, and each of the others finds it claimed, once.
    expect(calls.get('claims.insert')).to.equal(TWINS);
    expect(harness.clock.now() - beganAt).to.be.at.most(20 * CALL_MS);
  });

  it('are refused together where another process has the key, with another request', async () => {
    harness = await CoreHarness.open();
    await createGeneration(harness.context, harness.caller, 'k', harness.body({ count: 2 }));
    const context = counting();
    const beganAt = harness.clock.now();
    const codes = await harness.clock.run(
      Promise.all(
        Array.from({ length: TWINS }, () => codeOf(createGeneration(context, harness.caller, 'k', harness.body()))),
      ),
    );
    expect(new Set(codes)).to.deep.equal(new Set(['IDEMPOTENCY_PAYLOAD_MISMATCH']));
    expect([calls.get('accounts.apply'), calls.get('generations.insert')]).to.deep.equal([undefined, undefined]);
    expect(calls.get('claims.insert')).to.equal(TWINS + 1);
    expect(harness.clock.now() - beganAt).to.be.at.most(20 * CALL_MS);
  });

  it('leave those of other keys to be accepted', async () => {
    harness = await CoreHarness.open();
    const context = counting();
    const keys = Array.from({ length: TWINS }, (_, index) => `k${index % 30}`);
    const created = await harness.clock.run(
      Promise.all(keys.map((key) => createGeneration(context, harness.caller, key, harness.body()))),
    );
    for (const [index, { generation }] of created.entries())
      expect(generation.generationId).to.equal(created[index % 30]?.generation.generationId);
    expect(new Set(created.map(({ generation }) => generation.generationId)).size).to.equal(30);
    expect((await harness.account()).holds.size).to.equal(30);
  });
});
