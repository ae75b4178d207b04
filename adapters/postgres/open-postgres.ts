import type { Log } from '../../core/log.js';
import type { DatabasePort, Ports } from '../../core/ports/ports.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { HalfHour } from '../../core/statistics/half-hour.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import { AccountChanges } from './account-changes.js';
import { PostgresConnection, type PostgresDatabase, type PostgresOptions } from './connection.js';
import { PostgresRefused } from './errors.js';
import { checkMigrated, checkReadable, migratePostgres, type SchemaState, schemaState } from './migrate-postgres.js';
import { PostgresAcceptances } from './postgres-acceptances.js';
import { PostgresAccountStore } from './postgres-account-store.js';
import { PostgresArtefactStore } from './postgres-artefact-store.js';
import { PostgresClaimStore } from './postgres-claim-store.js';
import { PostgresCredentialStore } from './postgres-credential-store.js';
import { PostgresFingerprintStore } from './postgres-fingerprint-store.js';
import { PostgresGenerationChanges, reportsChanges } from './postgres-generation-changes.js';
import { PostgresGenerationSearch } from './postgres-generation-search.js';
import { PostgresGenerationStore } from './postgres-generation-store.js';
import { PostgresInstallation } from './postgres-installation.js';
import { PostgresPersonStore } from './postgres-person-store.js';
import {
  PostgresDeliveryStore,
  PostgresErasureStore,
  PostgresNamedRecords,
  PostgresUploadStore,
} from './postgres-records.js';
import { PostgresUsageStore } from './postgres-usage-store.js';
import { PostgresWakeUpTable } from './postgres-wake-up-table.js';
import { WRITE_NOTHING } from './trial-write.js';

export type { PostgresOptions } from './connection.js';
export { PostgresRefused } from './errors.js';

