import { spawnSync } from 'node:child_process';
import { commandPath } from './find-program.js';

/** Installs packages of Debian. Returns the reason where that cannot be done. */
export function installDebianPackage(...names: readonly string[]): string | undefined {
  if (commandPath('apt-get') === null) return 'apt-get is not here';
  if (process.getuid?.() !== 0) return 'installing it takes root';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', ...names]]) {
    const { status, stderr } = spawnSync('apt-get', ['-q', ...args], { env, encoding: 'utf8' });
    if (status !== 0) return `apt-get ${args[0] ?? ''} failed: ${stderr.trim().split('\n').at(-1) ?? ''}`;
  }
  return undefined;
}
