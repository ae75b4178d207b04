import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { DataFolderRefused } from './data-folder-refused.js';

/** Creates the folder, readable by this user alone, unless it is there. */
export function ensureFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new DataFolderRefused(`The data folder ${folder} cannot be created; it must be a folder this user may write.`, error);
  }
}

/**
 * Creates an empty file, readable by this user alone, unless it is there. A file that is there is not opened: closing it
 * again would drop the locks that another connection of this process holds on it.
 */
export function createPrivately(path: string): void {
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // Another process was faster, which is as good.
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw new DataFolderRefused(`${path} cannot be created; its folder must be one this user may write.`, error);
  }
}
