import { chromium, type Browser } from 'playwright-core';
import { ServerAbsent } from '../servers/server-absent.js';
import { CHROMIUM_VARIABLE, findChromium } from './find-chromium.js';

const FLAGS = ['--no-sandbox', '--disable-quic', '--disable-background-networking'];
/** Pages come back as they were left, as they do for people. */
const UNWANTED_FLAGS = ['--disable-back-forward-cache'];

/** Throws `ServerAbsent` where there is no browser. */
export async function startChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new ServerAbsent(
      `Pages are not tried in a browser: install Chromium (npm run browser:install, as root on Debian), or name one in ${CHROMIUM_VARIABLE}.`,
    );
  return chromium.launch({ executablePath, args: FLAGS, ignoreDefaultArgs: UNWANTED_FLAGS });
}
