import { spawnSync } from 'node:child_process';
import { commandPath } from '../servers/find-program.js';

/** Names that a program of Chromium, or one that is like it, has on the PATH. */
const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
/** A program that is somewhere else. */
export const CHROMIUM_VARIABLE = 'TEST_CHROMIUM';

export function findChromium(environment: NodeJS.ProcessEnv = process.env): string | null {
  const { [CHROMIUM_VARIABLE]: configured } = environment;
  if (configured) return configured;
  return COMMANDS.map((command) => commandPath(command, environment)).find((path) => path !== null) ?? null;
}

/** Installs Debian's package. Answers why not, where it cannot be done. */
export function installChromium(): string | undefined {
  if (commandPath('apt-get') === null) return 'apt-get is not here';
  if (process.getuid?.() !== 0) return 'installing it takes root';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', 'chromium']]) {
    const { status, stderr } = spawnSync('apt-get', ['-q', ...args], { env, encoding: 'utf8' });
    if (status !== 0) return `apt-get ${args[0] ?? ''} failed: ${stderr.trim().split('\n').at(-1) ?? ''}`;
  }
  return undefined;
}
