import { MongoRefused, openMongo, type MongoStores } from '../../adapters/mongo/open-mongo.js';
import { mongoModule } from '../../adapters/mongo/module.js';
import { sqliteModule } from '../../adapters/sqlite/module.js';
import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import type { WakeUpTable } from '../../adapters/timers/wake-up-table.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { AccountStore } from '../../core/ports/account-store.js';
import type { Config } from '../config/config.js';
import { mongoOptions } from './store-options.js';

/** The database behind the five stores, open. */
export interface OpenDatabase {
  readonly module: ReturnType<typeof sqliteModule>;
  readonly accounts: AccountStore;
  /** Where timers keep their wake-ups. */
  readonly wakeUpTable: WakeUpTable;
  /** The same database as MongoDB's driver has it, where it is one. */
  readonly db?: MongoStores['db'];
  /**
   * Refuses, with a sentence, to go on with another secret or other objects than the database was first used with: keys
   * would be invalid and results missing, here and not in the process next door. A data folder has its own of both. A tool
   * goes on while the object store is away.
   */
  checkInstallation(facts: { readonly secret: string; readonly objects: () => Promise<string> }): Promise<void>;
  /** Whether it answers, and still takes writes. */
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** A `server` has a data folder to itself; a `tool` works beside it. Throws one sentence when the database cannot be used. */
export function openDatabase(config: Config, role: 'server' | 'tool', log: Log): Promise<OpenDatabase> {
  return config.stores.database === 'mongo' ? openShared(config, role, log) : openFolder(config, role);
}

async function openFolder({ dataFolder }: Config, role: 'server' | 'tool'): Promise<OpenDatabase> {
  const stores = await openSqlite({ folder: dataFolder, role });
  return {
    module: sqliteModule(stores),
    accounts: stores.accounts,
    wakeUpTable: stores.wakeUpTable,
    checkInstallation: () => Promise.resolve(),
    isReady: async () => stores.isWritable() && answers(stores.accounts),
    close: () => stores.close(),
  };
}

async function openShared(config: Config, role: 'server' | 'tool', log: Log): Promise<OpenDatabase> {
  const stores = await openMongo({ ...mongoOptions(config), log });
  return {
    module: mongoModule(stores),
    accounts: stores.accounts,
    wakeUpTable: stores.wakeUpTable,
    db: stores.db,
    async checkInstallation({ secret, objects }) {
      const known = await objects().catch((error: unknown) => whileAway(error, role));
      const claimed = await (known === undefined ? stores.installation.check({ secret }) : stores.installation.claim({ secret, objects: known }));
      if (claimed !== 'same') throw new MongoRefused(otherInstallation(claimed.other, config));
    },
    isReady: () => stores.isReady(),
    close: () => stores.close(),
  };
}

function whileAway(error: unknown, role: 'server' | 'tool'): undefined {
  if (role === 'server' || !(error instanceof StoreUnavailable)) throw error;
}

function otherInstallation(other: 'secret' | 'objects', { mongo, secretFile }: Config): string {
  return other === 'secret'
    ? `The secret in ${secretFile} is not the one that database ${mongo.database} was first used with; give every process the same secret_file.`
    : `Database ${mongo.database} was first used with other objects than the ones configured here; name the same bucket everywhere, or another mongo.database.`;
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
