import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copyObjects, countObjects } from '../../adapters/files/copied-objects.js';
import { ensureFolder, RESTORING } from '../../adapters/sqlite/data-folder.js';
import { ServerLock } from '../../adapters/sqlite/server-lock.js';
import type { Config } from '../config/config.js';
import { BackupRefused } from './backup-refused.js';
import { syncToDisk, writePrivately } from './durable-files.js';
import { refuseShared } from './make-backup.js';
import { FILES, readManifest, sha256Of, type Manifest } from './manifest.js';

/** What a server leaves in a folder that everything else was moved out of. */
const OF_THE_LOCK = ['server.lock', 'server.lock-journal', 'server.pid'];

/**
 * Puts a backup into a data folder that is empty. Everything is copied and compared with its digest under `restoring/` first; the
 * database gets its place last, and until then nothing opens the folder. A restore that was cut is begun anew by the next; one
 * that is refused leaves the folder empty. Throws `BackupRefused`, and `DataFolderRefused` beside a server.
 */
export async function restoreBackup(config: Config, backup: string): Promise<Manifest> {
  const { dataFolder } = config;
  refuseShared(config, 'restore');
  const manifest = readManifest(backup);
  refuseOtherObjects(config, manifest, backup);
  ensureFolder(dataFolder);
  const lock = ServerLock.take(dataFolder);
  try {
    clearEmptyFolder(dataFolder);
    const restoring = join(dataFolder, RESTORING);
    mkdirSync(restoring, { mode: 0o700 });
    try {
      await copyDatabase(backup, restoring, manifest);
      if (manifest.objects) await copyAllObjects(backup, restoring, manifest);
      restoreSecret(config, backup);
    } catch (error) {
      rmSync(restoring, { recursive: true });
      throw error;
    }
    if (manifest.objects) renameSync(join(restoring, FILES.objects), join(dataFolder, FILES.objects));
    renameSync(join(restoring, FILES.database), join(dataFolder, FILES.database));
    rmdirSync(restoring);
    syncToDisk(dataFolder);
  } finally {
    lock.release();
  }
  return manifest;
}

function refuseOtherObjects({ stores }: Config, { objects }: Manifest, backup: string): void {
  if ((stores.objects === 'files') === (objects !== undefined)) return;
  throw new BackupRefused(objects === undefined
    ? `The backup ${backup} has no objects: they lie in a bucket, which the configuration must name.`
    : `The backup ${backup} has its objects with it, and the configuration names a bucket.`);
}

/** Nothing in use is ever removed: only what a restore that was cut had put there. */
function clearEmptyFolder(folder: string): void {
  const names = readdirSync(folder).filter((name) => !OF_THE_LOCK.includes(name));
  const isCutRestore = names.includes(RESTORING) && !names.includes(FILES.database);
  const ours: readonly string[] = isCutRestore ? [RESTORING, FILES.objects, FILES.secret] : [];
  const other = names.find((name) => !ours.includes(name));
  if (other !== undefined) throw new BackupRefused(`The data folder ${folder} is not empty: ${other} is in it; restore into another one, or move it away.`);
  for (const name of [RESTORING, FILES.objects]) if (names.includes(name)) rmSync(join(folder, name), { recursive: true });
}

async function copyDatabase(backup: string, restoring: string, { databaseSha256 }: Manifest): Promise<void> {
  const [from, to] = [join(backup, FILES.database), join(restoring, FILES.database)];
  if (!existsSync(from)) throw new BackupRefused(`The backup ${backup} has no ${FILES.database}.`);
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  syncToDisk(to);
  if ((await sha256Of(to)) !== databaseSha256) throw new BackupRefused(`${from} is damaged: it is not what was backed up.`);
}

async function copyAllObjects(backup: string, restoring: string, { objects }: Manifest): Promise<void> {
  const [from, to] = [join(backup, FILES.objects), join(restoring, FILES.objects)];
  mkdirSync(to, { mode: 0o700 });
  const { damaged } = await copyObjects(from, to);
  if (damaged !== undefined) throw new BackupRefused(`${damaged} is damaged: it is not what was backed up.`);
  const { files, bytes } = await countObjects(to);
  if (files === objects?.files && bytes === objects.bytes) return;
  throw new BackupRefused(`The backup ${backup} is not whole: it has ${files} objects of ${bytes} bytes, and had ${objects?.files} of ${objects?.bytes}.`);
}

/** One that is there already may be the right one, given from elsewhere. */
function restoreSecret({ secretFile }: Config, backup: string): void {
  const from = join(backup, FILES.secret);
  if (!existsSync(from)) throw new BackupRefused(`The backup ${backup} has no ${FILES.secret}.`);
  const secret = readFileSync(from, 'utf8');
  if (!existsSync(secretFile)) {
    ensureFolder(dirname(secretFile));
    writePrivately(secretFile, secret);
  } else if (readFileSync(secretFile, 'utf8').trim() !== secret.trim()) {
    throw new BackupRefused(`${secretFile} holds another secret than the backup, and API keys would not be valid with it; move it away.`);
  }
}
