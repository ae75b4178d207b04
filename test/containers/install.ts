/**
 * `npm run containers:install`: installs a container engine and makes the base images of deploy/, prints a line about
 * each, and exits with 1 if one is absent in CI on a
 * Debian where it can be installed. With `--brief` it prints nothing if both are there, and with `--node-only` it makes
 * only the image's base, except in the full run.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { commandPath } from '../servers/find-program.js';
import { isCi } from '../servers/server-absent.js';
import { makeBaseImages, neededTars } from './base-images.js';
import { findEngineTools, installEngineTools } from './engine-tools.js';

const {
  values: { brief, 'node-only': nodeOnly },
} = parseArgs({
  options: { 'brief': { type: 'boolean', default: false }, 'node-only': { type: 'boolean', default: false } },
});

// Elsewhere it is installed by hand, or tests go without it.
const isExpected = process.platform === 'linux' && process.getuid?.() === 0 && commandPath('apt-get') !== null;
const mayInstall = process.env['TEST_SERVERS_INSTALL'] !== 'never';
const fault = mayInstall ? installEngineTools() : undefined;
const tools = findEngineTools();
if (typeof tools === 'string') absent('Engine', fault ?? tools);
else {
  if (!brief) console.log(`Engine: ${tools.daemon}`);
  const tars = neededTars({ nodeOnly });
  if (tars.every((tar) => existsSync(tar))) {
    if (!brief) console.log(`Base images: ${tars.join(' and ')}`);
  } else if (!mayInstall) absent('Base images', 'TEST_SERVERS_INSTALL says never');
  else {
    console.log('Base images: making them, once on this machine; that takes some minutes');
    const reason = await makeBaseImages(tools, tars);
    if (reason === undefined) console.log(`Base images: ${tars.join(' and ')}, made now`);
    else absent('Base images', reason);
  }
}

function absent(what: string, reason: string): void {
  console.log(`${what}: absent: ${reason.replace(/\.$/, '')}; tests that need it are skipped.`);
  if (isCi() && isExpected) process.exitCode = 1;
}
