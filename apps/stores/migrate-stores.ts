import { migrateAgenda } from '../../adapters/agenda/migrate-agenda.js';
import { setUpBucket } from '../../adapters/minio/set-up-bucket.js';
import { migrateMongo } from '../../adapters/mongo/migrate-mongo.js';
import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import type { Config } from '../config/config.js';
import { minioOptions, mongoOptions } from './store-options.js';

/**
 * Makes what the chosen stores need before anybody serves over them, and brings it up to date; answers a line for each
 * thing done. Safe to repeat, beside running processes too, and in many at once.
 */
export async function migrateStores(config: Config): Promise<readonly string[]> {
  return [...await migrateDatabase(config), ...await migrateObjects(config)];
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
