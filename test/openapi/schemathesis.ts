import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FoundProgram } from '../servers/find-program.js';
import type { Program } from '../servers/programs.js';

const FOLDER = fileURLToPath(new URL('../../../test/openapi/', import.meta.url));
const REQUIREMENTS = join(FOLDER, 'requirements.txt');
/** In a virtual environment; only of Python. */
const INTERPRETER = 'bin/python3';

/** What the tool is told beyond the document, with the reasons. */
export const SCHEMATHESIS_CONFIG = join(FOLDER, 'schemathesis.toml');

/** In a virtual environment that is kept where the tests' servers are; other packages are another environment. */
export const SCHEMATHESIS: Program = {
  name: 'schemathesis',
  title: 'schemathesis',
  variables: [],
  commands: [],
  installs: [
    {
      tool: 'python3',
      needs: 'Python 3.10 or newer with venv and pip',
      version: createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12),
      commands: (folder) => [
        { program: 'python3', args: ['-m', 'venv', folder] },
        {
          program: join(folder, INTERPRETER),
          args: [
            '-m',
            'pip',
            'install',
            '--quiet',
            '--only-binary=:all:',
            '--no-input',
            '--disable-pip-version-check',
            '-r',
            REQUIREMENTS,
          ],
        },
      ],
      places: [INTERPRETER],
    },
  ],
};

/** Asked by its own path, an interpreter finds the packages beside it. */
export function interpreterOf({ path }: FoundProgram): string {
  return join(dirname(path), INTERPRETER);
}
