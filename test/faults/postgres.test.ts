/**
 * Goal: on PostgreSQL with synchronous replication, no result that a client has received is lost, duplicated or stuck, even
 * after the primary is lost and a replica is promoted. Method: the five processes, the load and the checker of
 * `distributed.test.ts` on a primary with two replicas, where a write waits for any one of them, and on a primary with a single
 * replica. In every round processes are killed and the servers have a fault: they are killed or frozen, alone or together,
 * disconnected from each other, or out of connections. In every second round a replica is promoted, and the former primary runs
 * beside it for a while.
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
/** Vendors and receivers have no faults here, because their faults do not depend on the database. */
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

// Fewer rounds do not include every kind.
if (ROUNDS >= ROUNDS_WITH_ALL)
  describe(`the faults of ${ROUNDS} rounds on PostgreSQL (seed ${SEED})`, () => {
    it('hit something with each kind of fault', function all() {
      // Rounds are skipped if a server is absent.
      if (struck.length < DRAWN.flatMap(({ faults }) => faults).length) this.skip();
      expect(whatHitNothing(struck, 'postgres')).to.deep.equal([]);
    });
  });
