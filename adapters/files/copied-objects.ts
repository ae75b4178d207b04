import { createHash } from 'node:crypto';
import { constants, copyFile, link, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectCount } from '../driver-backup.js';
import { hasCode, REAL_DISK, syncDirectory, writeFully } from './disk.js';
import { StoredObject } from './stored-object.js';

/** Where a hard link cannot be made, bytes can be copied. */
const NO_LINKS = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/**
 * Links every object of a folder in use into another one, unless it is there already. Files never change once they have
 * their name, so a hard link is as good as a copy, and takes no space; on another file system they are copied. Objects
 * removed meanwhile are left out. A repeat adds new ones.
 */
export async function linkObjects(folder: string, target: string): Promise<void> {
  for await (const { shard, name } of objectsIn(folder)) {
    const to = join(target, 'objects', shard);
    await mkdir(to, { recursive: true, mode: 0o700 });
    await linkOrCopy(join(folder, 'objects', shard, name), join(to, name));
  }
  await syncFolders(target);
}

export async function countObjects(folder: string): Promise<ObjectCount> {
  let [files, bytes] = [0, 0];
  for await (const { shard, name } of objectsIn(folder)) {
    files += 1;
    bytes += (await stat(join(folder, 'objects', shard, name))).size;
  }
  return { files, bytes };
}

/**
 * Copies every object into a new folder, and compares each with its own digest. Answers the path of the first that is
 * damaged.
 */
export async function copyObjects(folder: string, target: string): Promise<{ readonly damaged?: string }> {
  for await (const { shard, name } of objectsIn(folder)) {
    const from = join(folder, 'objects', shard, name);
    await mkdir(join(target, 'objects', shard), { recursive: true, mode: 0o700 });
    if (!(await copyWhole(from, join(target, 'objects', shard, name)))) return { damaged: from };
  }
  await mkdir(join(target, 'objects'), { recursive: true, mode: 0o700 });
  await mkdir(join(target, 'incoming'), { recursive: true, mode: 0o700 });
  await syncFolders(target);
  return {};
}

async function* objectsIn(folder: string): AsyncGenerator<{ readonly shard: string; readonly name: string }> {
  const root = join(folder, 'objects');
  for (const shard of await namesIn(root)) {
    for (const name of await namesIn(join(root, shard))) yield { shard, name };
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  const known = (error: unknown) => {
    if (!hasCode(error, 'EEXIST') && !hasCode(error, 'ENOENT')) throw error;
  };
  try {
    await link(from, to);
  } catch (error) {
    if (!NO_LINKS.some((code) => hasCode(error, code))) return known(error);
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE).then(() => synced(to), known);
  }
}

async function copyWhole(from: string, to: string): Promise<boolean> {
  const object = await StoredObject.of(await open(from, 'r')).catch(() => undefined);
  if (object === undefined) return false;
  const handle = await open(to, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    for await (const chunk of object.bytes()) {
      hash.update(chunk);
      await writeFully(handle, chunk);
    }
    await writeFully(handle, Buffer.from(object.etag, 'hex'));
    await handle.sync();
    return hash.digest('hex') === object.etag;
  } finally {
    await handle.close();
  }
}

async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolders(target: string): Promise<void> {
  const root = join(target, 'objects');
  for (const shard of await namesIn(root)) await syncDirectory(REAL_DISK, join(root, shard));
  for (const folder of [root, target])
    await syncDirectory(REAL_DISK, folder).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
}
