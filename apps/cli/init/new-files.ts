import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Failure, usageFailure } from '../exit.js';

/** Throws one sentence where a file of these names is in the folder already. */
export function refuseTaken(folder: string, paths: Iterable<string>): void {
  const taken = [...paths].filter((path) => existsSync(resolve(folder, path)));
  if (taken.length === 0) return;
  const are = taken.length === 1 ? 'is' : 'are';
  throw usageFailure(`${taken.join(' and ')} ${are} in this folder already, and nothing is overwritten.`);
}

/**
 * Writes all of them, by their paths from the folder, and keeps them if `check` does not throw; else none is left. Never
 * replaces a file. Throws one sentence.
 */
export async function writeNewFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
  check: () => Promise<void>,
): Promise<void> {
  refuseTaken(folder, files.keys());
  const written: string[] = [];
  try {
    for (const [path, text] of files) {
      write(resolve(folder, path), path, text);
      written.push(path);
    }
    await check();
  } catch (error) {
    for (const path of written) rmSync(resolve(folder, path), { force: true });
    throw error;
  }
}

function write(file: string, name: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new Failure(`${name} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
}
