import { spawnSync } from 'node:child_process';
import { chromium, type Browser } from 'playwright-core';
import { commandPath } from '../servers/find-program.js';
import { ServerAbsent } from '../servers/server-absent.js';

/** Names that a program of Chromium, or one that is like it, has on the PATH. */
const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
/** A program that is somewhere else. */
export const CHROMIUM_VARIABLE = 'TEST_CHROMIUM';

const FLAGS = ['--no-sandbox', '--disable-quic', '--disable-background-networking'];
/** Pages come back as they were left, as they do for people. */
const UNWANTED_FLAGS = ['--disable-back-forward-cache'];

export function findChromium(environment: NodeJS.ProcessEnv = process.env): string | null {
  const { [CHROMIUM_VARIABLE]: configured } = environment;
  if (configured) return configured;
  return COMMANDS.map((command) => commandPath(command, environment)).find((path) => path !== null) ?? null;
}

/** Throws `ServerAbsent` where there is no browser. */
export async function startChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new ServerAbsent(
      `Pages are not tried in a browser: install Chromium (npm run browser:install, as root on Debian), or name one in ${CHROMIUM_VARIABLE}.`,
    );
  return chromium.launch({ executablePath, args: FLAGS, ignoreDefaultArgs: UNWANTED_FLAGS });
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
