import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../servers/find-program.js';
import { installProgram } from '../../servers/install-program.js';
import { interpreterOf, pythonEnvironment } from '../../servers/python-environment.js';
import { ClientAbsent, type ForeignClient } from '../foreign-client.js';
import { requirePython } from '../run-tool.js';
import type { McpTool } from './mcp-tools.js';

const SOURCES = fileURLToPath(new URL('../../../../test/clients/mcp/python/', import.meta.url));

const ENVIRONMENT = pythonEnvironment(
  { name: 'python-mcp', title: 'the Python client of the MCP server' },
  join(SOURCES, 'requirements.txt'),
);

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
    return { command: interpreterOf(found), args: [join(SOURCES, 'client.py')] };
  },
};
