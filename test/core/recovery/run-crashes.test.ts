// Goal: wherever a worker is interrupted, recovery and the next worker bring the generation to a single end, charged
// once and settled.
// Method: every store call of a run fails, before and after its effect, with the process dying or continuing; then
// recovery passes and a second worker run until the generation is settled, and everything is counted.
import { expect } from 'chai';
import { Recovery } from '../../../core/recovery/recover.js';
import { expectAtRest } from '../../fixtures/recovery-passes.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker } from '../../harness/core-worker.js';
import { type Cut, cutting } from '../../harness/cut-processes.js';

async function runCut(index: number, cut: Cut, dies: boolean): Promise<string[]> {
  const harness = await CoreHarness.open();
  const names: string[] = [];
  const { generationId } = await harness.create({ count: 2 });
  const first = CoreWorker.idle(harness, 'first', cutting(index, cut, { dies, names }));
  await first.dispatcher.deliver(generationId).catch(() => undefined);
  await harness.clock.advance(5_000);
  const second = await CoreWorker.start(harness, 'second');
  const recovery = new Recovery(second.context);
  for (let pass = 0; pass < 8; pass += 1) {
    await harness.clock.run(recovery.pass());
    await harness.clock.advance(20_000);
  }
  const g = await harness.generation(generationId);
  expect(
    [g.status, g.chargedCredits, g.settledAt === undefined],
    `${cut} call ${index}, ${names[index]}`,
  ).to.deep.equal(['succeeded', 20, false]);
  expect(harness.provider.tasks.size).to.be.at.most(g.attemptsMade);
  for (const output of g.outputs)
    expect(await harness.ports.objects.stat(output.objectKey), 'its outputs are there').not.to.equal(null);
  expect(await harness.account()).to.include({ spent: 20, available: 980, reserved: 0 });
  await expectAtRest(harness, 1);
  return names;
}

describe('a run, interrupted at any store call', () => {
  for (const cut of ['before', 'after'] as const) {
    for (const dies of [true, false]) {
      it(`${cut} the call, the process ${dies ? 'dying' : 'surviving'}: ends with one success, charged once`, async () => {
        const names = await runCut(Infinity, cut, dies);
        expect(names).to.include.members([
          'generations.read',
          'generations.replace',
          'objects.write',
          'objects.read',
          'accounts.apply',
        ]);
        for (let index = 0; index < names.length; index += 1) await runCut(index, cut, dies);
      });
    }
  }
});
