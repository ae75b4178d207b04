/**
 * `npm run containers:install`: installs a container engine and makes the base images of deploy/, prints a line about
 * each, and exits with 1 if one is absent in CI. With `--brief` it prints nothing if both are there.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isCi } from '../servers/server-absent.js';
import { baseImagesTar, makeBaseImages } from './base-images.js';
import { findEngineTools, installEngineTools } from './engine-tools.js';

const {
  values: { brief },
} = parseArgs({ options: { brief: { type: 'boolean', default: false } } });

const mayInstall = process.env['TEST_SERVERS_INSTALL'] !== 'never';
const fault = mayInstall ? installEngineTools() : undefined;
const tools = findEngineTools();
if (typeof tools === 'string') absent('Engine', fault ?? tools);
else {
  if (!brief) console.log(`Engine: ${tools.daemon}`);
  const tar = baseImagesTar();
  if (existsSync(tar)) {
    if (!brief) console.log(`Base images: ${tar}`);
  } else if (!mayInstall) absent('Base images', 'TEST_SERVERS_INSTALL says never');
  else {
    console.log('Base images: making them, once on this machine; that takes some minutes');
    const reason = await makeBaseImages(tools);
    if (reason === undefined) console.log(`Base images: ${tar}, made now`);
    else absent('Base images', reason);
  }
}

function absent(what: string, reason: string): void {
  console.log(`${what}: absent: ${reason.replace(/\.$/, '')}; tests that need it are skipped.`);
  if (isCi()) process.exitCode = 1;
}
