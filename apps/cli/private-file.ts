import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Failure } from './exit.js';

/**
 * Writes a file whole or not at all, readable by its owner alone; another in its place is replaced. `folder` is where a
 * relative path begins. Throws one sentence.
 */
export function writePrivateFile(path: string, folder: string, text: string): void {
  const file = resolve(folder, path);
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    chmodSync(temporary, 0o600);
    renameSync(temporary, file);
  } catch {
    rmSync(temporary, { force: true });
    throw new Failure(`${path} cannot be written.`);
  }
}
