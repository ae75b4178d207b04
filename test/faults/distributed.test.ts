/**
 * Goal: no result a client has received is lost, duplicated or stuck, whatever happens to the processes of an
 * installation, to its stores and to the links between them. Method: two REST processes and three workers of the
 * compiled program on a MongoDB server and an S3 server of their own, under the load of many clients. In rounds drawn
 * from a seed, processes are killed, stopped and frozen past their leases, stores are killed and frozen, links are
 * slowed, cut and black-holed, and S3 refuses and truncates. Then all faults stop, clients retry until they know every
 * outcome, and a checker that shares no code with the program compares what they saw with the records.
 */
import { expect } from 'chai';
import { sizeOf } from '../harness/run-sizes.js';
import { S3_KINDS } from '../harness/store-pairs.js';
import { describeRounds } from './rounds/describe-rounds.js';
import { withReceiverFaults } from './rounds/receiver-faults.js';
import { drawRounds, type Round } from './rounds/schedule.js';
import { type Struck, whatHitNothing } from './rounds/struck.js';
import { withVendorFaults } from './rounds/vendor-faults.js';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? sizeOf('faultRounds'));
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
/** All rounds that are played, on either store. */
const DRAWN: readonly Round[] = withReceiverFaults(withVendorFaults(drawRounds(SEED, ROUNDS), SEED), SEED);
/** Rounds per object store, drawn from one deal. */
const ROUNDS_PER_STORE = Math.ceil(ROUNDS / S3_KINDS.length);

/** This many rounds include every kind of fault. */
const ROUNDS_WITH_ALL = 20;
const struck: Struck[] = [];

for (const [index, objects] of S3_KINDS.entries()) {
  const rounds = DRAWN.slice(index * ROUNDS_PER_STORE, (index + 1) * ROUNDS_PER_STORE);
  if (rounds.length > 0)
    describeRounds({
      title: `five processes over MongoDB and ${objects}, ${rounds.length} rounds of faults (seed ${SEED})`,
      objects,
      rounds,
      seed: SEED,
      command: `npm run test:faults -- --rounds ${ROUNDS} --seed ${SEED}`,
      name: 'faults',
      onStruck: (hit) => struck.push(...hit),
    });
}

// A few rounds have only some of the kinds.
if (ROUNDS >= ROUNDS_WITH_ALL)
  describe(`the faults of ${ROUNDS} rounds on real processes (seed ${SEED})`, () => {
    it('hit something, each kind of them', function all() {
      // Rounds of an absent store are skipped.
      if (struck.length < DRAWN.flatMap(({ faults }) => faults).length) this.skip();
      expect(whatHitNothing(struck)).to.deep.equal([]);
    });
  });
