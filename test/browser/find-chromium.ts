import { basename } from 'node:path';
import { installDebianPackage } from '../servers/debian-package.js';
import { commandPath } from '../servers/find-program.js';

/** Chromium without windows of its own: the tests take a third of the time in it. */
const HEADLESS_SHELL = 'chromium-headless-shell';
/** Names that a program of Chromium, or one that is like it, has on the PATH. */
const COMMANDS = [HEADLESS_SHELL, 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
/** A program that is somewhere else. */
export const CHROMIUM_VARIABLE = 'TEST_CHROMIUM';

export function findChromium(environment: NodeJS.ProcessEnv = process.env): string | null {
  const { [CHROMIUM_VARIABLE]: configured } = environment;
  if (configured) return configured;
  return COMMANDS.map((command) => commandPath(command, environment)).find((path) => path !== null) ?? null;
}

/** Whether a browser is the one to install where there is a choice, or was named. */
export function isPreferred(path: string | null, { [CHROMIUM_VARIABLE]: configured }: NodeJS.ProcessEnv = process.env) {
  return path !== null && (path === configured || basename(path) === HEADLESS_SHELL);
}

/** Installs Debian's package. Returns the reason where that cannot be done. */
export function installChromium(): string | undefined {
  return installDebianPackage(HEADLESS_SHELL);
}
