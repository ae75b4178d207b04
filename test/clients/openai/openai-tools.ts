import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { commandPath, findProgram } from '../../servers/find-program.js';
import { installProgram } from '../../servers/install-program.js';
import { nodePackages, packagesFolder } from '../../servers/npm-packages.js';
import type { Program } from '../../servers/programs.js';
import { interpreterOf, pythonEnvironment } from '../../servers/python-environment.js';
import { INTERPRETER } from '../../servers/python-install.js';
import { ClientAbsent, type ForeignClient, requirePython } from '../foreign-clients.js';

const SOURCES = fileURLToPath(new URL('../../../../test/clients/openai/', import.meta.url));

/** Several releases of each package. They run in the process of the tests, whatever Node release they ask for. */
const PROGRAM = nodePackages(
  { name: 'openai-clients', title: 'the OpenAI clients for Node' },
  join(SOURCES, 'packages'),
);

export const OPENAI_PACKAGES: Pick<ForeignClient, 'language' | 'install'> & {
  load<T>(name: string): Promise<T>;
  folder(name: string): Promise<string>;
} = {
  language: 'OpenAI npm',

  async install() {
    if (commandPath('npm') === null) throw new ClientAbsent('npm, which gets OpenAI clients, is not on this machine.');
    await installProgram(PROGRAM);
  },

  /** Loads one of the packages. Throws `ClientAbsent`, with a sentence, where they are not installed. */
  async load<T>(name: string) {
    const path = createRequire(join(installed(), 'index.js')).resolve(name);
    return (await import(pathToFileURL(path).href)) as T;
  },

  /** The folder of one of the packages. Throws like `load`. */
  async folder(name: string) {
    return join(installed(), 'node_modules', name);
  },
};

function installed(): string {
  const found = findProgram(PROGRAM);
  if (!found) throw new ClientAbsent('The OpenAI clients are not on this machine: run `npm run clients:install`.');
  return packagesFolder(found);
}

/** A virtual environment with one client in Python. */
export interface PythonClient extends Pick<ForeignClient, 'language' | 'install'> {
  /** The interpreter that finds the client. Throws `ClientAbsent`, with a sentence, where it is not installed. */
  interpreter(): Promise<string>;
}

function pythonClient(language: string, requirements: string): PythonClient {
  const environment = pythonEnvironment(
    { name: `python-${requirements}`, title: language },
    join(SOURCES, 'python', `${requirements}.txt`),
  );
  return {
    language,
    async install() {
      await requirePython();
      await installProgram(environment);
    },
    async interpreter() {
      await requirePython();
      const found = findProgram(environment);
      if (!found) throw new ClientAbsent(`${language} is not on this machine: run \`npm run clients:install\`.`);
      return interpreterOf(found);
    },
  };
}

export const OPENAI_1 = pythonClient('openai 1 for Python', 'openai-1');
export const OPENAI_NEWEST = pythonClient('openai 3 for Python', 'openai');
export const LITELLM = pythonClient('LiteLLM', 'litellm');

/** All that the suites of this folder need. */
export const OPENAI_CLIENTS = [OPENAI_PACKAGES, OPENAI_1, OPENAI_NEWEST, LITELLM];

const OPEN_WEBUI_PACKAGES = pythonEnvironment(
  { name: 'open-webui', title: 'Open WebUI' },
  join(SOURCES, 'python', 'open-webui.txt'),
);
export const OPEN_WEBUI_VERSION = '0.12.4';

/** Open WebUI with the packages that its images need; the others, torch among them, are left away. */
export const OPEN_WEBUI_PROGRAM: Program = {
  ...OPEN_WEBUI_PACKAGES,
  installs: OPEN_WEBUI_PACKAGES.installs.map((install) => ({
    ...install,
    version: `${OPEN_WEBUI_VERSION}-${install.version}`,
    commands: (folder) => [
      ...install.commands(folder),
      {
        program: join(folder, INTERPRETER),
        args: ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-input', `open-webui==${OPEN_WEBUI_VERSION}`],
      },
    ],
  })),
};

/** The programs in Python of these tests, by name. */
export function pythonSource(name: string): string {
  return join(SOURCES, 'python', name);
}
