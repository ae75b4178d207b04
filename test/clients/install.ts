/**
 * `npm run clients:install`: gets what the clients in other languages are built with, and the MCP tools, and prints a
 * line about each. It ends with 1 in CI when a toolchain is there and its packages could not be installed; an absent
 * toolchain is not an error.
 */
import { isCi } from '../servers/server-absent.js';
import { ClientAbsent, CLIENTS } from './foreign-clients.js';
import { MCP_TOOLS, PYTHON_MCP } from './mcp/mcp-tools.js';
import { PYTHON_LIBRARY } from './python-library.js';
import { OPENAI_CLIENTS } from './openai/openai-tools.js';
import { C2PA_SIGNER } from './signer/c2pa-signer.js';

for (const client of process.env['TEST_SERVERS_INSTALL'] === 'never'
  ? []
  : [...CLIENTS, MCP_TOOLS, PYTHON_MCP, PYTHON_LIBRARY, C2PA_SIGNER, ...OPENAI_CLIENTS]) {
  try {
    await client.install();
    console.log(`${client.language} client: its packages are there`);
  } catch (error) {
    console.log(`${client.language} client: ${(error as Error).message} Its tests are skipped.`);
    if (!(error instanceof ClientAbsent) && isCi()) process.exitCode = 1;
  }
}
