import * as fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { StoreUnavailable } from '../../core/errors.js';
import type { SmallFiles } from './small-files.js';
import { SmallFilesThreads } from './small-files-threads.js';

/**
 * The few calls on the file system that the store makes, and the time it stamps on files; another set can stand in for
 * a failing disk. Without `small` all files are read and written through handles.
 */
export type Disk = FileCalls & { now(): number; readonly small?: SmallFiles | undefined };

type FileCalls = Pick<
  typeof fs,
  'open' | 'rename' | 'link' | 'unlink' | 'mkdir' | 'readdir' | 'stat' | 'access' | 'chmod'
>;

/** Its threads belong to the process, as those of Node do. */
export const REAL_DISK: Disk = { ...fs, now: () => Date.now(), small: new SmallFilesThreads() };

const PRIVATE_FOLDER = 0o700;
/** The permission bits of the group and of others. */
const OTHERS_RIGHTS = 0o077;

/** Whether the file system answered with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Does something on the disk; a full, broken or missing one becomes `StoreUnavailable`. */
export async function onDisk<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new StoreUnavailable(`The object folder cannot be used right now (${code}).`, error);
  }
}

/** The same, with `missing` for a file that does not exist. */
export async function onDiskOr<T, M>(missing: M, act: () => Promise<T>): Promise<T | M> {
  return onDisk(async () => {
    try {
      return await act();
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return missing;
      throw error;
    }
  });
}

/** Refuses a folder that this user may not use, and says so; one that does not exist yet passes. */
export async function checkRights(disk: Disk, folder: string): Promise<void> {
  for (const [mode, verb] of [
    [fs.constants.R_OK | fs.constants.X_OK, 'read'],
    [fs.constants.W_OK, 'written'],
  ] as const) {
    await disk.access(folder, mode).catch((error: unknown) => {
      const code = ['EACCES', 'EPERM', 'EROFS'].find((known) => hasCode(error, known));
      if (code !== undefined) throw new StoreUnavailable(`${folder} cannot be ${verb} by this user (${code}).`, error);
    });
  }
}

/**
 * Creates a folder that only this user may use, whatever the umask; an existing one that is open to others is closed to
 * them, if it belongs to this user.
 */
export async function makePrivateFolder(disk: Disk, path: string): Promise<void> {
  await disk.mkdir(path, { recursive: true, mode: PRIVATE_FOLDER });
  if (((await disk.stat(path)).mode & OTHERS_RIGHTS) === 0) return;
  await disk.chmod(path, PRIVATE_FOLDER).catch((error: unknown) => {
    // A volume may belong to another user, who gives this user's group access; its owner then decides who may read it.
    if (!hasCode(error, 'EPERM')) throw error;
  });
}

/** Writes the whole chunk: one call may write only a part of it. */
export async function writeFully(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength;) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.byteLength - at);
    if (bytesWritten === 0) throw new StoreUnavailable('The object folder has no space left.');
    at += bytesWritten;
  }
}

/** Makes the names in a directory durable. */
export async function syncDirectory(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
