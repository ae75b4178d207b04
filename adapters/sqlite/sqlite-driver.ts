import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../core/log.js';
import type { DatabaseDriver, OpenDatabase } from '../driver.js';
import { closeDataFolder, DataFolderUnmade } from './data-folder.js';
import type { CheckOutcome } from './integrity.js';
import type { SqliteOptions } from './open-sqlite.js';

const FILE = 'darkroom.db';
const NOWHERE = '00000000-0000-7000-8000-000000000000';

/** One file in the data folder, for one server. */
export const sqliteDriver: DatabaseDriver = {
  kind: 'database',
  name: 'sqlite',
  options: { type: 'object', properties: {}, additionalProperties: false },
  unshared: 'a SQLite file',
  isInDataFolder: true,
  lends: ['wake-up-table'],
  backup: {
    file: FILE,
    async snapshot(dataFolder, target) {
      const { snapshotDatabase } = await import('./integrity.js');
      snapshotDatabase(join(dataFolder, FILE), target);
    },
  },

  place({ dataFolder }) {
    return {
      name: `${FILE} in ${dataFolder}`,
      key: 'data_folder',
      text: `The data folder ${dataFolder}`,
      facts: { data_folder: dataFolder },
    };
  },

  isMade: ({ dataFolder }) => isThere(join(dataFolder, FILE)),

  async open({ dataFolder, as, log }) {
    const database = await openFolder({
      folder: dataFolder,
      role: as,
      checked: (outcome) => logCheck(log, outcome),
      noteFailed: (error) => log.warn('check of the database not noted for the next start', { error }),
    });
    if (as === 'server') closeDataFolder(dataFolder, log);
    return database;
  },

  inspect: ({ dataFolder }) => openFolder({ folder: dataFolder, role: 'tool', readOnly: true }),

  async inspectBeforeMigration(opening) {
    return this.inspect(opening).catch((error: unknown) => {
      if (error instanceof DataFolderUnmade) return undefined;
      throw error;
    });
  },

  async migrate({ dataFolder }, beside) {
    // Opening brings the file up to date, in one transaction.
    const database = await openFolder({ folder: dataFolder, role: 'tool' });
    try {
      return await beside(database.lent);
    } finally {
      await database.close();
    }
  },
};

async function openFolder(options: SqliteOptions): Promise<OpenDatabase> {
  const { openSqlite } = await import('./open-sqlite.js');
  const stores = await openSqlite(options);
  return {
    stores,
    lent: { 'wake-up-table': stores.wakeUpTable },
    installation: stores.installation,
    rows: (table) => stores.rows(table),
    isExclusive: stores.isExclusive,
    isReady: async () =>
      stores.isWritable() &&
      stores.accounts.read(NOWHERE).then(
        () => true,
        () => false,
      ),
    tidy: () => Promise.resolve(),
    close: (closing) => stores.close(closing),
  };
}

function logCheck(log: Log, outcome: CheckOutcome): void {
  if (outcome === 'not-finished') log.info('check of the database not finished', {});
  else if ('failed' in outcome) log.warn('check of the database failed', { reason: outcome.failed });
  else if (outcome.fault === null) log.info('database checked', {});
  else log.warn('database damaged: restore it from a backup', { fault: outcome.fault });
}

/** A file without read permission is a different fault, which opening it reports. */
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}
