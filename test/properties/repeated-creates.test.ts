// Goal: a repeated request never buys again what nobody has got, two honest equal requests are two generations, and a
// refusal leaves nothing, whatever processes, stores and connections do.
// Method: clients that repeat as the SDKs do, over several processes on one set of stores in memory, whose calls are lost,
// late or the last of their process; a model that knows connections alone judges each answer, and counts at the end.
import { expect } from 'chai';
import { forAll } from '../harness/for-all.js';
import { sizeOf } from '../harness/run-sizes.js';
import { playMutant } from '../simulation/mutants/play-mutant.js';
import { HISTORIES } from './repeated-creates/history.js';
import { faultedCreates, FAULT_KINDS } from './repeated-creates/one-create.js';
import { REPETITION_MUTANTS } from './repeated-creates/mutants.js';
import { playHistory } from './repeated-creates/served-history.js';

describe('repeated creates', () => {
  it('buy nothing that nobody has got, over any history', () =>
    forAll(sizeOf('repeatedCreates'), [HISTORIES], async (history) => {
      await playHistory(history);
    }));

  for (const kind of FAULT_KINDS.slice(0, sizeOf('createFaults')))
    it(`buy once if any one call of the first one has the fault: ${kind}`, async () => {
      for (const isExclusive of [true, false])
        for (const client of ['openai', 'ai-sdk'] as const) {
          const played = await faultedCreates({ kind, isExclusive, client });
          expect(played, 'calls of one create').to.be.above(5);
        }
    });

  // Evenly over the list, so that each file of core is among them.
  const step = REPETITION_MUTANTS.length / sizeOf('repetitionMutants');
  for (const { name, seed = 0 } of REPETITION_MUTANTS.filter((_, index) => index % step < 1))
    it(`are found to be wrong with the mutant ${name}`, async () => {
      const program = new URL('./repeated-creates/thread.js', import.meta.url);
      expect(await playMutant(name, [seed], { program })).to.include({ kind: 'found' });
    });
});
