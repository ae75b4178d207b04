/**
 * Goal: during a rolling upgrade every guarantee to clients holds, while processes of the previous release and of this
 * build use the same stores. Method: the fault rounds of `distributed.test.ts`, in which a REST process and two workers
 * start as the previous release; in each round a REST process and a worker are stopped under load and replaced by the
 * other build, in either direction.
 */
import { sizeOf } from '../harness/run-sizes.js';
import { S3_KINDS } from '../harness/store-pairs.js';
import { orSkip } from '../servers/servers.js';
import { releaseBefore } from '../upgrade/release-before.js';
import { type DescribedRounds, describeRounds } from './rounds/describe-rounds.js';
import { drawRounds, withReplacements } from './rounds/schedule.js';

const ROUNDS = Number(process.env['MIXED_FAULT_ROUNDS'] ?? sizeOf('mixedFaultRounds'));
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);

const SHAPES: readonly Pick<DescribedRounds, 'title' | 'name' | 'cluster'>[] = [
  { title: 'MongoDB', name: 'mixed-faults' },
  { title: 'PostgreSQL with a replica', name: 'mixed-postgres-faults', cluster: { replicas: 1, isSynchronous: true } },
];

if (ROUNDS > 0)
  for (const { title, ...shape } of SHAPES)
    describeRounds({
      ...shape,
      title: `five processes of two builds over ${title} and ${S3_KINDS[0]}, ${ROUNDS} rounds of faults (seed ${SEED})`,
      objects: S3_KINDS[0] ?? 'minio',
      rounds: withReplacements(drawRounds(SEED, ROUNDS, shape.cluster && 'postgres')),
      seed: SEED,
      command: `npm run test:faults -- --mixed ${ROUNDS} --seed ${SEED}`,
      before: (suite) => orSkip(suite, releaseBefore({ withPostgres: shape.cluster !== undefined })),
    });
