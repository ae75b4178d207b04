import { expect } from 'chai';
import { isFullRun } from '../../harness/run-sizes.js';
import { hasRecorded, type Measured, measure, recordedFiles } from './recorded.js';

/**
 * Goal: nearly all models that vendors describe can be imported with at most one question, and what is proposed passes the
 * catalog check and fits the vendor's schema. Method: recorded schemas, which are beside the project on some machines; each is
 * imported as an operator would; the usual run takes every fifth. `main.ts` prints the outcome of each.
 *
 * A model counts if it can run (clients upload pictures only, so one that needs a video cannot) and was recorded whole (every
 * field that refers to a list of values still finds it).
 */
describe('the import of recorded schemas', () => {
  let counted: readonly Measured[];
  let all: readonly Measured[];

  function sample(): ReturnType<typeof recordedFiles> {
    return recordedFiles().filter((_, index) => isFullRun() || index % 5 === 0);
  }

  before(async function () {
    if (!hasRecorded()) this.skip();
    all = await Promise.all(sample().map((one) => measure(one)));
    counted = all.filter(({ isWhole, needsOther }) => isWhole && !needsOther);
  });

  it('imports at least 95 of 100 models that can run and were recorded whole', () => {
    expect(counted.length).to.be.at.least(isFullRun() ? 100 : 15);
    const refused = counted.filter(({ outcome }) => outcome === 'refused');
    expect(refused.length / counted.length, refused.map(({ why }) => why).join('\n')).to.be.at.most(0.05);
  });

  it('proposes only entries that the catalog check accepts', () => {
    const faulty = all.filter(({ catalogFaults }) => catalogFaults.length > 0);
    expect(faulty.map(({ file, catalogFaults }) => `${file}: ${catalogFaults[0]}`)).to.deep.equal([]);
  });

  it("proposes only entries whose requests fit the vendor's schema", () => {
    const faulty = all.filter(({ heldFaults }) => heldFaults.length > 0);
    expect(faulty.map(({ file, heldFaults }) => `${file}: ${heldFaults[0]}`)).to.deep.equal([]);
  });

  it('proposes such entries with every further field as a parameter, too', async () => {
    const whole = await Promise.all(sample().map((one) => measure(one, true)));
    const faults = whole.flatMap(({ file, catalogFaults, heldFaults }) =>
      [...catalogFaults, ...heldFaults].map((fault) => `${file}: ${fault}`),
    );
    expect(faults).to.deep.equal([]);
  });
});
