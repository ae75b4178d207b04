import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../servers/find-program.js';
import { installProgram } from '../servers/install-program.js';
import { interpreterOf, pythonEnvironment } from '../servers/python-environment.js';
import { ClientAbsent, type ForeignClient } from './foreign-client.js';
import { requirePython, runTool } from './run-tool.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = join(ROOT, 'test/clients/python');

const ENVIRONMENT = pythonEnvironment(
  { name: 'python-client', title: 'the Python client' },
  join(SOURCES, 'requirements.txt'),
);

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
    const interpreter = interpreterOf(found);
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
