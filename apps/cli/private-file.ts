import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Failure } from './exit.js';

/** Writes a file whole or not at all, readable by its owner alone; another in its place is replaced. Throws one sentence. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    chmodSync(temporary, 0o600);
    renameSync(temporary, path);
  } catch {
    rmSync(temporary, { force: true });
    throw new Failure(`${path} cannot be written.`);
  }
}
