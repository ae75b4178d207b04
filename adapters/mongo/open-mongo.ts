import type { Db } from 'mongodb';
import type { Log } from '../../core/log.js';
import type { DatabasePort, Ports } from '../../core/ports/ports.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import type { HalfHour } from '../../core/statistics/half-hour.js';
import type { AppWebhooks } from '../../core/webhooks/endpoint.js';
import type { CopiedRow, CopiedTableName } from '../copied-tables.js';
import { MongoConnection, type MongoOptions, MongoRefused } from './connection.js';
import { checkReadable, indexFaults, ledgerFormOf, type SchemaState, schemaVersions } from './migrate-mongo.js';
import { MongoAcceptances } from './mongo-acceptances.js';
import { MongoAccountStore } from './mongo-account-store.js';
import { MongoArtefactStore } from './mongo-artefact-store.js';
import { MongoClaimStore } from './mongo-claim-store.js';
import { MongoCredentialStore } from './mongo-credential-store.js';
import { MongoFingerprintStore } from './mongo-fingerprint-store.js';
import { MongoGenerationChanges } from './mongo-generation-changes.js';
import { MongoGenerationSearch } from './mongo-generation-search.js';
import { MongoGenerationStore } from './mongo-generation-store.js';
import { MongoInstallation } from './mongo-installation.js';
import type { LedgerForm } from './mongo-ledger.js';
import { MongoPersonStore } from './mongo-person-store.js';
import { MongoDeliveryStore, MongoErasureStore, MongoUploadStore, NamedDocuments } from './mongo-records.js';
import { rowsOf } from './mongo-rows.js';
import { MongoUsageStore } from './mongo-usage-store.js';
import { MongoWakeUpTable } from './mongo-wake-up-table.js';
import { SCHEMA_VERSION } from './schema.js';

export { type MongoOptions, MongoRefused } from './connection.js';
export { migrateMongo } from './migrate-mongo.js';

export interface MongoStores extends Pick<Ports, DatabasePort> {
  readonly accounts: MongoAccountStore;
  readonly claims: MongoClaimStore;
  readonly wakeUpTable: MongoWakeUpTable;
  readonly installation: MongoInstallation;
  /** All rows of a table, some at a time. Throws `StoreUnavailable`. */
  rows(table: CopiedTableName): AsyncIterable<readonly CopiedRow[]>;
  /** Undefined if the server has no change streams, or only delayed ones. */
  readonly generationChanges: MongoGenerationChanges | undefined;
  /** For adapters of other technologies that keep something in the same database. */
  readonly db: Db;
  /** One operation on it, with the same bound on its wait as ours have. Throws `StoreUnavailable`. */
  ask<T>(operation: () => Promise<T>): Promise<T>;
  /** Whether the server responds in time. Never throws. */
  isReady(): Promise<boolean>;
  /** Waits for the flushes in progress, then closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens the stores of a database that `migrateMongo` has made ready. Throws `MongoRefused`, with one sentence, for one
 * that it has not, or that a newer release has made unreadable for this one; and `StoreUnavailable` when the server
 * does not answer.
 */
export function openMongo(options: MongoOptions & { readonly log?: Log }): Promise<MongoStores> {
  return openChecked(options, checkSchema);
}

/**
 * The same to be read before `migrateMongo`: an empty database, or one of an older release, is as good. Throws
 * `MongoRefused` for one that a newer release has made unreadable for this one, and `StoreUnavailable`.
 */
export function lookIntoMongo(options: MongoOptions): Promise<MongoStores> {
  return openChecked(options, checkKnown);
}

type Check = (connection: MongoConnection, database: string) => Promise<SchemaState>;

async function openChecked(
  { log, ...options }: MongoOptions & { readonly log?: Log },
  check: Check,
): Promise<MongoStores> {
  const connection = await MongoConnection.open(options);
  try {
    return storesOver(connection, { log, form: ledgerFormOf(await check(connection, options.database)) });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** The stores over a connection to a database that is known to be ready. */
export function storesOver(
  connection: MongoConnection,
  { log, form }: { readonly log?: Log | undefined; readonly form: LedgerForm },
): MongoStores {
  const accounts = new MongoAccountStore(connection, { log, form });
  const { db } = connection;
  const generationChanges = connection.deployment.tellsSoon ? new MongoGenerationChanges(connection, log) : undefined;
  const generations = new MongoGenerationStore(connection);
  const claims = new MongoClaimStore(connection);
  return {
    accounts,
    generations,
    generationSearch: new MongoGenerationSearch(connection),
    claims,
    fingerprints: new MongoFingerprintStore(connection),
    acceptances: new MongoAcceptances(connection, { accounts, generations, claims }),
    uploads: new MongoUploadStore(connection),
    credentials: new MongoCredentialStore(connection),
    people: new MongoPersonStore(connection),
    artefacts: new MongoArtefactStore(connection),
    providerUses: new NamedDocuments<ProviderUse>(connection, 'provider_uses', ({ provider }) => provider),
    webhookEndpoints: new NamedDocuments<AppWebhooks>(connection, 'webhook_endpoints', ({ appId }) => appId),
    deliveries: new MongoDeliveryStore(connection),
    usage: new MongoUsageStore(connection),
    halfHours: new NamedDocuments<HalfHour>(connection, 'half_hours', ({ slot }) => slot),
    erasures: new MongoErasureStore(connection),
    wakeUpTable: new MongoWakeUpTable(connection),
    installation: new MongoInstallation(connection),
    rows: (table) => rowsOf(connection, accounts, table),
    generationChanges,
    db,
    ask: (operation) => connection.ask(operation),
    isReady: () =>
      connection
        .ask(() => schemaVersions(db).read())
        .then(
          () => true,
          () => false,
        ),
    async close() {
      generationChanges?.close();
      await accounts.close();
      await connection.close();
    },
  };
}

async function checkKnown(connection: MongoConnection, database: string): Promise<SchemaState> {
  const state = await connection.ask(() => schemaVersions(connection.db).read());
  checkReadable(database, state);
  return state;
}

async function checkSchema(connection: MongoConnection, database: string): Promise<SchemaState> {
  const state = await checkKnown(connection, database);
  const { version } = state;
  if (version < SCHEMA_VERSION) {
    throw new MongoRefused(
      `Database ${database} has schema ${version} and needs ${SCHEMA_VERSION}; run darkroom migrate first, or correct mongo.database.`,
    );
  }
  const [fault] = await indexFaults(connection);
  if (fault !== undefined)
    throw new MongoRefused(`Database ${database} is not ready (${fault}); run darkroom migrate first.`);
  return state;
}
