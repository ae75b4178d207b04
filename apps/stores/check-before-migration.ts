import type { Config } from '../config/config.js';
import { lookForSecrets } from '../wiring/secrets.js';
import { inspectObjectsBeforeMigration } from './inspect-objects.js';
import { inspectBeforeMigration } from './open-database.js';
import { checkInstallation, hadSecret, isOneOfSeveral } from './same-installation.js';

/** The placeholder for a missing item: no database stores it. */
const NOTHING = '';

/**
 * What a start over the chosen stores would refuse after their migration, as far as reading alone can tell: a secret
 * that is missing or malformed, and a secret or objects that the database was not first used with. So a migration with
 * the wrong ones leaves nothing behind in them. Throws one sentence.
 */
export async function checkBeforeMigration(config: Config, role: 'server' | 'tool'): Promise<void> {
  const database = await inspectBeforeMigration(config);
  try {
    const inUse = database !== undefined && (await hadSecret(config, database));
    const secrets = lookForSecrets(config.secretFile, { inUse, isShared: isOneOfSeveral(config, role) });
    if (database !== undefined)
      await checkInstallation(config, database.installation, { secret: secrets?.fingerprint ?? NOTHING });
    const objects = await inspectObjectsBeforeMigration(config, database?.installation);
    if (database !== undefined) await checkInstallation(config, database.installation, { objects: objects ?? NOTHING });
  } finally {
    await database?.close();
  }
}
