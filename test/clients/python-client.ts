import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../servers/find-program.js';
import { installProgram } from '../servers/install-program.js';
import type { Program } from '../servers/programs.js';
import { ClientAbsent, type ForeignClient } from './foreign-client.js';
import { requireToolchain, runTool } from './run-tool.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'test/clients/python');
const REQUIREMENTS = join(SOURCES, 'requirements.txt');
/** In a virtual environment; only of Python. */
const INTERPRETER = 'bin/python3';

/**
 * An environment with the client's packages, kept where the tests' servers are; other packages are another environment.
 */
const ENVIRONMENT: Program = {
  name: 'python-client',
  title: 'the Python client',
  variables: [],
  commands: [],
  installs: [
    {
      tool: 'python3',
      needs: 'Python 3 with venv and pip',
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

export const PYTHON_CLIENT: ForeignClient = {
  language: 'Python',

  async install() {
    await requirePython();
    await installProgram(ENVIRONMENT);
  },

  async build() {
    await requirePython();
    const found = findProgram(ENVIRONMENT);
    if (!found)
      throw new ClientAbsent(
        'The packages of the Python client are not on this machine: run `npm run clients:install`.',
      );
    const interpreter = join(dirname(found.path), INTERPRETER);
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-python-client-'));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    try {
      cpSync(SOURCES, folder, { recursive: true });
      const protos = readdirSync(join(ROOT, 'proto/darkroom/v1')).map((name) => `darkroom/v1/${name}`);
      await runTool(
        interpreter,
        [
          '-m',
          'grpc_tools.protoc',
          '-I',
          join(ROOT, 'proto'),
          `--python_out=${folder}`,
          `--grpc_python_out=${folder}`,
          ...protos,
        ],
        { folder },
      );
    } catch (error) {
      remove();
      throw error;
    }
    return { command: interpreter, args: [join(folder, 'client.py')], remove };
  },
};

/** The oldest that the packages are for. */
function requirePython(): Promise<void> {
  return requireToolchain({ language: 'Python', command: 'python3', args: ['--version'], least: '3.10' });
}
