import type {
  DatabasePlace,
  Driver,
  ObjectsInspection,
  OpenDatabase,
  OpenedAs,
  Opening,
} from '../../adapters/driver.js';
import type { Config, Configured } from '../config/config.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/machine.js';

/**
 * A `server` has exclusive use of a data folder; a `tool` works beside it. Throws one sentence when the database cannot
 * be used.
 */
export function openDatabase(config: Config, as: OpenedAs, needs: OpeningNeeds): Promise<OpenDatabase> {
  const { database } = config.stores;
  return database.driver.open({ ...openingOf(config, database, needs), as });
}

/**
 * For reading only: nothing is created, and a database of an older release stays as it is. Throws as `openDatabase`
 * does.
 */
export function inspectDatabase(config: Config): Promise<OpenDatabase> {
  const { database } = config.stores;
  return database.driver.inspect(openingOf(config, database, QUIETLY));
}

/** The same before a migration: undefined for a database that only has to be made. */
export function inspectBeforeMigration(config: Config): Promise<OpenDatabase | undefined> {
  const { database } = config.stores;
  return database.driver.inspectBeforeMigration(openingOf(config, database, QUIETLY));
}

/** How sentences and log lines name the database. */
export function placeOf({ stores: { database }, dataFolder }: Config): DatabasePlace {
  return database.driver.place({ options: database.options, dataFolder });
}

export interface OpeningNeeds {
  readonly clock: Clock;
  readonly log: Log;
}

/** For work that reports nothing by itself. */
export const QUIETLY: OpeningNeeds = {
  clock: new SystemClock(),
  log: { info: () => undefined, warn: () => undefined },
};

/** The parameters of an opening that all drivers share. */
export function openingOf({ dataFolder }: Config, { options }: Configured<Driver>, needs: OpeningNeeds): Opening {
  return { options, dataFolder, ...needs };
}

export function objectsOpeningOf(config: Config, needs: OpeningNeeds): ObjectsInspection {
  const { uploadTargetMs, outputUrlMs } = config.settings;
  return {
    ...openingOf(config, config.stores.objects, needs),
    longestAddressMs: Math.max(uploadTargetMs, outputUrlMs),
  };
}
