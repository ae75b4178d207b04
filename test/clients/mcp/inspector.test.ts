// Goal: other clients can read what our MCP server lists, and its tools can be called from a command line.
// Method: the official inspector in its strict mode, as a separate process, against a whole service in this process.
// Without the inspector on the machine it is skipped with a message.
import { expect } from 'chai';
import { McpHarness } from '../../fronts/mcp/mcp-harness.js';
import { orSkip } from '../foreign-clients.js';
import { MCP_TOOLS, type McpTool, runMcpTool } from './mcp-tools.js';

describe('the MCP server under the inspector', () => {
  let inspector: McpTool;
  let mcp: McpHarness;
  let key: string;
  before(async function () {
    ({ inspector } = await orSkip(this, () => MCP_TOOLS.find()));
    mcp = await McpHarness.open();
    key = await mcp.key();
  });
  after(() => mcp?.close());

  const inspect = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
    const { code, stdout, output } = await runMcpTool(inspector, [
      '--cli',
      '--server-url',
      mcp.url,
      '--transport',
      'http',
      '--header',
      `Authorization: Bearer ${key}`,
      ...args,
    ]);
    expect(code, output).to.equal(0);
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  it('lists tools with schemas that every client can read', async () => {
    expect((await inspect('--method', 'tools/list', '--strict'))['tools']).to.have.length(9);
  });

  it('calls a tool', async () => {
    const answer = await inspect('--method', 'tools/call', '--tool-name', 'get_credits');
    expect(answer['structuredContent']).to.include({ balance_credits: 1_000 });
  });
});
