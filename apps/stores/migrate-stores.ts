import type { Config } from '../config/config.js';
import { checkBeforeMigration } from './check-before-migration.js';
import { objectsOpeningOf, openingOf, QUIETLY } from './opening.js';

interface Migration {
  /** Who opens the stores afterwards: a server may be the only process, and then makes the secret. */
  readonly role?: 'server' | 'tool';
  /** Told a line for each thing made, by and by, as a later one may fail. */
  readonly tell?: (line: string) => void;
}

/**
 * Creates and migrates what the chosen stores need before a process serves over them, after all checks that need only
 * reading. Safe to repeat, beside running processes too, and in many processes concurrently. Throws one sentence.
 */
export async function migrateStores(
  config: Config,
  { role = 'tool', tell = () => undefined }: Migration = {},
): Promise<void> {
  const { database, objects, wakeUps } = config.stores;
  await checkBeforeMigration(config, role);
  (await database.driver.migrate(openingOf(config, database, QUIETLY), (lent) => wakeUps.driver.migrate(lent))).forEach(
    tell,
  );
  (await objects.driver.migrate(objectsOpeningOf(config, QUIETLY))).forEach(tell);
}
