import { sizeOf } from './run-sizes.js';

/** Each deployment of MongoDB with one S3 server. `npm test` uses the first pair only. */
const PAIRS = [
  { mongo: 'replica-set', s3: 'minio', wokenBy: 'change-streams' },
  { mongo: 'standalone', s3: 'versitygw', wokenBy: 'polling' },
] as const;

export type StorePair = (typeof PAIRS)[number];

/** The pairs that this run uses; at least one. */
export const STORE_PAIRS: readonly StorePair[] = PAIRS.slice(0, sizeOf('storePairs'));

/** The last of them: standalone MongoDB and versitygw in a full run. */
export const LAST_PAIR: StorePair = STORE_PAIRS.at(-1) ?? PAIRS[0];

export const MONGO_KINDS = STORE_PAIRS.map(({ mongo }) => mongo);
export const S3_KINDS = STORE_PAIRS.map(({ s3 }) => s3);
