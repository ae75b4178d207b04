/**
 * Goal: on PostgreSQL with synchronous replication, no result that a client has received is lost, duplicated or stuck, also
 * when the primary is lost and a replica takes over. Method: the five processes, the load and the checker of
 * `distributed.test.ts` on a primary with two replicas, of which a write waits for any one, and on one with a single replica. In
 * every round processes are killed, and something happens to these servers too: they are killed and frozen, alone and together,
 * cut off from each other, or out of connections; and in every second one a replica is promoted, while the former primary runs
 * again beside it.
 */
import { expect } from 'chai';
import { sizeOf } from '../harness/run-sizes.js';
import { S3_KINDS } from '../harness/store-pairs.js';
import { withClusterFaults } from './rounds/cluster-faults.js';
import { describeRounds } from './rounds/describe-rounds.js';
import { drawRounds, type Round } from './rounds/schedule.js';
import { type Struck, whatHitNothing } from './rounds/struck.js';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? sizeOf('postgresFaultRounds'));
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
/** Vendors and receivers are as reliable as their tasks: their faults do not depend on the database. */
const DRAWN: readonly Round[] = withClusterFaults(drawRounds(SEED, ROUNDS, 'postgres'), SEED);
const SHAPES = [
  { title: 'two replicas', replicas: 2 },
  { title: 'one replica', replicas: 1 },
] as const;
const ROUNDS_PER_SHAPE = Math.ceil(ROUNDS / SHAPES.length);

/** This many rounds include every kind of fault. */
const ROUNDS_WITH_ALL = 24;
const struck: Struck[] = [];

for (const [index, { title, replicas }] of SHAPES.entries()) {
  const rounds = DRAWN.slice(index * ROUNDS_PER_SHAPE, (index + 1) * ROUNDS_PER_SHAPE);
  if (rounds.length > 0)
    describeRounds({
      title: `five processes over PostgreSQL with ${title}, ${rounds.length} rounds of faults (seed ${SEED})`,
      objects: S3_KINDS[0] ?? 'minio',
      cluster: { replicas, isSynchronous: true },
      rounds,
      seed: SEED,
      command: `npm run test:faults -- --store postgres --rounds ${ROUNDS} --seed ${SEED}`,
      name: `postgres-faults-${replicas}`,
      onStruck: (hit) => struck.push(...hit),
    });
}

// A few rounds have only some of the kinds.
if (ROUNDS >= ROUNDS_WITH_ALL)
  describe(`the faults of ${ROUNDS} rounds on PostgreSQL (seed ${SEED})`, () => {
    it('hit something, each kind of them', function all() {
      // Rounds of an absent server are skipped.
      if (struck.length < DRAWN.flatMap(({ faults }) => faults).length) this.skip();
      expect(whatHitNothing(struck, 'postgres')).to.deep.equal([]);
    });
  });
