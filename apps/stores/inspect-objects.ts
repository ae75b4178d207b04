import { join } from 'node:path';
import { ObjectsMissing, type Installation } from '../../adapters/driver.js';
import type { Config } from '../config/config.js';
import { readToken } from '../wiring/secrets.js';
import { objectsOpeningOf, QUIETLY } from './opening.js';
import { refuseObjects } from './same-installation.js';

/** A database and objects in the data folder stay together, wherever the folder is moved or restored to. */
export const BESIDE_THE_DATABASE = 'in the folder of the database';

/**
 * The identity of the configured objects, by reading alone. Throws one sentence when a server could not use them, or
 * they were never made.
 */
export async function inspectObjects(config: Config, installation: Installation): Promise<string> {
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
export async function inspectObjectsBeforeMigration(
  config: Config,
  installation?: Installation,
): Promise<string | undefined> {
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

/** Of objects in the data folder. */
function keptIdentity({ stores, dataFolder }: Config): string | undefined {
  return stores.database.driver.isInDataFolder ? BESIDE_THE_DATABASE : readToken(identityFile(dataFolder));
}

function refuseUnmade(what: string): never {
  throw new Error(`${what}; run darkroom migrate first.`);
}

export function identityFile(dataFolder: string): string {
  return join(dataFolder, 'objects.id');
}
