import type { CloseOptions, Installation, OpenedAs, OpenObjects } from '../../adapters/driver.js';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { ObjectStore } from '../../core/ports/object-store.js';
import type { Config } from '../config/config.js';
import { closeDataFolder, ensureFolder, lockDataFolder, type DataFolderLock } from '../wiring/built-in-drivers.js';
import { readOrCreateToken, readSecrets } from '../wiring/secrets.js';
import { AwaitedObjects } from './awaited-objects.js';
import { BESIDE_THE_DATABASE, identityFile } from './inspect-objects.js';
import { identityOf } from './objects-identity.js';
import { objectsOpeningOf, QUIETLY, type OpeningNeeds } from './opening.js';
import { isInUse, refuseObjects } from './same-installation.js';

/** Where bytes are kept, open, for one process. */
export interface ProgramObjects {
  readonly store: ObjectStore;
  /** Serves signed addresses, for a store without its own server. */
  readonly signedObjects?: SignedObjectGate;
  /** Which objects these are, so that a database is never used with others. */
  identity(): Promise<string>;
  /**
   * Present if the store was unavailable. It is tried again once it has been given the check that these are the right
   * objects.
   */
  readonly awaited?: AwaitedObjects;
  close(options?: CloseOptions): Promise<void>;
}

export interface ObjectsNeeds extends OpeningNeeds {
  readonly as: OpenedAs;
  readonly publicUrl: () => string;
  /** Whether what a client sends to a key of a folder still has a use. */
  readonly takesBytes: (key: string) => Promise<boolean>;
  /** Signs the addresses of a folder's objects. */
  readonly secret: Uint8Array;
  /** Of the database they belong to. */
  readonly installation: Installation;
}

export async function openObjects(
  config: Config,
  { as, clock, log, installation, ...needs }: ObjectsNeeds,
): Promise<ProgramObjects> {
  const { driver } = config.stores.objects;
  const open = () => driver.open({ ...objectsOpeningOf(config, { clock, log }), ...needs, as });
  if (driver.isInDataFolder) return openFolder(config, { as, log, open });
  // A key must be revocable while the object store is unavailable, so a tool does not call it.
  const checked = () => open().catch((error: unknown) => refuseObjects(config, installation, error));
  try {
    return elsewhere(await checked());
  } catch (error) {
    // The first start of all makes what every later one is compared with, so it needs its objects.
    if (as === 'tool' || !(error instanceof StoreUnavailable) || !(await isInUse(installation))) throw error;
    const awaited = new AwaitedObjects(
      { open: checked, clock: new SystemClock({ keepsProcessAlive: false }), log },
      error,
    );
    return { store: awaited, identity: () => Promise.reject(error), awaited, close: () => awaited.close() };
  }
}

/**
 * Whether a server could open objects outside the data folder. Throws as `openObjects` does. The secret exists already.
 */
export async function checkObjects(config: Config, needs: Pick<ObjectsNeeds, 'clock' | 'publicUrl'>): Promise<void> {
  const { driver } = config.stores.objects;
  if (driver.isInDataFolder) return;
  const { objects: secret } = readSecrets(config.secretFile, { inUse: true, isShared: true });
  const { log } = QUIETLY;
  const objects = await driver.open({
    ...objectsOpeningOf(config, { clock: needs.clock, log }),
    publicUrl: needs.publicUrl,
    as: 'server',
    secret,
    takesBytes: () => Promise.resolve(true),
  });
  await objects.close?.();
}

/** A driver that keeps its objects outside of the data folder says which they are. */
function elsewhere(objects: OpenObjects): ProgramObjects {
  return { ...shownOf(objects), identity: () => identityOf(objects), close: async () => objects.close?.() };
}

/** A database in the folder keeps other servers and users out of it; with another database this does. */
async function openFolder(
  { stores, dataFolder }: Config,
  { as, log, open }: Pick<ObjectsNeeds, 'as' | 'log'> & { readonly open: () => Promise<OpenObjects> },
): Promise<ProgramObjects> {
  const isBeside = stores.database.driver.isInDataFolder === true;
  let lock: DataFolderLock | undefined;
  if (!isBeside) {
    ensureFolder(dataFolder);
    if (as === 'server') {
      lock = await lockDataFolder(dataFolder);
      closeDataFolder(dataFolder, log);
    }
  }
  const objects = await open().catch((error: unknown) => {
    lock?.release();
    throw error;
  });
  return {
    ...shownOf(objects),
    identity: () => Promise.resolve(isBeside ? BESIDE_THE_DATABASE : readOrCreateToken(identityFile(dataFolder))),
    async close({ keepsLock = false } = {}) {
      await objects.close?.();
      if (keepsLock) lock?.keep();
      else lock?.release();
    },
  };
}

function shownOf({ store, signedObjects }: OpenObjects): Pick<ProgramObjects, 'store' | 'signedObjects'> {
  return { store, ...(signedObjects === undefined ? {} : { signedObjects }) };
}
