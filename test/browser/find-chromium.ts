import { installDebianPackage } from '../servers/debian-package.js';
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
  return installDebianPackage('chromium');
}
