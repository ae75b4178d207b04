// Goal: the official Python client uses the MCP server with a key, and by its address alone with a person who allows it.
// Method: the client as a separate process against a whole service in this process, in both eras; where it waits for a
// person, a browser without scripts signs in and allows the request. Without the client it is skipped with a message.
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createApp, createKey } from '../../../core/access/manage.js';
import type { JsonObject } from '../../../core/json.js';
import { OAuthHarness } from '../../fronts/oauth/oauth-harness.js';
import { orSkip } from '../foreign-clients.js';
import { type McpTool, PYTHON_MCP } from './mcp-tools.js';

describe('the MCP server with a client in Python', () => {
  let client: McpTool;
  let service: OAuthHarness;
  let url: string;
  before(async function () {
    client = await orSkip(this, () => PYTHON_MCP.find());
    service = await OAuthHarness.open({ mcp: { confirmAboveCredits: 15 } });
    await service.harness.startWorker();
    url = `${service.origin}/api/v1/developer/mcp`;
  });
  after(() => service?.close());

  /** Runs the client and returns the last line it printed. */
  async function played(mode: string, key = '', address = url): Promise<JsonObject> {
    const child = spawn(client.command, [...client.args, address, mode], {
      env: { ...process.env, MCP_KEY: key },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const ended = once(child, 'close') as Promise<[number | null]>;
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    let last: JsonObject = {};
    for await (const line of createInterface(child.stdout)) {
      last = JSON.parse(line) as JsonObject;
      if (typeof last['open'] === 'string') child.stdin.write(`${await allowed(last['open'])}\n`);
    }
    const [code] = await ended;
    expect(code, complaint).to.equal(0);
    return last;
  }

  async function allowed(address: string): Promise<string> {
    const browser = await service.signedIn();
    const { pathname, search } = new URL(address);
    return (await service.allow(browser, await browser.open(pathname + search))).href;
  }

  function expectPicture(received: JsonObject): void {
    expect(received['tools']).to.have.length(9);
    expect(received['task']).to.include({ status: 'succeeded', charged_credits: 20 });
    expect(received['content']).to.deep.equal(['text', 'image', 'image', 'resource_link', 'resource_link']);
    expect(received['refusal']).to.equal('IDEMPOTENCY_KEY_REQUIRED: Send an idempotency_key.');
  }

  for (const mode of ['2026-07-28', 'legacy'])
    it(`makes a picture with a key, asked by the server whether it may, in mode ${mode}`, async () => {
      const { context } = service.harness;
      const { appId } = await createApp(context, { accountId: service.person.accountId, name: 'an App' });
      const { secret } = await createKey(context, { appId, name: 'a key' });
      expectPicture(await played(mode, secret));
    });

  for (const [mode, slash] of [
    ['auto', '/'],
    ['legacy', ''],
    ['2026-07-28', ''],
  ] as const)
    it(`finds where to be allowed, registers, is allowed and makes a picture, in mode ${mode} at /mcp${slash}`, async () => {
      expectPicture(await played(mode, '', url + slash));
    });
});
