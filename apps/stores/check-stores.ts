import { checkRights } from '../wiring/built-in-drivers.js';
import { readSecrets } from '../wiring/secrets.js';
import type { Config } from '../config/config.js';
import { inspectDatabase } from './open-database.js';
import { inspectObjects } from './inspect-objects.js';
import { openingOf, QUIETLY } from './opening.js';
import { checkInstallation, hadSecret } from './same-installation.js';

/**
 * Whether a server could start over the chosen stores, determined by reading alone: nothing is created, migrated or
 * claimed, so that a check with a wrong configuration has no lasting effect. Throws one sentence that names what is
 * missing.
 */
export async function checkStores(config: Config): Promise<void> {
  const {
    database: { driver },
    wakeUps,
  } = config.stores;
  const database = await inspectDatabase(config);
  try {
    const inUse = await hadSecret(config, database);
    const { fingerprint: secret } = readSecrets(config.secretFile, { inUse, isShared: driver.unshared === undefined });
    const objects = await inspectObjects(config, database.installation);
    await checkInstallation(config, database.installation, { secret, objects });
    await wakeUps.driver.inspect({ ...openingOf(config, wakeUps, QUIETLY), lent: database.lent });
    // Last, as a file that is missing says more than a folder that may not be written.
    if (driver.isInDataFolder) checkRights(config.dataFolder, { readOnly: false });
  } finally {
    await database.close();
  }
}
