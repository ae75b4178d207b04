import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.js';
import {
  backedUpStores,
  type BackedUpStores,
  BackupRefused,
  FILES,
  type Manifest,
  newManifest,
  syncToDisk,
  writePrivately,
} from './manifest.js';

/**
 * Copies a data folder in use: the database as of one moment, every object that it knows then, and the secret. It is
 * written under another name beside `target` and renamed at the end, so that an interrupted backup does not count as
 * one; the next backup removes its remains. Throws `BackupRefused`.
 */
export async function makeBackup(config: Config, target: string, createdAt: string): Promise<Manifest> {
  const { dataFolder } = config;
  const stores = backedUpStores(config, 'back up');
  const database = join(dataFolder, stores.database.file);
  if (!existsSync(database))
    throw new BackupRefused(`There is no Darkroom data in ${dataFolder}; name the right data_folder.`);
  if (existsSync(target)) throw new BackupRefused(`${target} already exists; name a folder that does not exist.`);
  if (!existsSync(dirname(target))) throw new BackupRefused(`There is no folder ${dirname(target)}.`);
  const secret = readSecret(config);
  const partial = `${target}.partial`;
  removeCut(partial, stores);
  makeFolder(partial);
  const objects = stores.objects && {
    ...stores.objects,
    from: join(dataFolder, stores.objects.folder),
    to: join(partial, stores.objects.folder),
  };
  if (objects) {
    mkdirSync(objects.to, { mode: 0o700 });
    await objects.link(objects.from, objects.to);
  }
  await stores.database.snapshot(dataFolder, join(partial, stores.database.file));
  // Objects delivered since the first time may be in the database; objects removed since then was past its retention.
  if (objects) await objects.link(objects.from, objects.to);
  writePrivately(join(partial, FILES.secret), secret);
  const manifest = await newManifest(
    join(partial, stores.database.file),
    createdAt,
    objects && (await objects.count(objects.to)),
  );
  writePrivately(join(partial, FILES.manifest), `${JSON.stringify(manifest, null, 2)}\n`);
  syncToDisk(partial);
  renameSync(partial, target);
  syncToDisk(dirname(target));
  return manifest;
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new BackupRefused(`${dirname(folder)} cannot be written by this user (${code}).`, error);
  }
}

/** Before anything is copied: without it no API key of a backup is valid. */
function readSecret({ secretFile }: Config): string {
  try {
    return readFileSync(secretFile, 'utf8');
  } catch (error) {
    throw new BackupRefused(
      `The secret ${secretFile} cannot be read, and no API key would be valid without it.`,
      error,
    );
  }
}

/** Removes the remains of an interrupted backup. A folder that contains anything else is left alone. */
function removeCut(partial: string, { database, objects }: BackedUpStores): void {
  const names = [...Object.values(FILES), database.file, ...(objects ? [objects.folder] : [])];
  const ours: readonly string[] = names.flatMap((name) => [name, `${name}-journal`, `${name}-wal`, `${name}-shm`]);
  if (!existsSync(partial)) return;
  const other = statSync(partial).isDirectory() ? readdirSync(partial).find((name) => !ours.includes(name)) : '';
  if (other !== undefined)
    throw new BackupRefused(
      `${partial} already exists, and is not the remains of an interrupted backup; move it away.`,
    );
  rmSync(partial, { recursive: true });
}
