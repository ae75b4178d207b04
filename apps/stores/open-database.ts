import { lookIntoMongo, openMongo, type MongoStores } from '../../adapters/mongo/open-mongo.js';
import { mongoModule } from '../../adapters/mongo/module.js';
import { DataFolderUnmade } from '../../adapters/sqlite/data-folder-refused.js';
import { closeToOthers } from '../../adapters/sqlite/data-folder.js';
import { sqliteModule } from '../../adapters/sqlite/module.js';
import { openSqlite, type SqliteOptions } from '../../adapters/sqlite/open-sqlite.js';
import type { WakeUpTable } from '../../adapters/timers/wake-up-table.js';
import type { Log } from '../../core/log.js';
import type { AccountStore } from '../../core/ports/account-store.js';
import type { Config } from '../config/config.js';
import type { Installation } from './same-installation.js';
import { mongoOptions } from './store-options.js';

/** `keepsLock`: work goes on in this process, so a folder it has to itself is not let go before the process ends. */
export interface CloseOptions {
  readonly keepsLock?: boolean;
}

/** How long ledger entries may wait in their account's document before a worker moves them, and of how many accounts at a time. */
const OLD_ENTRY_MS = 60_000;
const MAX_TIDIED_ACCOUNTS = 200;

/** The database behind the five stores, open. */
export interface OpenDatabase {
  readonly module: ReturnType<typeof sqliteModule>;
  readonly accounts: AccountStore;
  /** Where timers keep their wake-ups. */
  readonly wakeUpTable: WakeUpTable;
  /** The same database as MongoDB's driver has it, where it is one. */
  readonly db?: MongoStores['db'];
  /** What it remembers of its first use. */
  readonly installation: Installation;
  /** Whether no other process takes leases and claims in it while this one is open, and whoever did before is gone. */
  readonly isExclusive: boolean;
  /** Whether it answers, and still takes writes. */
  isReady(): Promise<boolean>;
  /** Work of the store itself that can wait, a bounded piece of it. Throws `StoreUnavailable`. */
  tidy(): Promise<void>;
  close(options?: CloseOptions): Promise<void>;
}

/** A `server` has a data folder to itself; a `tool` works beside it. Throws one sentence when the database cannot be used. */
export function openDatabase(config: Config, role: 'server' | 'tool', log: Log): Promise<OpenDatabase> {
  return config.stores.database === 'mongo' ? openShared(config, log) : openOwn(config, role, log);
}

async function openOwn(config: Config, role: 'server' | 'tool', log: Log): Promise<OpenDatabase> {
  const database = await openFolder(config, { role });
  if (role === 'server') closeDataFolder(config.dataFolder, log);
  return database;
}

/** Nobody else is to read what an installation keeps. Volumes that belong to another user are as open as that user made them. */
export function closeDataFolder(folder: string, log: Log): void {
  const { closed, open } = closeToOthers(folder);
  if (closed.length > 0) log.warn('data folder closed to other users', { paths: closed });
  if (open.length > 0) log.warn('data folder open to other users', { paths: open });
}

/** To read what is there: nothing is made, and a file of an older release stays as it is. Throws as `openDatabase` does. */
export function lookIntoDatabase(config: Config): Promise<OpenDatabase> {
  return config.stores.database === 'mongo' ? openShared(config) : openFolder(config, { role: 'tool', readOnly: true });
}

/** The same before a migration: undefined for a data folder without a database, or with one that remembers nothing yet. */
export async function lookBeforeMigration(config: Config): Promise<OpenDatabase | undefined> {
  if (config.stores.database === 'mongo') return shared(await lookIntoMongo(mongoOptions(config)));
  return lookIntoDatabase(config).catch((error: unknown) => {
    if (error instanceof DataFolderUnmade) return undefined;
    throw error;
  });
}

async function openFolder({ dataFolder }: Config, opening: Pick<SqliteOptions, 'role' | 'readOnly'>): Promise<OpenDatabase> {
  const stores = await openSqlite({ folder: dataFolder, ...opening });
  return {
    module: sqliteModule(stores),
    accounts: stores.accounts,
    wakeUpTable: stores.wakeUpTable,
    installation: stores.installation,
    isExclusive: stores.isExclusive,
    isReady: async () => stores.isWritable() && answers(stores.accounts),
    tidy: () => Promise.resolve(),
    close: (options) => stores.close(options),
  };
}

async function openShared(config: Config, log?: Log): Promise<OpenDatabase> {
  return shared(await openMongo({ ...mongoOptions(config), ...(log ? { log } : {}) }));
}

function shared(stores: MongoStores): OpenDatabase {
  return {
    module: mongoModule(stores),
    accounts: stores.accounts,
    wakeUpTable: stores.wakeUpTable,
    db: stores.db,
    installation: stores.installation,
    isExclusive: false,
    isReady: () => stores.isReady(),
    tidy: async () => void (await stores.accounts.moveOldEntries(Date.now() - OLD_ENTRY_MS, MAX_TIDIED_ACCOUNTS)),
    close: () => stores.close(),
  };
}

/** Whether a read of what is nobody's comes back. */
async function answers(accounts: AccountStore): Promise<boolean> {
  try {
    await accounts.read('00000000-0000-7000-8000-000000000000');
    return true;
  } catch {
    return false;
  }
}
