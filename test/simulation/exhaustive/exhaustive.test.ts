// Goal: on one account two REST processes and a worker keep every promise about keys and money, however their calls to
// the ports interleave, and wherever one of them dies.
// Method: every state of five small cases that can be reached within the bounds is visited, by running the real core on
// the adapters in memory, one chosen call at a time; each is held to a model of its own, and each in which nobody waits for
// anything is let come to rest. Larger bounds are for `main.js`, beside this file.
import { expect } from 'chai';
import type { Bounds } from './bounds.js';
import { CASES } from './cases.js';
import { explore } from './explore.js';
import { reportOf } from './report.js';

const WHOLE = 99;

const PARTS: readonly { readonly what: string; readonly bounds: Bounds; readonly isWhole: boolean }[] = [
  { what: 'a worker beside them, any process dying anywhere', isWhole: true, bounds: { depth: WHOLE, crashes: 1, lost: 0, leaps: 0, retries: 0, recoveries: 0, wakes: 1 } },
  { what: 'leases lapsing at any moment, recovery beside them', isWhole: false, bounds: { depth: 13, crashes: 0, lost: 0, leaps: 1, retries: 0, recoveries: 1, wakes: 0 } },
  { what: 'leases lapsing at any moment, and any process dying anywhere', isWhole: true, bounds: { depth: WHOLE, crashes: 1, lost: 0, leaps: 1, retries: 0, recoveries: 0, wakes: 0 } },
  { what: 'any answer lost, any process dying anywhere', isWhole: false, bounds: { depth: 5, crashes: 1, lost: 1, leaps: 1, retries: 1, recoveries: 1, wakes: 1 } },
];

describe('every interleaving of a small world', () => {
  for (const { what, bounds, isWhole } of PARTS) {
    for (const setting of CASES) {
      it(`${setting.name}: ${what}`, async () => {
        const findings = await explore(setting, bounds);
        const report = reportOf(findings, bounds);
        console.log(`      ${report}`);
        expect(findings.violation, report).to.equal(undefined);
        if (isWhole) expect(findings.isWhole, 'nothing is left out').to.equal(true);
      });
    }
  }
});
