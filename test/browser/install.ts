/**
 * `npm run browser:install`: finds or installs the browser that pages are tested in, prints a line about it, and exits
 * with 1 if it is absent in CI. With `--brief` it prints nothing if the browser is there. CI installs the fastest one
 * even if there is another.
 */
import { parseArgs } from 'node:util';
import { isCi } from '../servers/server-absent.js';
import { CHROMIUM_VARIABLE, findChromium, installChromium, isPreferred } from './find-chromium.js';

const {
  values: { brief },
} = parseArgs({ options: { brief: { type: 'boolean', default: false } } });

const known = findChromium();
const isEnough = known !== null && (!isCi() || isPreferred(known));
const mayInstall = process.env['TEST_SERVERS_INSTALL'] !== 'never';
const fault = isEnough ? undefined : mayInstall ? installChromium() : 'TEST_SERVERS_INSTALL says never';
const found = findChromium();
if (found === null) {
  console.log(
    `Chromium: absent: ${fault ?? 'it was installed, and is not on the PATH'}. Install it, or name one in ${CHROMIUM_VARIABLE}; tests that need it are skipped.`,
  );
  if (isCi()) process.exitCode = 1;
} else if (!brief || found !== known) console.log(`Chromium: ${found}${found === known ? '' : ', installed now'}`);
