import { migrateAgenda } from '../../adapters/agenda/migrate-agenda.js';
import { setUpBucket } from '../../adapters/minio/set-up-bucket.js';
import { migrateMongo } from '../../adapters/mongo/migrate-mongo.js';
import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import type { Config } from '../config/config.js';
import { checkBeforeMigration } from './check-before-migration.js';
import { minioOptions, mongoOptions } from './store-options.js';

interface Migration {
  /** Who opens the stores afterwards: a server may be the only process, and then makes the secret. */
  readonly role?: 'server' | 'tool';
  /** Told a line for each thing made, by and by, as a later one may fail. */
  readonly tell?: (line: string) => void;
}

/**
 * Makes what the chosen stores need before anybody serves over them, and brings it up to date, once all has been checked
 * that reading tells. Safe to repeat, beside running processes too, and in many at once. Throws one sentence.
 */
export async function migrateStores(config: Config, { role = 'tool', tell = () => undefined }: Migration = {}): Promise<void> {
  await checkBeforeMigration(config, role);
  (await migrateDatabase(config)).forEach(tell);
  (await migrateObjects(config)).forEach(tell);
}

async function migrateDatabase(config: Config): Promise<readonly string[]> {
  if (config.stores.database === 'sqlite') {
    // Opening brings the file up to date, in one transaction.
    const stores = await openSqlite({ folder: config.dataFolder, role: 'tool' });
    await stores.close();
    return [];
  }
  return config.stores.wakeUps === 'agenda' ? migrateMongo(mongoOptions(config), migrateAgenda) : migrateMongo(mongoOptions(config));
}

async function migrateObjects(config: Config): Promise<readonly string[]> {
  return config.stores.objects === 'minio' ? setUpBucket(minioOptions(config)) : [];
}
