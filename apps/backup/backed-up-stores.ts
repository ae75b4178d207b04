import type { DatabaseBackup, ObjectsBackup } from '../../adapters/driver-backup.js';
import type { Config } from '../config/config.js';
import { BackupRefused } from './backup-refused.js';

/** What of an installation a backup has. */
export interface BackedUpStores {
  readonly database: DatabaseBackup;
  /** Absent if they are stored elsewhere, with separate backups. */
  readonly objects?: ObjectsBackup;
}

/**
 * Throws `BackupRefused` for a database with its own tools, which can copy a cluster as of one moment, and for objects
 * in the data folder that cannot be copied: a backup without them would look complete.
 */
export function backedUpStores({ stores }: Config, what: string): BackedUpStores {
  const { backup, backupTools = 'its own tools' } = stores.database.driver;
  if (backup === undefined)
    throw new BackupRefused(
      `Darkroom can ${what} only a data folder; for the database use ${backupTools}, as docs/operating.md says.`,
    );
  const { name, isInDataFolder, backup: objects } = stores.objects.driver;
  if (isInDataFolder && !objects)
    throw new BackupRefused(
      `Darkroom cannot ${what} the objects in the data folder, because the driver ${name} has no backup.`,
    );
  return { database: backup, ...(objects ? { objects } : {}) };
}
