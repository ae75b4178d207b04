/**
 * `npm run release:check`, `npm run release:cut` and what they use: see docs/releasing.md.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../docs/pages.js';
import { collectInterfaces, writeBaseline } from './baseline.js';
import { checkRelease } from './check.js';
import { cutRelease } from './cut.js';
import { restDocument } from './interfaces.js';

const USAGE = `Usage: node dist/test/release/main.js COMMAND

  check [--into FOLDER] [--complete]  build everything that a release has into the folder (dist/release), install each
                                      part in an empty folder, make a first picture with it, and compare the public
                                      interfaces with those of the last release; --complete refuses to leave out what
                                      needs a tool that is absent
  cut VERSION                         make the working tree that of a version, to be committed
  record VERSION                      record the interfaces of this build as those of a version
  describe FOLDER                     write the OpenAPI document and the public interfaces into a folder`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    into: { type: 'string', default: join(ROOT, 'dist/release') },
    complete: { type: 'boolean', default: false },
  },
});
const [command = '', argument] = positionals;

const COMMANDS: Readonly<Record<string, () => void | Promise<void>>> = {
  check: () => checkRelease({ into: values.into, isComplete: values.complete }),
  cut: () => cutRelease(given('VERSION'), ROOT),
  record: () => writeBaseline(given('VERSION'), collectInterfaces()),
  describe: () => {
    const folder = given('FOLDER');
    writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(restDocument(), null, 2)}\n`);
    writeFileSync(join(folder, 'interfaces.json'), `${JSON.stringify(collectInterfaces())}\n`);
  },
};

function given(name: string): string {
  if (argument === undefined) throw new Error(`${command} needs ${name}.\n\n${USAGE}`);
  return argument;
}

const act = COMMANDS[command];
if (act === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else
  try {
    await act();
  } catch (error) {
    console.error(error instanceof Error ? `release: ${error.message}` : error);
    process.exitCode = 1;
  }
