import type { DatabaseDriver, Driver, ObjectsDriver, WakeUpsDriver } from '../../adapters/driver.js';
import type { Config, Configured } from './config.js';
import { alternatives, SIGNER_KEY, STORE_KEYS } from './keys.js';
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

type Rule = readonly [isBroken: boolean, sentence: string];

/** The sentences of the rules that are broken. */
function broken(...rules: readonly Rule[]): string[] {
  return rules.filter(([isBroken]) => isBroken).map(([, sentence]) => sentence);
}

function missing({ stores, signer, providers, role, worker }: Choice, drivers: readonly Driver[]): string[] {
  const { database, objects, wakeUps } = stores;
  return [
    ...required(database, `${STORE_KEYS.database} ${database.driver.name}`),
    ...unlent(wakeUps.driver, database.driver, drivers),
    ...required(objects, `${STORE_KEYS.objects} ${objects.driver.name}`),
    ...(objects.driver.faults?.(objects.options) ?? []),
    ...required(wakeUps, `${STORE_KEYS['wake-ups']} ${wakeUps.driver.name}`),
    ...(signer === undefined ? [] : required(signer, `${SIGNER_KEY} ${signer.driver.name}`)),
    ...[...providers].flatMap(([name, provider]) => required(provider, `providers.${name}`, `providers.${name}`)),
    ...broken([role === 'worker' && !worker.enabled, 'role worker has nothing to do while worker.enabled is false.']),
  ];
}

/** The faults of a chosen driver whose required options are missing. */
function required({ driver, options }: Configured<Driver>, chosen: string, section = driver.name): string[] {
  const names = (driver.options['required'] ?? []) as readonly string[];
  return names.filter((name) => options[name] === undefined).map((name) => `${chosen} needs ${section}.${name}.`);
}

function unlent({ name, borrows }: WakeUpsDriver, { lends }: DatabaseDriver, drivers: readonly Driver[]): string[] {
  const names = typeof borrows === 'string' ? [borrows] : borrows;
  if (names === undefined || names.some((lent) => lends.includes(lent))) return [];
  const lenders = drivers.filter(
    (driver) => driver.kind === 'database' && names.some((lent) => driver.lends.includes(lent)),
  );
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

function anyOf(drivers: readonly Driver[]): string {
  return drivers.length === 0 ? 'another one, of a module' : alternatives(drivers.map(({ name }) => name));
}

/**
 * Limits that are each allowed, but with which processes together would take over work that is still running elsewhere.
 */
function tooTight({ stores: { database, wakeUps }, settings }: Choice): string[] {
  const { driver, options } = database;
  const { name, minConnections = 0 } = wakeUps.driver;
  const call = driver.longestCall?.(options);
  const connections = driver.connections?.(options);
  const beyond = (key: string, leaseMs: number): Rule => [
    call !== undefined && leaseMs < call.timeoutMs,
    `${driver.name}.${call?.option} must not be more than settings.${key}, or one slow answer ends the lease.`,
  ];
  return broken(beyond('claim_lease_seconds', settings.claimLeaseMs), beyond('lease_seconds', settings.leaseMs), [
    connections !== undefined && connections.count < minConnections,
    `stores.wake_ups ${name} needs a ${driver.name}.${connections?.option} of ${minConnections} at least.`,
  ]);
}

/** A process with both listeners would fail with the system's message that another process has the port. */
function samePort({ role, rest, internal }: Choice): string[] {
  const isSame = internal.port === rest.port && internal.host === rest.host;
  return broken([
    role !== 'worker' && internal.port !== 0 && isSame,
    `internal.port and rest.port are both ${rest.port} of ${rest.host}; give each its own port.`,
  ]);
}

/** One sentence for each setting that would let an unauthorised client call, or a third party read the traffic. */
export function grpcFaults({ grpc, role, stores }: Pick<Config, 'grpc' | 'role' | 'stores'>): string[] {
  if (grpc.port === undefined) return [];
  const { host, plaintext } = grpc;
  const isLocal = isLoopback(host);
  const isAlone = role === 'all' && stores.database.driver.isInDataFolder === true;
  const [hasCallers, hasCert] = [grpc.callersFile !== undefined, grpc.tlsCertFile !== undefined];
  const hasClientCa = grpc.tlsClientCaFile !== undefined;
  return broken(
    [
      !hasCallers && !(isLocal && isAlone),
      'grpc.port needs grpc.callers_file; without one, callers need not authenticate, which is allowed only for a process with its own data folder that listens on 127.0.0.1.',
    ],
    [
      hasCert !== (grpc.tlsKeyFile !== undefined),
      'grpc.tls_cert_file and grpc.tls_key_file belong together: give both or neither.',
    ],
    [hasClientCa && !hasCert, 'grpc.tls_client_ca_file needs grpc.tls_cert_file and grpc.tls_key_file.'],
    [
      hasClientCa && !hasCallers,
      'grpc.tls_client_ca_file needs grpc.callers_file, which defines what its services may do; without one, all of them may do everything.',
    ],
    [
      !isLocal && !hasCert && !plaintext,
      `grpc.host ${host} is reachable from other machines, so tokens would travel in plain text: set grpc.tls_cert_file and grpc.tls_key_file, or grpc.plaintext: true if a proxy in front encrypts.`,
    ],
  );
}

/** The issuer of tokens, and the paths of pages and cookies, begin at the root of a host. */
function peopleFaults({ role, signIn, oauth, rest, log }: Choice): string[] {
  const path = new URL(rest.publicUrl ?? 'http://host').pathname;
  const hasOperators = signIn.operatorArea && role !== 'worker';
  return [
    ...broken(
      [oauth.enabled && !signIn.enabled, 'oauth.enabled needs sign_in.enabled: people must sign in to allow it.'],
      [hasOperators && !signIn.enabled, 'sign_in.operator_area needs sign_in.enabled: operators must sign in.'],
      // The actions of operators are recorded only in the log, so it must include them.
      [
        hasOperators && !['trace', 'debug', 'info'].includes(log.level),
        `sign_in.operator_area needs log.level info: at ${log.level} the log has no lines about what operators do.`,
      ],
    ),
    ...providerFaults(signIn),
    ...broken([
      signIn.enabled && path !== '/',
      'rest.public_url must have no path while people sign in; set sign_in.enabled and oauth.enabled to false to keep it.',
    ]),
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
