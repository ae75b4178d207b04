// Goal: a mutant counts as found only if core with it was seen to fail, at its recorded seed or by a search. Method:
// the search over given verdicts, and threads of the simulation with real mutants, and with programs that never reach a
// verdict.
import { expect } from 'chai';
import { RUN_SIZES } from '../../harness/run-sizes.js';
import { findMutant } from './find-mutant.js';
import { MUTANTS } from './list/all.js';
import { MutantThread, playMutant, type Outcome } from './play-mutant.js';
import { CONTROL } from './switch.js';

/** A mutant that these seeds find, and the seeds that were played for it. */
function foundBy(...finders: readonly number[]) {
  const played: number[] = [];
  const play = (seeds: readonly number[]): Promise<Outcome> => {
    for (const seed of seeds) {
      played.push(seed);
      if (finders.includes(seed))
        return Promise.resolve({ kind: 'found', found: { seed, invariant: 4, message: 'Invariant 4', step: 1 } });
    }
    return Promise.resolve({ kind: 'survived' });
  };
  return { played, play };
}

const TEN = { seeds: 10, from: 1 };

describe('the search for a mutant', () => {
  it('plays the recorded seed alone when that finds the mutant', async () => {
    const { play, played } = foundBy(3, 7);
    const verdict = await findMutant(play, { ...TEN, recorded: 7 });
    expect(verdict).to.deep.include({ seedsPlayed: 1, isStale: false }).and.nested.include({ 'outcome.found.seed': 7 });
    expect(played).to.deep.equal([7]);
  });

  it('searches from the first seed when the record is stale, and says so', async () => {
    const { play, played } = foundBy(3);
    const verdict = await findMutant(play, { ...TEN, recorded: 7 });
    expect(verdict).to.deep.include({ seedsPlayed: 4, isStale: true }).and.nested.include({ 'outcome.found.seed': 3 });
    expect(played).to.deep.equal([7, 1, 2, 3]);
  });

  it('searches immediately for a mutant without a record', async () => {
    const { play, played } = foundBy(2);
    expect(await findMutant(play, TEN)).to.deep.include({ seedsPlayed: 2, isStale: false });
    expect(played).to.deep.equal([1, 2]);
  });

  it('reports a mutant that no seed finds', async () => {
    const { play, played } = foundBy();
    expect(await findMutant(play, { ...TEN, recorded: 12 })).to.deep.equal({
      outcome: { kind: 'survived' },
      seedsPlayed: 11,
      isStale: true,
    });
    expect(played).to.have.lengthOf(11);
  });

  it('does not continue the search when the recorded seed fails with an error', async () => {
    const broken: Outcome = { kind: 'error', message: 'Out of memory.' };
    expect(await findMutant(() => Promise.resolve(broken), { ...TEN, recorded: 5 })).to.deep.include({
      outcome: broken,
      isStale: false,
    });
  });
});

describe('a thread with a mutant', () => {
  it('finds the mutant, and core as it is passes the same seed', async () => {
    expect(await playMutant('hold-after-insert', [1, 2])).to.include({ kind: 'found' });
    expect(await playMutant(CONTROL, [1])).to.deep.equal({ kind: 'survived' });
  });

  it('keeps no mutant for the next one that it plays', async () => {
    const thread = new MutantThread();
    try {
      const seeds = [1, 2];
      expect(await thread.play(CONTROL, seeds)).to.deep.equal({ kind: 'survived' });
      expect(await thread.play('hold-after-insert', seeds)).to.include({ kind: 'found' });
      expect(await thread.play(CONTROL, seeds)).to.deep.equal({ kind: 'survived' });
      expect(thread).to.include({ played: 3, isUsable: true });
    } finally {
      await thread.close();
    }
  });

  it('is ended when it loops for ever', async () => {
    const program = new URL('data:text/javascript,for (;;);');
    expect(await playMutant(CONTROL, [1], { program, hangsAfterMs: 1 })).to.deep.equal({ kind: 'hangs' });
  });

  it('returns no verdict when it exits on its own, or throws', async () => {
    expect(await playMutant(CONTROL, [1], { program: new URL('data:text/javascript,process.exit(9)') })).to.include({
      kind: 'error',
    });
    const thrown = await playMutant(CONTROL, [1], {
      program: new URL('data:text/javascript,throw new Error("broken")'),
    });
    expect(thrown).to.include({ kind: 'error' }).and.have.property('message').that.includes('broken');
    expect(await playMutant('no-such-mutant', [1])).to.include({ kind: 'error' });
  });
});

describe('the record of seeds', () => {
  it('has one for each mutant', () => {
    expect(RUN_SIZES.mutantSearches.inFull).to.equal(MUTANTS.length);
    const unrecorded = MUTANTS.filter(({ seed }) => seed === undefined).map(({ name }) => name);
    expect(unrecorded, 'npm run test:mutants -- --record').to.deep.equal([]);
  });
});
