import { SystemClock } from '../../adapters/system/system-clock.js';
import type { Config } from '../config/config.js';
import { lookForSecrets } from '../wiring/secrets.js';
import { lookBeforeMigration } from './open-database.js';
import { lookForObjectsBefore } from './open-objects.js';
import { checkInstallation, hadSecret, isOneOfSeveral } from './same-installation.js';

/** What stands for a thing that is not there: no database remembers it. */
const NOTHING = '';

/**
 * What a start over the chosen stores would refuse after their migration, as far as reading alone tells: a secret that is
 * missing or of another form, and a secret or objects that the database was not first used with. Nobody who named the wrong
 * ones leaves anything behind in them. Throws one sentence.
 */
export async function checkBeforeMigration(config: Config, role: 'server' | 'tool'): Promise<void> {
  const database = await lookBeforeMigration(config);
  try {
    const inUse = database !== undefined && (await hadSecret(config, database));
    const secrets = lookForSecrets(config.secretFile, { inUse, isShared: isOneOfSeveral(config, role) });
    if (database !== undefined) await checkInstallation(config, database.installation, { secret: secrets?.fingerprint ?? NOTHING });
    const objects = await lookForObjectsBefore(config, new SystemClock(), database?.installation);
    if (database !== undefined) await checkInstallation(config, database.installation, { objects: objects ?? NOTHING });
  } finally {
    await database?.close();
  }
}
