import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.js';
import { ensureFolder, lockDataFolder, RESTORING } from '../wiring/built-in-drivers.js';
import {
  backedUpStores,
  type BackedUpStores,
  BackupRefused,
  FILES,
  type Manifest,
  readManifest,
  sha256Of,
  syncToDisk,
  writePrivately,
} from './manifest.js';

/** The files that a server leaves in a folder that everything else was moved out of. */
const OF_THE_LOCK = ['server.lock', 'server.lock-journal', 'server.pid', 'server.boot', 'server.url'];

/**
 * Restores a backup into an empty data folder. Everything is first copied to `restoring/` and compared with its digest;
 * the database is moved into place last, and until then nothing opens the folder. The next restore starts an
 * interrupted one over; a refused one leaves the folder empty. Throws `BackupRefused`, and `DataFolderRefused` beside a
 * server.
 */
export async function restoreBackup(config: Config, backup: string): Promise<Manifest> {
  const { dataFolder } = config;
  const stores = backedUpStores(config, 'restore');
  const manifest = readManifest(backup);
  refuseOtherObjects(stores, manifest, backup);
  ensureFolder(dataFolder);
  const lock = await lockDataFolder(dataFolder);
  try {
    clearEmptyFolder(dataFolder, stores);
    const restoring = join(dataFolder, RESTORING);
    mkdirSync(restoring, { mode: 0o700 });
    try {
      await copyDatabase(backup, restoring, { stores, manifest });
      if (manifest.objects) await copyAllObjects(backup, restoring, { stores, manifest });
      restoreSecret(config, backup);
    } catch (error) {
      rmSync(restoring, { recursive: true });
      throw error;
    }
    const { database, objects } = stores;
    for (const name of [...(objects ? [objects.folder] : []), database.file])
      renameSync(join(restoring, name), join(dataFolder, name));
    rmdirSync(restoring);
    syncToDisk(dataFolder);
  } finally {
    lock.release();
  }
  return manifest;
}

interface Copied {
  readonly stores: BackedUpStores;
  readonly manifest: Manifest;
}

function refuseOtherObjects(stores: BackedUpStores, { objects }: Manifest, backup: string): void {
  if ((stores.objects === undefined) === (objects === undefined)) return;
  throw new BackupRefused(
    objects === undefined
      ? `The backup ${backup} has no objects: they are in a bucket, which the configuration must name.`
      : `The backup ${backup} contains its objects, but the configuration names a bucket.`,
  );
}

/** Nothing in use is ever removed: only what a restore that was cut had put there. */
function clearEmptyFolder(folder: string, { database, objects }: BackedUpStores): void {
  const names = readdirSync(folder).filter((name) => !OF_THE_LOCK.includes(name));
  const isCutRestore = names.includes(RESTORING) && !names.includes(database.file);
  const moved = [RESTORING, ...(objects ? [objects.folder] : [])];
  const ours: readonly string[] = isCutRestore ? [...moved, FILES.secret] : [];
  const other = names.find((name) => !ours.includes(name));
  if (other !== undefined)
    throw new BackupRefused(
      `The data folder ${folder} is not empty: ${other} is in it; restore into another one, or move it away.`,
    );
  for (const name of moved) if (names.includes(name)) rmSync(join(folder, name), { recursive: true });
}

async function copyDatabase(
  backup: string,
  restoring: string,
  { stores, manifest: { databaseSha256 } }: Copied,
): Promise<void> {
  const { file } = stores.database;
  const [from, to] = [join(backup, file), join(restoring, file)];
  if (!existsSync(from)) throw new BackupRefused(`The backup ${backup} has no ${file}.`);
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  syncToDisk(to);
  if ((await sha256Of(to)) !== databaseSha256)
    throw new BackupRefused(`${from} is damaged: it differs from what was backed up.`);
}

async function copyAllObjects(
  backup: string,
  restoring: string,
  { stores, manifest: { objects } }: Copied,
): Promise<void> {
  const copier = stores.objects;
  if (copier === undefined) return;
  const [from, to] = [join(backup, copier.folder), join(restoring, copier.folder)];
  mkdirSync(to, { mode: 0o700 });
  const { damaged } = await copier.copy(from, to);
  if (damaged !== undefined) throw new BackupRefused(`${damaged} is damaged: it differs from what was backed up.`);
  const { files, bytes } = await copier.count(to);
  if (files === objects?.files && bytes === objects.bytes) return;
  throw new BackupRefused(
    `The backup ${backup} is incomplete: it has ${files} objects of ${bytes} bytes, and had ${objects?.files} of ${objects?.bytes}.`,
  );
}

/** An existing one may be the right one, supplied from elsewhere. */
function restoreSecret({ secretFile }: Config, backup: string): void {
  const from = join(backup, FILES.secret);
  if (!existsSync(from)) throw new BackupRefused(`The backup ${backup} has no ${FILES.secret}.`);
  const secret = readFileSync(from, 'utf8');
  if (!existsSync(secretFile)) {
    ensureFolder(dirname(secretFile));
    writePrivately(secretFile, secret);
  } else if (readFileSync(secretFile, 'utf8').trim() !== secret.trim()) {
    throw new BackupRefused(
      `${secretFile} holds another secret than the backup, with which the API keys would be invalid; move it away.`,
    );
  }
}
