import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../servers/find-program.js';
import { installProgram } from '../servers/install-program.js';
import { interpreterOf, pythonEnvironment } from '../servers/python-environment.js';
import { ClientAbsent, type ForeignClient, requirePython, runTool } from './foreign-clients.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const SOURCES = join(ROOT, 'clients/python');

const ENVIRONMENT = pythonEnvironment(
  { name: 'python-library', title: 'the client library for Python' },
  join(SOURCES, 'requirements.txt'),
);

/** The interpreter that generates and packs the library. Installs its packages where they are absent. */
export async function libraryInterpreter(): Promise<string> {
  await requirePython();
  return interpreterOf(findProgram(ENVIRONMENT) ?? (await installProgram(ENVIRONMENT)));
}

/** The client library for Python, installed from its wheel. */
export interface InstalledLibrary {
  readonly interpreter: string;
  /** The folder in which it is installed, for PYTHONPATH. */
  readonly folder: string;
  remove(): void;
}

export const PYTHON_LIBRARY: Pick<ForeignClient, 'language' | 'install'> & { build(): Promise<InstalledLibrary> } = {
  language: 'Python library',

  async install() {
    await requirePython();
    await installProgram(ENVIRONMENT);
  },

  /** Packs and installs it without a network. Throws `ClientAbsent` without the packages that this needs. */
  async build() {
    await requirePython();
    const found = findProgram(ENVIRONMENT);
    if (!found)
      throw new ClientAbsent(
        'The packages of the client library for Python are not on this machine: run `npm run clients:install`.',
      );
    if (!existsSync(join(ROOT, 'dist/clients/schemas.json')))
      throw new ClientAbsent('The client libraries are not built: run `npm run build`.');
    const interpreter = interpreterOf(found);
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-python-library-'));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    try {
      await runTool(interpreter, [join(SOURCES, 'pack.py'), folder], { folder });
      const wheel = readdirSync(folder).find((name) => name.endsWith('.whl')) ?? '';
      const pip = ['-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps', '--target', folder];
      await runTool(interpreter, [...pip, join(folder, wheel)], { folder });
    } catch (error) {
      remove();
      throw error;
    }
    return { interpreter, folder, remove };
  },
};