export interface PostgresStores extends Pick<Ports, DatabasePort> {
  readonly generations: PostgresGenerationStore;
  readonly wakeUpTable: PostgresWakeUpTable;
  /** Undefined if the server, or its role, cannot report changes. */
  readonly generationChanges: PostgresGenerationChanges | undefined;
  readonly installation: PostgresInstallation;
  /** For adapters of other technologies that keep something in the same database. */
  readonly db: PostgresDatabase;
  /** Whether the primary makes a write durable in time. Never throws. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** How the server must be set up, beside what is always needed. */
export interface ServerNeeds {
  /** 1: a write is acknowledged only once a replica has it, so that a failover loses nothing. */
  readonly replicas?: 0 | 1;
}

interface Logged {
  readonly log?: Log;
}

/**
 * Opens the stores of a database that `migratePostgres` has made ready. Throws `PostgresRefused`, with one sentence, for one
 * that it has not, or that a newer release has made unreadable for this one, and for a server that may lose acknowledged writes;
 * and `StoreUnavailable` when the server does not answer.
 */
export function openPostgres(options: PostgresOptions & ServerNeeds & Logged): Promise<PostgresStores> {
  return openChecked(options, checkMigrated);
}

/**
 * The same to be read before a migration: a database of an older release is as good. Undefined for one without tables, where
 * there is nothing to be read.
 */
export async function lookIntoPostgres(options: PostgresOptions & ServerNeeds): Promise<PostgresStores | undefined> {
  let isEmpty = false;
  const stores = await openChecked(options, (connection, state) => {
    checkReadable(connection, state);
    isEmpty = state.version === 0;
  });
  if (!isEmpty) return stores;
  await stores.close();
  return undefined;
}

/** Brings the database up to date, and then what `beside` sets up in it; returns a line for each thing made. */
export async function migrated(
  { replicas = 0, ...options }: PostgresOptions & ServerNeeds,
  beside: (stores: PostgresStores) => Promise<readonly string[]> = () => Promise.resolve([]),
): Promise<readonly string[]> {
  const connection = new PostgresConnection(options);
  try {
    await checkServer(connection, replicas);
    const lines = await migratePostgres(connection);
    return [...lines, ...(await beside(storesOver(connection)))];
  } catch (error) {
    throw connection.refusalOf(error);
  } finally {
    await connection.close();
  }
}

async function openChecked(
  { replicas = 0, log, ...options }: PostgresOptions & ServerNeeds & Logged,
  check: (connection: PostgresConnection, state: SchemaState) => void,
): Promise<PostgresStores> {
  const connection = new PostgresConnection(options);
  try {
    await checkServer(connection, replicas);
    check(connection, await schemaState(connection));
    return storesOver(
      connection,
      (await reportsChanges(connection)) ? new PostgresGenerationChanges(connection, log) : undefined,
    );
  } catch (error) {
    await connection.close();
    throw connection.refusalOf(error);
  }
}

/** The stores over a connection to a database that is known to be ready. */
export function storesOver(
  connection: PostgresConnection,
  generationChanges?: PostgresGenerationChanges,
): PostgresStores {
  const generations = new PostgresGenerationStore(connection);
  const claims = new PostgresClaimStore(connection);
  const changes = new AccountChanges(connection);
  return {
    accounts: new PostgresAccountStore(connection, changes),
    generations,
    generationSearch: new PostgresGenerationSearch(connection),
    claims,
    fingerprints: new PostgresFingerprintStore(connection),
    acceptances: new PostgresAcceptances(changes, { claims, generations }),
    uploads: new PostgresUploadStore(connection),
    credentials: new PostgresCredentialStore(connection),
    people: new PostgresPersonStore(connection),
    artefacts: new PostgresArtefactStore(connection),
    providerUses: new PostgresNamedRecords<ProviderUse>(
      connection,
      'provider_uses',
      'provider',
      ({ provider }) => provider,
    ),
    webhookEndpoints: new PostgresNamedRecords<AppWebhooks>(
      connection,
      'webhook_endpoints',
      'app',
      ({ appId }) => appId,
    ),
    deliveries: new PostgresDeliveryStore(connection),
    usage: new PostgresUsageStore(connection),
    halfHours: new PostgresNamedRecords<HalfHour>(connection, 'half_hours', 'slot', ({ slot }) => slot),
    erasures: new PostgresErasureStore(connection),
    wakeUpTable: new PostgresWakeUpTable(connection),
    generationChanges,
    installation: new PostgresInstallation(connection),
    db: connection,
    isReady: () =>
      connection.ask(WRITE_NOTHING).then(
        () => true,
        () => false,
      ),
    close: () => {
      generationChanges?.close();
      return connection.close();
    },
  };
}

const SETTINGS = `SELECT current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS "fullPageWrites", current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('synchronous_standby_names') AS "standbyNames", current_setting('transaction_read_only') AS "readOnly"`;
const OLDEST_VERSION = 150_000;

/** Settings of a server in this database, by PostgreSQL's names of their values. */
export interface ServerSettings {
  readonly version: number;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousCommit: string;
  readonly standbyNames: string;
  readonly readOnly: string;
}

/** Refuses a server that is too old, takes no writes, or may lose what it has acknowledged. */
export async function checkServer(connection: PostgresConnection, replicas: 0 | 1): Promise<void> {
  const found = (await connection.ask(SETTINGS)).rows[0] as unknown as ServerSettings;
  const fault = serverFault(found, replicas);
  if (fault !== undefined) throw new PostgresRefused(`PostgreSQL at ${connection.address.hosts} ${fault}.`);
}

/** The reason to refuse a server that is too old, takes no writes or may lose acknowledged writes; the end of a sentence. */
export function serverFault(found: ServerSettings, replicas: 0 | 1): string | undefined {
  if (found.version < OLDEST_VERSION) return 'is older than version 15; use version 15 or later';
  if (found.readOnly === 'on')
    return 'takes no writes: it is a replica, or default_transaction_read_only is on; name the primary, or all servers, in postgres.url';
  const lost = 'so acknowledged writes could be lost';
  if (found.fsync === 'off' || found.fullPageWrites === 'off')
    return `has fsync or full_page_writes off, ${lost}; turn both on`;
  if (['off', 'local'].includes(found.synchronousCommit))
    return `has synchronous_commit ${found.synchronousCommit}, ${lost}; set it to on for this database`;
  if (replicas === 1 && found.standbyNames === '')
    return 'has no synchronous_standby_names, but postgres.replicas is 1: a failover would lose writes; set it, for example to ANY 1 (b, c)';
  return undefined;
}
