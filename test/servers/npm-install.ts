import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command, Install } from './program-install.js';

const PACKAGES_CHECK = fileURLToPath(new URL('../../../deploy/check-packages.mjs', import.meta.url));

/** The command after `npm ci` in a folder: npm may exit without an error after a network failure. */
export function packagesCheck(folder: string, ...options: readonly string[]): Command {
  return { program: process.execPath, args: [PACKAGES_CHECK, ...options, folder] };
}

/**
 * Installs the packages of the lock file in `sources`, without running their scripts and without checking their required Node
 * version. `then`: commands that follow the installation.
 */
export function npmInstall(
  sources: string,
  place: string,
  then: (folder: string) => readonly Command[] = () => [],
): Install {
  const files = ['package.json', 'package-lock.json'].map((file) => join(sources, file));
  const lock = readFileSync(join(sources, 'package-lock.json'));
  const options = ['--engine-strict=false', '--ignore-scripts', '--no-audit', '--loglevel=error'];
  return {
    tool: 'npm',
    needs: 'npm',
    version: createHash('sha256').update(lock).digest('hex').slice(0, 12),
    commands: (folder) => [
      { program: 'cp', args: [...files, folder] },
      { program: 'npm', args: ['ci', '--prefix', folder, ...options] },
      packagesCheck(folder),
      ...then(folder),
    ],
    places: [place],
  };
}
