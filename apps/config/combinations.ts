import type { Config } from './config.js';
import { grpcFaults } from './grpc-faults.js';

type Choice = Pick<Config, 'role' | 'stores' | 'mongo' | 'minio' | 'agenda' | 'internal' | 'rest' | 'worker' | 'settings' | 'grpc'>;

/** A change stream keeps one connection waiting most of the time, and a request must not wait for it. */
const MIN_CONNECTIONS_WITH_AGENDA = 5;

/**
 * One sentence for each thing that the chosen stores lack, and for each choice that several processes could not share:
 * they would not see each other's writes, and each would be right about half of the installation.
 */
export function combinationFaults(config: Choice): string[] {
  return [...missing(config), ...unshared(config), ...tooTight(config), ...samePort(config), ...grpcFaults(config)];
}

function missing({ stores, mongo, minio, agenda, role, worker }: Choice): string[] {
  const faults: string[] = [];
  if (stores.database === 'mongo' && mongo.url === undefined) faults.push('stores.database mongo needs mongo.url.');
  if (stores.wakeUps === 'agenda' && stores.database !== 'mongo') {
    faults.push('stores.wake_ups agenda keeps wake-ups in the database, so it needs stores.database mongo.');
  }
  if (stores.objects === 'minio') {
    const given = { endpoint: minio.endpoint, access_key: minio.accessKey, secret_key: minio.secretKey };
    for (const [key, value] of Object.entries(given)) {
      if (value === undefined) faults.push(`stores.objects minio needs minio.${key}.`);
    }
    if ((minio.uploadAccessKey === undefined) !== (minio.uploadSecretKey === undefined)) {
      faults.push('minio.upload_access_key and minio.upload_secret_key belong together: give both or neither.');
    }
  }
  if (agenda.pollMs < 100) faults.push('agenda.poll_seconds must be at least 0.1.');
  if (role === 'worker' && !worker.enabled) faults.push('role worker has nothing to do while worker.enabled is false.');
  return faults;
}

/** What only one process can use, when the role says that there are several. */
function unshared({ role, stores }: Choice): string[] {
  if (role === 'all') return [];
  const needs = (key: string, now: string, shared: string) =>
    `role ${role} is one process of several, which cannot share ${now}; set stores.${key} to ${shared}, or role to all.`;
  return [
    ...(stores.database === 'sqlite' ? [needs('database', 'a SQLite file', 'mongo')] : []),
    ...(stores.objects === 'files' ? [needs('objects', 'a folder of one machine', 'minio')] : []),
    ...(stores.wakeUps === 'timers' ? [needs('wake_ups', 'timers', 'agenda')] : []),
  ];
}

/** Limits that are each allowed, and together would have processes take work from each other that nobody has dropped. */
function tooTight({ stores, mongo, settings }: Choice): string[] {
  if (stores.database !== 'mongo') return [];
  const leases = { claim_lease_seconds: settings.claimLeaseMs, lease_seconds: settings.leaseMs };
  const shorter = Object.entries(leases).filter(([, leaseMs]) => leaseMs < mongo.timeoutMs);
  const needsMore = stores.wakeUps === 'agenda' && mongo.poolSize < MIN_CONNECTIONS_WITH_AGENDA;
  return [
    ...shorter.map(([key]) => `mongo.timeout_seconds must not be more than settings.${key}, or one slow answer ends the lease.`),
    ...(needsMore ? [`stores.wake_ups agenda needs a mongo.pool_size of ${MIN_CONNECTIONS_WITH_AGENDA} at least.`] : []),
  ];
}

/** Of a process that has both listeners; what the system would say is that another process has the port. */
function samePort({ role, rest, internal }: Choice): string[] {
  if (role === 'worker' || internal === undefined || internal.port === 0) return [];
  const isSame = internal.port === rest.port && internal.host === rest.host;
  return isSame ? [`internal.port and rest.port are both ${rest.port} of ${rest.host}; give each a port of its own.`] : [];
}
