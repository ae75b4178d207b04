// Goal: wherever a create is cut, a retry of its key ends with one generation and one hold, and nothing stays stuck.
// Method: every store call a create makes is failed once, before and after it happened, with the process gone or still
// there; the key is retried until it is answered, the clock moved on and recovery run; then everything is counted.
import { expect } from 'chai';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createGeneration, type Created } from '../../../core/generation/create-generation.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { cutting } from '../../fixtures/cut-processes.js';
import { expectAtRest, recoverAll } from '../../fixtures/recovery-passes.js';

async function untilAnswered(world: CoreWorld, context = world.context): Promise<Created> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      return await createGeneration(context, world.caller, 'k', world.body({ count: 2 }));
    } catch (error) {
      const mayRetry = error instanceof StoreUnavailable || (error instanceof ServiceError && error.code === 'IDEMPOTENCY_IN_PROGRESS');
      if (!mayRetry) throw error;
      await world.clock.advance(2_000);
    }
  }
  throw new Error('The key was not answered.');
}

async function callsOfOneCreate(): Promise<string[]> {
  const world = await CoreWorld.open();
  const names: string[] = [];
  await createGeneration(world.process(cutting(Infinity, 'before', { dies: false, names })), world.caller, 'k', world.body({ count: 2 }));
  return names;
}

describe('createGeneration, cut at any store call', () => {
  for (const cut of ['before', 'after'] as const) {
    for (const dies of [true, false]) {
      it(`${cut} the call, the process ${dies ? 'dying' : 'going on'}: one generation, one hold, nothing stuck`, async () => {
        const names = await callsOfOneCreate();
        expect(names).to.include.members(['claims.insert', 'accounts.read', 'accounts.apply', 'generations.insert', 'wakeUps.schedule']);
        for (let index = 0; index < names.length; index += 1) {
          const world = await CoreWorld.open();
          const broken = world.process(cutting(index, cut, { dies }));
          await createGeneration(broken, world.caller, 'k', world.body({ count: 2 })).catch(() => undefined);
          const answered = await untilAnswered(world, dies ? world.context : broken);
          await recoverAll(world);
          await expectAtRest(world, 1);
          expect((await world.generations())[0]?.generationId, `${cut} ${names[index]}`).to.equal(answered.generation.generationId);
          expect((await world.account()).available).to.equal(980);
        }
      });
    }
  }

  it('and never retried: one generation with its hold, or neither', async () => {
    const names = await callsOfOneCreate();
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < names.length; index += 1) {
        const world = await CoreWorld.open();
        await createGeneration(world.process(cutting(index, cut, { dies: true })), world.caller, 'k', world.body({ count: 2 })).catch(() => undefined);
        await recoverAll(world);
        const { length } = await world.generations();
        await expectAtRest(world, length);
        expect((await world.account()).available).to.equal(1_000 - 20 * length);
      }
    }
  });
});
