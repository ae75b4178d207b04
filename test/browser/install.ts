/**
 * `npm run browser:install`: finds or installs the browser that pages are tested in, prints a line about it, and exits
 * with 1 if it is absent in CI. With `--brief` it prints nothing if the browser is there.
 */
import { parseArgs } from 'node:util';
import { isCi } from '../servers/server-absent.js';
import { CHROMIUM_VARIABLE, findChromium, installChromium } from './find-chromium.js';

const {
  values: { brief },
} = parseArgs({ options: { brief: { type: 'boolean', default: false } } });

const known = findChromium();
if (known !== null) {
  if (!brief) console.log(`Chromium: ${known}`);
} else {
  const fault = process.env['TEST_SERVERS_INSTALL'] === 'never' ? 'TEST_SERVERS_INSTALL says never' : installChromium();
  const installed = findChromium();
  if (installed === null) {
    console.log(
      `Chromium: absent: ${fault ?? 'it was installed, and is not on the PATH'}. Install it, or name one in ${CHROMIUM_VARIABLE}; tests that need it are skipped.`,
    );
    if (isCi()) process.exitCode = 1;
  } else console.log(`Chromium: ${installed}, installed now`);
}
