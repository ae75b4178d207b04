// Goal: the official MCP conformance suite has no objection to how messages are served, in both revisions.
// Method: its scored scenarios run as a separate process against the tools, prompts and resources that they name,
// behind the checks of our own MCP server. Without the suite on the machine they are skipped with a message.
import { expect } from 'chai';
import { orSkip } from '../foreign-clients.js';
import { type FixtureService, openFixtureService } from './fixture/fixture-service.js';
import { MCP_TOOLS, type McpTool, runMcpTool } from './mcp-tools.js';

/** How many scenarios count in each revision. */
const SCORED = { '2025-11-25': 30, '2026-07-28': 37 } as const;

describe('the MCP server under the conformance suite', () => {
  let suite: McpTool;
  let service: FixtureService;
  before(async function () {
    ({ conformance: suite } = await orSkip(this, () => MCP_TOOLS.find()));
    service = await openFixtureService();
  });
  after(() => service?.close());

  for (const [revision, scored] of Object.entries(SCORED))
    it(`passes every scenario that counts in ${revision}`, async () => {
      const { code, stdout, output } = await runMcpTool(suite, [
        'server',
        `--url=${service.url}`,
        `--requirements=${revision}`,
      ]);
      const [, summary = '', notScored = ''] = /=== SUMMARY ===([^]*?)(?:Not scored([^]*))?$/.exec(stdout) ?? [];
      const named = (text: string, mark: string) =>
        [...text.matchAll(new RegExp(`${mark} ([a-z0-9-]+)`, 'g'))].map(([, name]) => name);
      const uncounted = [...named(notScored, '✓'), ...named(notScored, '✗')];
      const counted = (mark: string) => named(summary, mark).filter((name) => !uncounted.includes(name));
      expect(counted('✗'), output).to.deep.equal([]);
      expect(counted('✓'), output).to.have.length(scored);
      expect(code, output).to.equal(0);
    });
});
