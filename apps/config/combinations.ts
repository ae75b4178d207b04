import type { DatabaseDriver, Driver, ObjectsDriver, WakeUpsDriver } from '../../adapters/driver.js';
import type { Config, Configured } from './config.js';
import { SIGNER_KEY, STORE_KEYS } from './keys.js';
import { isLoopback } from './network-address.js';

type Choice = Omit<Config, 'file'>;

/**
 * One sentence for each thing that the chosen stores lack, and for each choice that several processes could not share:
 * they would not see each other's writes, and each would be right about half of the installation. `drivers` are all
 * there are.
 */
export function combinationFaults(config: Choice, drivers: readonly Driver[]): string[] {
  return [
    ...missing(config, drivers),
    ...unshared(config, drivers),
    ...tooTight(config),
    ...samePort(config),
    ...grpcFaults(config),
    ...peopleFaults(config),
  ];
}

function missing({ stores, signer, providers, role, worker }: Choice, drivers: readonly Driver[]): string[] {
  const { database, objects, wakeUps } = stores;
  const faults = [
    ...required(database, `${STORE_KEYS.database} ${database.driver.name}`),
    ...unlent(wakeUps.driver, database.driver, drivers),
    ...required(objects, `${STORE_KEYS.objects} ${objects.driver.name}`),
    ...(objects.driver.faults?.(objects.options) ?? []),
    ...required(wakeUps, `${STORE_KEYS['wake-ups']} ${wakeUps.driver.name}`),
    ...(signer === undefined ? [] : required(signer, `${SIGNER_KEY} ${signer.driver.name}`)),
    ...[...providers].flatMap(([name, provider]) => required(provider, `providers.${name}`, `providers.${name}`)),
  ];
  return role === 'worker' && !worker.enabled
    ? [...faults, 'role worker has nothing to do while worker.enabled is false.']
    : faults;
}

/** The faults of a chosen driver whose required options are missing. */
function required({ driver, options }: Configured<Driver>, chosen: string, section = driver.name): string[] {
  const names = (driver.options['required'] ?? []) as readonly string[];
  return names.filter((name) => options[name] === undefined).map((name) => `${chosen} needs ${section}.${name}.`);
}

function unlent({ name, borrows }: WakeUpsDriver, { lends }: DatabaseDriver, drivers: readonly Driver[]): string[] {
  if (borrows === undefined || lends.includes(borrows)) return [];
  const lenders = drivers.filter((driver) => driver.kind === 'database' && driver.lends.includes(borrows));
  return [`stores.wake_ups ${name} keeps wake-ups in the database, so it needs stores.database ${anyOf(lenders)}.`];
}

/** The faults of stores that only one process can use, if the role implies several processes. */
function unshared({ role, stores }: Choice, drivers: readonly Driver[]): string[] {
  if (role === 'all') return [];
  const chosen: readonly (DatabaseDriver | ObjectsDriver | WakeUpsDriver)[] = [
    stores.database.driver,
    stores.objects.driver,
    stores.wakeUps.driver,
  ];
  return chosen.flatMap((driver) => {
    if (driver.unshared === undefined) return [];
    const shared = drivers.filter(
      (other) => other.kind !== 'provider' && other.kind === driver.kind && other.unshared === undefined,
    );
    return [
      `role ${role} is for several processes, which cannot share ${driver.unshared}; set ${STORE_KEYS[driver.kind]} to ${anyOf(shared)}, or role to all.`,
    ];
  });
}

/**
 * Limits that are each allowed, but with which processes together would take over work that is still running elsewhere.
 */
function tooTight({
  stores: {
    database: { driver, options },
    wakeUps,
  },
  settings,
}: Choice): string[] {
  const faults: string[] = [];
  const call = driver.longestCall?.(options);
  for (const [key, leaseMs] of Object.entries({
    claim_lease_seconds: settings.claimLeaseMs,
    lease_seconds: settings.leaseMs,
  })) {
    if (call !== undefined && leaseMs < call.timeoutMs) {
      faults.push(
        `${driver.name}.${call.option} must not be more than settings.${key}, or one slow answer ends the lease.`,
      );
    }
  }
  const connections = driver.connections?.(options);
  const { name, minConnections = 0 } = wakeUps.driver;
  if (connections !== undefined && connections.count < minConnections) {
    faults.push(`stores.wake_ups ${name} needs a ${driver.name}.${connections.option} of ${minConnections} at least.`);
  }
  return faults;
}

