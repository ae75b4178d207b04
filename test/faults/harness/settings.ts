import type { DatabaseUnderFaults } from './databases.js';

interface Places {
  readonly database: Pick<DatabaseUnderFaults, 'driver' | 'section'>;
  readonly bucket: string;
  readonly s3: {
    readonly endpoint: string;
    readonly region: string;
    readonly accessKey: string;
    readonly secretKey: string;
  };
}

export const STOP_GRACE_MS = 5_000;
/** A worker's lease of a generation. */
export const LEASE_MS = 3_000;

/** One thread per process, in the configuration formats of this build and of the previous release. */
const SANDBOX = 'providers:\n  sandbox: { kind: sandbox, threads: 1 }';
export const SANDBOX_BEFORE = 'sandbox: { threads: 1 }';

/** The sandbox and the given vendor sections. */
export function providersText(vendors: string): string {
  return `${SANDBOX}\n${vendors}`;
}

/**
 * Every lease and wait is as short as allowed, so that a fault outlasts it. Clients reach the object store at its own
 * address.
 */
export function configText({ database, bucket, s3 }: Places, providers = SANDBOX): string {
  return `
secret_file: secret
catalog: catalog.yaml
stores: { database: ${database.driver}, objects: minio, wake_ups: agenda }
${database.section}
minio:
  endpoint: ${s3.endpoint}
  public_endpoint: ${s3.endpoint}
  region: ${s3.region}
  bucket: ${bucket}
  access_key: ${s3.accessKey}
  secret_key: ${s3.secretKey}
  timeout_seconds: 3
rest:
  rate_limits: { reads_per_minute: 0, creates_per_minute: 0, failed_authentications_per_minute: 0 }
worker: { recovery_interval_seconds: 1, stop_grace_seconds: ${STOP_GRACE_MS / 1_000} }
${providers}
log: { level: info, format: json }
settings:
  claim_lease_seconds: 5
  lease_seconds: ${LEASE_MS / 1_000}
  recovery_grace_seconds: 2
  cancel_grace_seconds: 2
  provider_call_seconds: 3
  retry_base_ms: 200
  retry_cap_seconds: 2
  poll_after_ms: 200
  max_open_generations_per_account: 100000
  max_unfinished_uploads_per_app: 10000
`;
}

/** How long a generation may be queued in these tests: one that never runs ends by its deadline. */
export const QUEUE_TIMEOUT_MS = 120_000;
/**
 * How long a generation may run: one that hangs ends by its deadline. A run is about ten sequential steps, and each may
 * take just under the two or three seconds after which a store counts as unavailable. A busy machine can be that slow
 * without faults.
 */
export const RUN_TIMEOUT_MS = 60_000;

/** The shipped models with high concurrency, so that a fault hits generations in every state. */
export function catalogText(shipped: string, concurrency = 32): string {
  return shipped
    .replaceAll(/(concurrency(?:_per_account)?): \d+/g, `$1: ${concurrency}`)
    .replaceAll(/queue_timeout_seconds: \d+/g, `queue_timeout_seconds: ${QUEUE_TIMEOUT_MS / 1_000}`)
    .replaceAll(/run_timeout_seconds: \d+/g, `run_timeout_seconds: ${RUN_TIMEOUT_MS / 1_000}`);
}
