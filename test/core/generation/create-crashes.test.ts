// Goal: wherever a create is interrupted, a retry of its key leads to one generation and one hold, and nothing stays
// stuck.
// Method: every store call of a create fails once, before and after its effect, with the process dying or surviving;
// the key is retried until it is answered, the clock is moved on and recovery runs; then everything is counted.
import { expect } from 'chai';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { type Created, createGeneration } from '../../../core/generation/create-generation.js';
import { expectAtRest, recoverAll } from '../../fixtures/recovery-passes.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { cutting } from '../../harness/cut-processes.js';

async function untilAnswered(harness: CoreHarness, context = harness.context): Promise<Created> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      return await createGeneration(context, harness.caller, 'k', harness.body({ count: 2 }));
    } catch (error) {
      const mayRetry =
        error instanceof StoreUnavailable ||
        (error instanceof ServiceError && error.code === 'IDEMPOTENCY_IN_PROGRESS');
      if (!mayRetry) throw error;
      await harness.clock.advance(2_000);
    }
  }
  throw new Error('The key was not answered.');
}

async function callsOfOneCreate(): Promise<string[]> {
  const harness = await CoreHarness.open();
  const names: string[] = [];
  await createGeneration(
    harness.process(cutting(Infinity, 'before', { dies: false, names })),
    harness.caller,
    'k',
    harness.body({ count: 2 }),
  );
  return names;
}

describe('createGeneration, interrupted at any store call', () => {
  for (const cut of ['before', 'after'] as const) {
    for (const dies of [true, false]) {
      it(`${cut} the call, the process ${dies ? 'dying' : 'surviving'}: leaves one generation, one hold, nothing stuck`, async () => {
        const names = await callsOfOneCreate();
        expect(names).to.include.members([
          'claims.insert',
          'accounts.read',
          'accounts.apply',
          'generations.insert',
          'wakeUps.schedule',
        ]);
        for (let index = 0; index < names.length; index += 1) {
          const harness = await CoreHarness.open();
          const broken = harness.process(cutting(index, cut, { dies }));
          await createGeneration(broken, harness.caller, 'k', harness.body({ count: 2 })).catch(() => undefined);
          const answered = await untilAnswered(harness, dies ? harness.context : broken);
          await recoverAll(harness);
          await expectAtRest(harness, 1);
          expect((await harness.generations())[0]?.generationId, `${cut} ${names[index]}`).to.equal(
            answered.generation.generationId,
          );
          expect((await harness.account()).available).to.equal(980);
        }
      });
    }
  }

  it('and never retried: leaves one generation with its hold, or neither', async () => {
    const names = await callsOfOneCreate();
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < names.length; index += 1) {
        const harness = await CoreHarness.open();
        await createGeneration(
          harness.process(cutting(index, cut, { dies: true })),
          harness.caller,
          'k',
          harness.body({ count: 2 }),
        ).catch(() => undefined);
        await recoverAll(harness);
        const { length } = await harness.generations();
        await expectAtRest(harness, length);
        expect((await harness.account()).available).to.equal(1_000 - 20 * length);
      }
    }
  });
});
