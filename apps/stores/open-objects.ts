import { join } from 'node:path';
import { FileObjectStore } from '../../adapters/files/file-object-store.js';
import { filesModule } from '../../adapters/files/module.js';
import { MinioObjectStore } from '../../adapters/minio/minio-object-store.js';
import { minioModule } from '../../adapters/minio/module.js';
import { ensureFolder } from '../../adapters/sqlite/data-folder.js';
import { ServerLock } from '../../adapters/sqlite/server-lock.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Config } from '../config/config.js';
import type { SignedObjectGate } from '../rest/signed-objects.js';
import { readOrCreateToken } from '../secrets.js';
import { minioOptions } from './store-options.js';

/** Whether a server could open them. Throws as `openObjects` does. */
export async function checkObjects(config: Config, clock: Clock): Promise<void> {
  if (config.stores.objects === 'minio') await MinioObjectStore.open({ ...minioOptions(config), clock });
}

/** Where bytes are kept, open. */
export interface OpenObjects {
  readonly module: ReturnType<typeof filesModule>;
  /** Serves signed addresses, for a store that has no server of its own. */
  readonly signedObjects?: SignedObjectGate;
  /** Which objects these are, so that a database is never used with others. */
  identity(): Promise<string>;
  close(): Promise<void>;
}

export interface ObjectsNeeds {
  readonly role: 'server' | 'tool';
  readonly clock: Clock;
  readonly publicUrl: () => string;
  /** Signs the addresses of a folder's objects. */
  readonly secret: Uint8Array;
}

export async function openObjects(config: Config, { role, clock, publicUrl, secret }: ObjectsNeeds): Promise<OpenObjects> {
  if (config.stores.objects === 'minio') {
    const options = { ...minioOptions(config), clock };
    // A key must be revocable while the object store is away.
    const objects = role === 'server' ? await MinioObjectStore.open(options) : MinioObjectStore.unasked(options);
    return { module: minioModule(objects), identity: () => objects.installationId(), close: () => Promise.resolve() };
  }
  const lock = config.stores.database === 'sqlite' ? undefined : lockFolder(config.dataFolder, role);
  const objects = await FileObjectStore.open({ folder: join(config.dataFolder, 'objects'), publicBaseUrl: publicUrl, secret, clock });
  return {
    module: filesModule(objects),
    signedObjects: objects.signedObjects,
    identity: () => Promise.resolve(readOrCreateToken(join(config.dataFolder, 'objects.id'))),
    close: async () => lock?.release(),
  };
}

/** What SQLite does for its own folder: with another database nothing else would keep a second server out. */
function lockFolder(folder: string, role: 'server' | 'tool'): ServerLock | undefined {
  ensureFolder(folder);
  return role === 'server' ? ServerLock.take(folder) : undefined;
}
