import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkRights, REAL_DISK } from '../../adapters/files/disk.js';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { filesModule } from '../../adapters/files/module.js';
import { MinioObjectStore } from '../../adapters/minio/minio-object-store.js';
import { BucketMissing } from '../../adapters/minio/minio-refused.js';
import { minioModule } from '../../adapters/minio/module.js';
import { ensureFolder } from '../../adapters/sqlite/data-folder.js';
import { ServerLock } from '../../adapters/sqlite/server-lock.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Config } from '../config/config.js';
import type { SignedObjectGate } from '../http/objects/signed-objects.js';
import { readOrCreateToken, readToken } from '../wiring/secrets.js';
import { AwaitedObjects } from './awaited-objects.js';
import type { CloseOptions } from './open-database.js';
import { isInUse, refuseObjects, type Installation } from './same-installation.js';
import { minioOptions } from './store-options.js';

/** A SQLite file and its objects lie in one folder, wherever that is moved or restored to. */
const BESIDE_THE_DATABASE = 'in the folder of the database';

/** Whether a server could open them. Throws as `openObjects` does. */
export async function checkObjects(config: Config, clock: Clock): Promise<void> {
  if (config.stores.objects === 'minio') await MinioObjectStore.open({ ...minioOptions(config), clock });
}

/** Their identity, found by reading alone. Throws one sentence when a server could not use them, or they were never made. */
export async function lookForObjects(config: Config, clock: Clock, installation: Installation): Promise<string> {
  if (config.stores.objects === 'files') return lookForFiles(config);
  const { bucket } = config.minio;
  const objects = await lookAtBucket(config, clock).catch((error: unknown) => refuseObjects(config, installation, error));
  return (await objects.keptInstallationId()) ?? refuseUnmade(`The bucket ${bucket} was not made ready`);
}

/**
 * Their identity before they are made, or undefined where they have none yet; `installation` is what an existing database
 * remembers. Throws one sentence for objects that could not be used, or are gone.
 */
export async function lookForObjectsBefore(config: Config, clock: Clock, installation?: Installation): Promise<string | undefined> {
  const { stores, dataFolder } = config;
  if (stores.objects === 'files') return stores.database === 'sqlite' ? BESIDE_THE_DATABASE : readToken(identityFile(dataFolder));
  try {
    const objects = await lookAtBucket(config, clock);
    return await objects.keptInstallationId();
  } catch (error) {
    if (installation !== undefined) await refuseObjects(config, installation, error).catch(onlyMissing);
    else onlyMissing(error);
    return undefined;
  }
}

/** A bucket that is not there is one to be made. */
function onlyMissing(error: unknown): void {
  if (!(error instanceof BucketMissing)) throw error;
}

function lookAtBucket(config: Config, clock: Clock): Promise<MinioObjectStore> {
  return MinioObjectStore.lookAt({ ...minioOptions(config), clock });
}

async function lookForFiles({ stores, dataFolder }: Config): Promise<string> {
  const folder = join(dataFolder, 'objects');
  if (!existsSync(folder)) refuseUnmade(`There is no folder ${folder}`);
  await checkRights(REAL_DISK, folder);
  if (stores.database === 'sqlite') return BESIDE_THE_DATABASE;
  const path = identityFile(dataFolder);
  return readToken(path) ?? refuseUnmade(`There is no ${path}`);
}

function refuseUnmade(what: string): never {
  throw new Error(`${what}; run darkroom migrate first.`);
}

function identityFile(dataFolder: string): string {
  return join(dataFolder, 'objects.id');
}

/** Where bytes are kept, open. */
export interface OpenObjects {
  readonly module: ReturnType<typeof filesModule>;
  /** Serves signed addresses, for a store that has no server of its own. */
  readonly signedObjects?: SignedObjectGate;
  /** Which objects these are, so that a database is never used with others. */
  identity(): Promise<string>;
  /** Present where the store was away. It is tried again once it is told how to find out that these are the right objects. */
  readonly awaited?: AwaitedObjects;
  close(options?: CloseOptions): Promise<void>;
}

export interface ObjectsNeeds {
  readonly role: 'server' | 'tool';
  readonly clock: Clock;
  readonly publicUrl: () => string;
  /** Whether what a client sends to a key of a folder still has a use. */
  readonly takesBytes: (key: string) => Promise<boolean>;
  /** Signs the addresses of a folder's objects. */
  readonly secret: Uint8Array;
  /** Of the database they belong to. */
  readonly installation: Installation;
  readonly log: Log;
}

export async function openObjects(config: Config, { role, clock, publicUrl, takesBytes, secret, installation, log }: ObjectsNeeds): Promise<OpenObjects> {
  if (config.stores.objects === 'minio') {
    // A key must be revocable while the object store is away.
    if (role === 'tool') return openBucket(MinioObjectStore.unasked({ ...minioOptions(config), clock }));
    const open = () => MinioObjectStore.open({ ...minioOptions(config), clock }).catch((error: unknown) => refuseObjects(config, installation, error));
    try {
      return openBucket(await open());
    } catch (error) {
      // The first start of all makes what every later one is compared with, so it needs its objects.
      if (!(error instanceof StoreUnavailable) || !(await isInUse(installation))) throw error;
      const awaited = new AwaitedObjects({ open, clock: new SystemClock({ keepsProcessAlive: false }), log }, error);
      return { module: minioModule(awaited), identity: () => Promise.reject(error), awaited, close: () => awaited.close() };
    }
  }
  const lock = config.stores.database === 'sqlite' ? undefined : lockFolder(config.dataFolder, role);
  const objects = await FileObjectStore.open({ folder: join(config.dataFolder, 'objects'), publicBaseUrl: publicUrl, secret, clock, takesBytes });
  return {
    module: filesModule(objects),
    signedObjects: objects.signedObjects,
    identity: () => Promise.resolve(config.stores.database === 'sqlite' ? BESIDE_THE_DATABASE : readOrCreateToken(identityFile(config.dataFolder))),
    close: async ({ keepsLock = false } = {}) => (keepsLock ? lock?.keep() : lock?.release()),
  };
}

function openBucket(objects: MinioObjectStore): OpenObjects {
  return { module: minioModule(objects), identity: () => objects.installationId(), close: () => Promise.resolve() };
}

/** What SQLite does for its own folder: with another database nothing else would keep a second server out. */
function lockFolder(folder: string, role: 'server' | 'tool'): ServerLock | undefined {
  ensureFolder(folder);
  return role === 'server' ? ServerLock.take(folder) : undefined;
}
