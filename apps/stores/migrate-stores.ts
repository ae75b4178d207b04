import { join } from 'node:path';
import { type Installation, ObjectsMissing } from '../../adapters/driver.js';
import type { Config } from '../config/config.js';
import { checkRights } from '../wiring/built-in-drivers.js';
import { lookForSecrets, readSecrets, readToken } from '../wiring/secrets.js';
import { inspectBeforeMigration, inspectDatabase, objectsOpeningOf, openingOf, QUIETLY } from './open-database.js';
import { checkInstallation, hadSecret, isOneOfSeveral, NOBODYS, refuseObjects } from './same-installation.js';

interface Migration {
  /** The process that opens the stores afterwards: a server may be the only process, and then makes the secret. */
  readonly role?: 'server' | 'tool';
  /** Called with a line for each created item, one by one, because a later one may fail. */
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
    // Checked last, because a missing file is more informative than a folder without write permission.
    if (driver.isInDataFolder) checkRights(config.dataFolder, { readOnly: false });
  } finally {
    await database.close();
  }
}

/**
 * Checks what a start over the chosen stores would refuse after their migration, as far as reading alone can show: a
 * missing or malformed secret, and a secret or objects other than those that the database was first used with. A
 * migration with the wrong ones therefore leaves nothing behind in them. Throws one sentence.
 */
async function checkBeforeMigration(config: Config, role: 'server' | 'tool'): Promise<void> {
  const database = await inspectBeforeMigration(config);
  try {
    const inUse = database !== undefined && (await hadSecret(config, database));
    const secrets = lookForSecrets(config.secretFile, { inUse, isShared: isOneOfSeveral(config, role) });
    if (database !== undefined)
      await checkInstallation(config, database.installation, { secret: secrets?.fingerprint ?? NOBODYS });
    const objects = await inspectObjectsBeforeMigration(config, database?.installation);
    if (database !== undefined) await checkInstallation(config, database.installation, { objects: objects ?? NOBODYS });
  } finally {
    await database?.close();
  }
}

/** A database and objects in the data folder stay together, wherever the folder is moved or restored to. */
export const BESIDE_THE_DATABASE = 'in the folder of the database';

/**
 * The identity of the configured objects, by reading alone. Throws one sentence when a server could not use them, or
 * they were never made.
 */
async function inspectObjects(config: Config, installation: Installation): Promise<string> {
  const { driver } = config.stores.objects;
  const { identity, unmade } = await driver
    .inspect(objectsOpeningOf(config, QUIETLY))
    .catch((error: unknown) => refuseObjects(config, installation, error));
  if (unmade !== undefined) return refuseUnmade(unmade);
  if (!driver.isInDataFolder) return identity ?? refuseUnmade('The objects could not be set up');
  return keptIdentity(config) ?? refuseUnmade(`There is no ${identityFile(config.dataFolder)}`);
}

/**
 * The same before they are created, or undefined if they have none yet; `installation` is what an existing database
 * stores. Throws one sentence for objects that cannot be used, or are missing.
 */
async function inspectObjectsBeforeMigration(config: Config, installation?: Installation): Promise<string | undefined> {
  const { driver } = config.stores.objects;
  if (driver.isInDataFolder) return keptIdentity(config);
  try {
    return (await driver.inspect(objectsOpeningOf(config, QUIETLY))).identity;
  } catch (error) {
    if (installation !== undefined) await refuseObjects(config, installation, error).catch(onlyMissing);
    else onlyMissing(error);
    return undefined;
  }
}

/** A missing place is one to be created. */
function onlyMissing(error: unknown): void {
  if (!(error instanceof ObjectsMissing)) throw error;
}

/** The identity of objects in the data folder. */
function keptIdentity({ stores, dataFolder }: Config): string | undefined {
  return stores.database.driver.isInDataFolder ? BESIDE_THE_DATABASE : readToken(identityFile(dataFolder));
}

function refuseUnmade(what: string): never {
  throw new Error(`${what}; run darkroom migrate first.`);
}

export function identityFile(dataFolder: string): string {
  return join(dataFolder, 'objects.id');
}
