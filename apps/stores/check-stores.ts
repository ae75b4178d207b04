import { AgendaWakeUps } from '../../adapters/agenda/agenda-wake-ups.js';
import { checkRights } from '../../adapters/sqlite/data-folder.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { readSecrets } from '../wiring/secrets.js';
import type { Config } from '../config/config.js';
import { agendaDatabase } from './agenda-database.js';
import { lookIntoDatabase, type OpenDatabase } from './open-database.js';
import { lookForObjects } from './open-objects.js';
import { checkInstallation, hadSecret } from './same-installation.js';

/**
 * Whether a server could start over the chosen stores, found out by reading alone: nothing is made, brought up to date or
 * claimed, so that a check with a wrong configuration binds nobody to it. Throws one sentence that names what is missing.
 */
export async function checkStores(config: Config): Promise<void> {
  const database = await lookIntoDatabase(config);
  try {
    const inUse = await hadSecret(config, database);
    const { fingerprint: secret } = readSecrets(config.secretFile, { inUse, isShared: config.stores.database === 'mongo' });
    const clock = new SystemClock();
    const objects = await lookForObjects(config, clock, database.installation);
    await checkInstallation(config, database.installation, { secret, objects });
    await checkWakeUps(config, database, clock);
    // Last, as a file that is missing says more than a folder that may not be written.
    if (config.stores.database === 'sqlite') checkRights(config.dataFolder, { readOnly: false });
  } finally {
    await database.close();
  }
}

async function checkWakeUps(config: Config, database: OpenDatabase, clock: SystemClock): Promise<void> {
  if (config.stores.wakeUps === 'agenda') await AgendaWakeUps.open({ ...agendaDatabase(config, database), clock, ...config.agenda });
}
