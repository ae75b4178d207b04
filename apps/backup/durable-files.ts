import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

/** Creates a file, readable by its owner only, and on the disk on return. */
export function writePrivately(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Puts a file that was written, or the names in a folder, on the disk. */
export function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
