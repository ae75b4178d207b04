// Goal: every mutant still has its place in core, so that `npm run test:mutants` breaks what it claims to break.
// Method: each one is applied to the compiled core; one whose text is missing, or occurs twice, is reported by name.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { MUTANTS } from './list/all.js';
import { mutated, type Mutant, mutantsIn } from './mutant.js';

/** Their numbers in docs/correctness.md; the contract of the cleaner checks number 29. */
const INVARIANTS = Array.from({ length: 28 }, (_, index) => index + 1);
const DIST = new URL('../../../', import.meta.url);

describe('mutants of core', () => {
  it('have distinct names', () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(names).to.deep.equal([...new Set(names)]);
  });

  it('have names in kebab-case', () => {
    for (const { name } of MUTANTS) expect(name).to.match(/^[a-z]+(-[a-z]+)*$/);
  });

  it('name existing invariants', () => {
    for (const { name, breaks } of MUTANTS) {
      expect(breaks, name).to.have.lengthOf.above(0);
      for (const number of breaks) expect(INVARIANTS, name).to.include(number);
    }
  });

  for (const mutant of MUTANTS) {
    it(`${mutant.name} has one place in ${mutant.file}`, () => {
      const source = readFileSync(new URL(mutant.file, DIST), 'utf8');
      expect(mutated(source, mutant)).to.not.equal(source);
    });
  }

  it('are refused by name if their text is found nowhere or twice', () => {
    const [mutant] = mutantsIn('sample: 1, core/sample.js\nA sample.\n- a +\n- b\n+ a - b') as [Mutant];
    expect(mutant).to.deep.include({ name: 'sample', breaks: [1], file: 'core/sample.js', why: 'A sample.' });
    expect(mutated('f(a\n  + b);', mutant)).to.equal('f(a - b);');
    expect(() => mutated('f(a - b);', mutant))
      .to.throw('Mutant sample')
      .with.property('message')
      .that.includes('0 times');
    expect(() => mutated('f(a + b, a + b);', mutant))
      .to.throw('Mutant sample')
      .with.property('message')
      .that.includes('2 times');
  });
});
