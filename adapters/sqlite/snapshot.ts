import { closeSync, fsyncSync, openSync } from 'node:fs';
import { createPrivately } from './data-folder.js';
import { openDatabase } from './driver.js';

/**
 * Writes the database in use at `path` into a new file, as of one moment, beside concurrent writers: one read
 * transaction, which blocks no writer. On the disk on return.
 */
export function snapshotDatabase(path: string, target: string): void {
  createPrivately(target);
  const database = openDatabase(path, { readOnly: true });
  try {
    database.prepare('VACUUM INTO ?').run(target);
  } finally {
    database.close();
  }
  const file = openSync(target, 'r');
  fsyncSync(file);
  closeSync(file);
}
