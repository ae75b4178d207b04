import { accessSync, chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../core/log.js';

/** Thrown when a data folder cannot be opened; the message is one sentence fit for the operator. */
export class DataFolderRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DataFolderRefused';
  }
}

/** The same for one that only wants to be made, or brought up to date. */
export class DataFolderUnmade extends DataFolderRefused {}

/** The codes of the file system that an operator fixes by changing permissions. */
const RIGHTS = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * The folder in which a backup is assembled before it is moved into place; a folder that has it and no database was left by a restore
 * that was cut.
 */
export const RESTORING = 'restoring';

/** The permission bits of the group and of others. */
const OTHERS_RIGHTS = 0o077;
/** The files in the folder apart from the objects, whose store closes its own folders. */
const PRIVATE_FILES = ['darkroom.db', 'darkroom.db-wal', 'darkroom.db-shm', 'secret'];

/**
 * Closes an existing folder and its files to other users. Returns the paths that were open before, and those that stay
 * open because they belong to another user, as on a volume that is assigned to this user's group.
 */
export function closeToOthers(folder: string): {
  readonly closed: readonly string[];
  readonly open: readonly string[];
} {
  const closed: string[] = [];
  const open: string[] = [];
  for (const path of [folder, ...PRIVATE_FILES.map((name) => join(folder, name))]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & OTHERS_RIGHTS) === 0) continue;
    try {
      // Only what this user's own rights are stays.
      chmodSync(path, mode & 0o700);
      closed.push(path);
    } catch {
      open.push(path);
    }
  }
  return { closed, open };
}

/**
 * Closes an existing folder to other users, and logs which paths were open. Volumes that belong to another user stay as
 * open as that user made them.
 */
export function closeDataFolder(folder: string, log: Log): void {
  const { closed, open } = closeToOthers(folder);
  if (closed.length > 0) log.warn('data folder closed to other users', { paths: closed });
  if (open.length > 0) log.warn('data folder open to other users', { paths: open });
}

/** Creates the folder, readable by this user alone, unless it exists. */
export function ensureFolder(folder: string): void {
  try {
    makeLevels(folder);
  } catch (error) {
    const code = codeOf(error);
    if (RIGHTS.has(code))
      throw new DataFolderRefused(`The data folder ${folder} cannot be created by this user (${code}).`, error);
    throw new DataFolderRefused(
      `The data folder ${folder} cannot be created; it must be a folder this user may write.`,
      error,
    );
  }
}

/** `recursive` of Node does not end below /proc, where a folder cannot be made although its parent exists. */
function makeLevels(folder: string): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (!existsSync(parent)) makeLevels(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * Refuses a folder, or a database file in it, that this user may not read or write: of those SQLite would only say that
 * it cannot open them, as it does of broken ones.
 */
export function checkRights(folder: string, { readOnly }: { readonly readOnly: boolean }): void {
  checkPath(folder, constants.X_OK, readOnly);
  for (const name of [
    'darkroom.db',
    'darkroom.db-wal',
    'darkroom.db-shm',
    'server.lock',
    'server.pid',
    'server.boot',
  ]) {
    const path = join(folder, name);
    if (existsSync(path)) checkPath(path, 0, readOnly);
  }
}

function checkPath(path: string, more: number, readOnly: boolean): void {
  const check = (mode: number, verb: string) => {
    try {
      accessSync(path, mode);
    } catch (error) {
      throw new DataFolderRefused(`${path} cannot be ${verb} by this user (${codeOf(error)}).`, error);
    }
  };
  check(constants.R_OK | more, 'read');
  if (!readOnly) check(constants.W_OK, 'written');
}

/**
 * Creates an empty file, readable by this user alone, unless it exists. An existing file is not opened: closing it
 * again would drop the locks that another connection of this process holds on it.
 */
export function createPrivately(path: string): void {
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // Another process was faster, which is as good.
    if (codeOf(error) === 'EEXIST') return;
    throw new DataFolderRefused(
      `${path} cannot be created (${codeOf(error)}); its folder must be one this user may write.`,
      error,
    );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
