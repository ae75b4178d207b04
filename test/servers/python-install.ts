import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Install } from './program-install.js';

/** The interpreter's path in a virtual environment. */
export const INTERPRETER = 'bin/python3';

/** A virtual environment with the packages of a file of requirements. Other packages are another environment. */
export function pythonInstall(requirements: string): Install {
  return {
    tool: 'python3',
    needs: 'Python 3.10 or newer with venv and pip',
    version: createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12),
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
          // Each module is compiled when it is first imported; most of them never are.
          '--no-compile',
          '--no-input',
          '--disable-pip-version-check',
          '-r',
          requirements,
        ],
      },
    ],
    places: [INTERPRETER],
  };
}
