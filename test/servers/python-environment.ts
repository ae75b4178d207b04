import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FoundProgram } from './find-program.js';
import type { Program } from './programs.js';

/** In a virtual environment; only of Python. */
const INTERPRETER = 'bin/python3';

/**
 * A virtual environment with the packages of a file of requirements, kept where the tests' servers are. Other packages
 * are another environment.
 */
export function pythonEnvironment({ name, title }: Pick<Program, 'name' | 'title'>, requirements: string): Program {
  return {
    name,
    title,
    variables: [],
    commands: [],
    installs: [
      {
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
              '--no-input',
              '--disable-pip-version-check',
              '-r',
              requirements,
            ],
          },
        ],
        places: [INTERPRETER],
      },
    ],
  };
}

/** Asked by its own path, an interpreter finds the packages beside it. */
export function interpreterOf({ path }: FoundProgram): string {
  return join(dirname(path), INTERPRETER);
}