/** A process with both listeners would fail with the system's message that another process has the port. */
function samePort({ role, rest, internal }: Choice): string[] {
  if (role === 'worker' || internal.port === undefined || internal.port === 0) return [];
  const isSame = internal.port === rest.port && internal.host === rest.host;
  return isSame ? [`internal.port and rest.port are both ${rest.port} of ${rest.host}; give each its own port.`] : [];
}

function anyOf(drivers: readonly Driver[]): string {
  return drivers.length === 0 ? 'another one, of a module' : drivers.map(({ name }) => name).join(' or ');
}

/** One sentence for each setting that would let an unauthorised client call, or a third party read the traffic. */
export function grpcFaults({ grpc, role, stores }: Pick<Config, 'grpc' | 'role' | 'stores'>): string[] {
  if (grpc.port === undefined) return [];
  const faults: string[] = [];
  const isLocal = isLoopback(grpc.host);
  const isAlone = role === 'all' && stores.database.driver.isInDataFolder === true;
  if (grpc.callersFile === undefined && !(isLocal && isAlone)) {
    faults.push(
      'grpc.port needs grpc.callers_file; without one, callers need not authenticate, which is allowed only for a process with its own data folder that listens on 127.0.0.1.',
    );
  }
  if ((grpc.tlsCertFile === undefined) !== (grpc.tlsKeyFile === undefined))
    faults.push('grpc.tls_cert_file and grpc.tls_key_file belong together: give both or neither.');
  if (grpc.tlsClientCaFile !== undefined && grpc.tlsCertFile === undefined)
    faults.push('grpc.tls_client_ca_file needs grpc.tls_cert_file and grpc.tls_key_file.');
  if (grpc.tlsClientCaFile !== undefined && grpc.callersFile === undefined)
    faults.push(
      'grpc.tls_client_ca_file needs grpc.callers_file, which defines what its services may do; without one, all of them may do everything.',
    );
  if (!isLocal && grpc.tlsCertFile === undefined && !grpc.plaintext) {
    faults.push(
      `grpc.host ${grpc.host} is reachable from other machines, so tokens would travel in plain text: set grpc.tls_cert_file and grpc.tls_key_file, or grpc.plaintext: true if a proxy in front encrypts.`,
    );
  }
  return faults;
}

/** The issuer of tokens, and the paths of pages and cookies, begin at the root of a host. */
function peopleFaults(config: Choice): string[] {
  const { signIn, oauth, rest } = config;
  const path = new URL(rest.publicUrl ?? 'http://host').pathname;
  return [
    ...(oauth.enabled && !signIn.enabled
      ? ['oauth.enabled needs sign_in.enabled: people must sign in to allow it.']
      : []),
    ...operatorFaults(config),
    ...providerFaults(signIn),
    ...(signIn.enabled && path !== '/'
      ? [
          'rest.public_url must have no path while people sign in; set sign_in.enabled and oauth.enabled to false to keep it.',
        ]
      : []),
  ];
}

/** The actions of operators are recorded only in the log, so it must include them. */
function operatorFaults({ role, signIn, log }: Choice): string[] {
  if (!signIn.operatorArea || role === 'worker') return [];
  return [
    ...(signIn.enabled ? [] : ['sign_in.operator_area needs sign_in.enabled: operators must sign in.']),
    ...(['trace', 'debug', 'info'].includes(log.level)
      ? []
      : [`sign_in.operator_area needs log.level info: at ${log.level} the log has no lines about what operators do.`]),
  ];
}

function providerFaults({ providerIssuer, providerClientId, providerClientSecret }: Config['signIn']): string[] {
  const parts = {
    provider_issuer: providerIssuer,
    provider_client_id: providerClientId,
    provider_client_secret: providerClientSecret,
  };
  const absent = Object.entries(parts).filter(([, value]) => value === undefined);
  if (absent.length === Object.keys(parts).length) return [];
  return absent.map(
    ([part]) => `sign_in.${part} is missing; an outside provider needs its issuer, a client id and a secret.`,
  );
}
