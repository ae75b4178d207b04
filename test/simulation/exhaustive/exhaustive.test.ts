// Goal: on one account two REST processes and a worker keep every guarantee about keys and money, however their calls
// to the ports interleave, and wherever one of them dies. Method: every state of five small cases, each on stores of
// both kinds, that is reachable within the bounds is visited, by running the real core on the adapters in memory, one
// chosen call at a time; each state is compared with a separate model, and each state without a pending call is run
// until it is at rest. The default run visits some of the cases, those with a crash completely. Larger bounds are for
// `main.js`.
import { expect } from 'chai';
import { RUN_SIZES, sizeOf } from '../../harness/run-sizes.js';
import { type Bounds, CASES } from './cases.js';
import { explore, reportOf } from './explore.js';

const WHOLE = 99;

interface Part {
  readonly what: string;
  readonly bounds: Bounds;
  readonly isWhole: boolean;
  /** The cases that every run visits; a full run visits the others, too. */
  readonly always: readonly string[];
}

const PARTS: readonly Part[] = [
  {
    what: 'a worker beside them, any process dying anywhere',
    isWhole: true,
    // The case `cancel` takes half a minute in `npm run test:searches`, which CI runs.
    always: [],
    bounds: { depth: WHOLE, crashes: 1, lost: 0, leaps: 0, retries: 0, recoveries: 0, wakes: 1 },
  },
  {
    what: 'leases lapsing at any moment, recovery beside them',
    isWhole: false,
    always: ['cancel'],
    bounds: { depth: 13, crashes: 0, lost: 0, leaps: 1, retries: 0, recoveries: 1, wakes: 0 },
  },
  {
    what: 'leases lapsing at any moment, and any process dying anywhere',
    isWhole: true,
    always: ['two bodies'],
    bounds: { depth: WHOLE, crashes: 1, lost: 0, leaps: 1, retries: 0, recoveries: 0, wakes: 0 },
  },
  {
    what: 'any answer lost, any process dying anywhere',
    isWhole: false,
    always: ['cancel', 'two keys'],
    bounds: { depth: 5, crashes: 1, lost: 1, leaps: 1, retries: 1, recoveries: 1, wakes: 1 },
  },
];

const SEARCHES = PARTS.flatMap((part) =>
  CASES.map((setting) => ({ ...part, setting, isAlways: part.always.includes(setting.name) })),
);
const PLAYED =
  sizeOf('exhaustiveSearches') === SEARCHES.length ? SEARCHES : SEARCHES.filter(({ isAlways }) => isAlways);

describe('every interleaving of a small case', () => {
  for (const { what, bounds, isWhole, setting } of PLAYED) {
    it(`keeps every promise of ${setting.name}: ${what}`, async () => {
      const findings = await explore(setting, bounds);
      const report = reportOf(findings, bounds);
      console.log(`      ${report}`);
      expect(findings.violation, report).to.equal(undefined);
      if (isWhole) expect(findings.isWhole, 'nothing is left out').to.equal(true);
    });
  }

  it('counts its searches as the table of run sizes does', () => {
    const { byDefault, inFull } = RUN_SIZES.exhaustiveSearches;
    expect([SEARCHES.filter(({ isAlways }) => isAlways).length, SEARCHES.length]).to.deep.equal([byDefault, inFull]);
  });
});
