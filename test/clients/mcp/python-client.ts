import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../servers/find-program.js';
import { installProgram } from '../../servers/install-program.js';
import type { Program } from '../../servers/programs.js';
import { ClientAbsent, type ForeignClient } from '../foreign-client.js';
import { requireToolchain } from '../run-tool.js';
import type { McpTool } from './mcp-tools.js';

const SOURCES = fileURLToPath(new URL('../../../../test/clients/mcp/python/', import.meta.url));
const REQUIREMENTS = join(SOURCES, 'requirements.txt');
const INTERPRETER = 'bin/python3';

const ENVIRONMENT: Program = {
  name: 'python-mcp',
  title: 'the Python client of the MCP server',
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

/** The official client in Python, and a program that uses it. */
export const PYTHON_MCP: Pick<ForeignClient, 'language' | 'install'> & { find(): Promise<McpTool> } = {
  language: 'Python MCP',

  async install() {
    await requirePython();
    await installProgram(ENVIRONMENT);
  },

  /** Throws `ClientAbsent`, with a sentence, where it is not installed. */
  async find() {
    await requirePython();
    const found = findProgram(ENVIRONMENT);
    if (!found)
      throw new ClientAbsent(
        'The Python client of the MCP server is not on this machine: run `npm run clients:install`.',
      );
    return { command: join(dirname(found.path), INTERPRETER), args: [join(SOURCES, 'client.py')] };
  },
};

function requirePython(): Promise<void> {
  return requireToolchain({ language: 'Python', command: 'python3', args: ['--version'], least: '3.10' });
}
