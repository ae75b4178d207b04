// Goal: the official MCP conformance suite has no objection to the OAuth server.
// Method: its scenarios run as a separate process against the service; where they wait for a person, a browser without
// scripts signs in and allows the request. Everything that can be configured is on. Without the suite on the machine
// they are skipped with a message.
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientDocuments } from '../../../apps/http/oauth/client-documents.js';
import { OAuthHarness } from '../../fronts/oauth/oauth-harness.js';
import { freePort } from '../../servers/free-port.js';
import { orSkip } from '../foreign-clients.js';
import { MCP_TOOLS, type McpTool } from './mcp-tools.js';

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

describe('the OAuth server under the MCP conformance suite', () => {
  let suite: McpTool;
  let service: OAuthHarness;
  let documents: ClientDocuments;
  let folder: string;
  before(async function () {
    ({ conformance: suite } = await orSkip(this, () => MCP_TOOLS.find()));
    folder = mkdtempSync(join(tmpdir(), 'darkroom-conformance-'));
    documents = new ClientDocuments(['*']);
    service = await OAuthHarness.open({ people: { clientDocuments: documents } });
  });
  after(async () => {
    await service?.close();
    await documents?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it('passes every check of every scenario', async () => {
    const port = await freePort();
    const clientId = await service.register({ redirect_uris: [`http://127.0.0.1:${port}/callback`] });
    const { code, output } = await played([
      'authorization',
      `--url=${service.origin}`,
      `--client-id=${clientId}`,
      `--port=${port}`,
      `--resource=${service.origin}/api/v1/developer/mcp`,
      `--output-dir=${folder}`,
    ]);
    const checks = checksIn(folder);
    expect(code, output).to.equal(0);
    expect(checks.filter(({ status }) => status !== 'SUCCESS')).to.deep.equal([]);
    expect(checks.map(({ id }) => id)).to.include.members([
      'authorization-server-metadata',
      'authorization-code-grant',
    ]);
  });

  /** Runs the suite to its end, and performs the steps that it requires of a person. */
  async function played(args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
    const child = spawn(suite.command, [...suite.args, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close') as Promise<[number | null]>;
    let output = '';
    let allowed: Promise<void> | undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        output += text;
        const [asked] = /http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/.exec(output) ?? [];
        // The suite listens for the answer once it has said so.
        if (asked !== undefined && output.includes('Callback server started')) allowed ??= allow(asked);
      });
    }
    const [code] = await ended;
    await allowed;
    return { code, output };
  }

  async function allow(address: string): Promise<void> {
    const browser = await service.signedIn();
    const { pathname, search } = new URL(address);
    const callback = await service.allow(browser, await browser.open(pathname + search));
    await (await fetch(callback)).text();
  }
});

function checksIn(folder: string): readonly Check[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith('checks.json'))
    .flatMap((path) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as readonly Check[]);
}
