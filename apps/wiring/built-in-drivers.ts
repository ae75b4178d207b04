import { agendaDriver } from '../../adapters/agenda/agenda-driver.js';
import type { Driver } from '../../adapters/driver.js';
import { filesDriver } from '../../adapters/files/files-driver.js';
import { minioDriver } from '../../adapters/minio/minio-driver.js';
import { mongoDriver } from '../../adapters/mongo/mongo-driver.js';
import { postgresDriver } from '../../adapters/postgres/postgres-driver.js';
import { a1111Driver } from '../../adapters/providers/a1111/a1111-driver.js';
import { cogDriver } from '../../adapters/providers/cog/cog-driver.js';
import { comfyUiDriver } from '../../adapters/providers/comfyui/comfyui-driver.js';
import { falDriver } from '../../adapters/providers/fal/fal-driver.js';
import { httpJsonDriver } from '../../adapters/providers/http-json/http-json-driver.js';
import { openAiDriver } from '../../adapters/providers/openai/openai-driver.js';
import { replicateDriver } from '../../adapters/providers/replicate/replicate-driver.js';
import { sandboxDriver } from '../../adapters/providers/sandbox/sandbox-driver.js';
import { sdcppDriver } from '../../adapters/providers/sdcpp/sdcpp-driver.js';
import { sqliteDriver } from '../../adapters/sqlite/sqlite-driver.js';
import { timersDriver } from '../../adapters/timers/timers-driver.js';

/**
 * The drivers that come with the program; the first of each kind is the default. They load their packages when they are
 * opened.
 */
export const BUILT_IN_DRIVERS: readonly Driver[] = [
  sqliteDriver,
  mongoDriver,
  postgresDriver,
  filesDriver,
  minioDriver,
  timersDriver,
  agendaDriver,
  sandboxDriver,
  comfyUiDriver,
  sdcppDriver,
  a1111Driver,
  openAiDriver,
  replicateDriver,
  falDriver,
  cogDriver,
  httpJsonDriver,
];

/** The default providers of a configuration that names none: instances by name, each with its kind. */
export const DEFAULT_PROVIDERS: ReadonlyMap<string, string> = new Map([['sandbox', 'sandbox']]);

/** The lock that ensures that only one server uses a data folder. */
export interface DataFolderLock {
  release(): void;
  /** Holds the lock until the process ends. */
  keep(): void;
}

/** The permissions of a data folder, and the name that a restore uses in it. */
export { checkRights, closeDataFolder, ensureFolder, RESTORING } from '../../adapters/sqlite/data-folder.js';

/** Throws one sentence while another server has the folder. */
export async function lockDataFolder(folder: string): Promise<DataFolderLock> {
  const { ServerLock } = await import('../../adapters/sqlite/server-lock.js');
  return ServerLock.take(folder);
}

/** Whether a server uses the data folder now. */
export async function isDataFolderLocked(folder: string): Promise<boolean> {
  const { ServerLock } = await import('../../adapters/sqlite/server-lock.js');
  return ServerLock.isTaken(folder);
}
