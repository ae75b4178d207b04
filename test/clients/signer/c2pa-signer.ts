import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandPath, findProgram } from '../../servers/find-program.js';
import { installProgram } from '../../servers/install-program.js';
import { packagesCheck } from '../../servers/npm-install.js';
import type { Program } from '../../servers/programs.js';
import { ClientAbsent, type ForeignClient } from '../foreign-clients.js';

const SOURCES = fileURLToPath(new URL('../../../../docs/examples/c2pa-signer/', import.meta.url));
const FILES = ['package.json', 'package-lock.json', 'c2pa-signer.mjs'].map((name) => join(SOURCES, name));
/** A program that loads the module with its binary, so that an unusable install counts as absent. */
const CHECK = 'check.mjs';
const CHECK_TEXT = "#!/usr/bin/env node\nimport './c2pa-signer.mjs';\n";

/** The example module with its packages. Their binary is in the package; their scripts would fetch another one. */
const MODULE: Program = {
  name: 'c2pa-signer',
  title: 'the C2PA signer',
  variables: [],
  commands: [],
  installs: [
    {
      tool: 'npm',
      needs: 'npm',
      version: createHash('sha256')
        .update(FILES.map((file) => readFileSync(file, 'utf8')).join())
        .digest('hex')
        .slice(0, 12),
      commands: (folder) => [
        { program: 'cp', args: [...FILES, folder] },
        { program: 'npm', args: ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--loglevel=error'] },
        packagesCheck(folder),
        {
          program: process.execPath,
          args: [
            '-e',
            'fs.writeFileSync(process.argv[1], process.argv[2], { mode: 0o755 })',
            join(folder, CHECK),
            CHECK_TEXT,
          ],
        },
      ],
      places: [CHECK],
    },
  ],
};

/** The module of `docs/examples/c2pa-signer`, installed. */
export const C2PA_SIGNER: Pick<ForeignClient, 'language' | 'install'> & { find(): string } = {
  language: 'C2PA',

  async install() {
    requireLinux();
    if (commandPath('npm') === null) throw new ClientAbsent('npm, which gets the C2PA signer, is not on this machine.');
    await installProgram(MODULE);
  },

  /** The folder of the module. Throws `ClientAbsent`, with a sentence, where it is not installed. */
  find() {
    requireLinux();
    const found = findProgram(MODULE);
    if (!found) throw new ClientAbsent('The C2PA signer is not on this machine: run `npm run clients:install`.');
    return dirname(found.path);
  },
};

/** The package has its binary for this platform alone. */
function requireLinux(): void {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new ClientAbsent('The C2PA signer is tested on Linux on x64 only.');
}
