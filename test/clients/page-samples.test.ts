/**
 * Goal: the samples for a shell and for Python in docs/api, docs/webhooks.md and docs/mcp.md work, and fail with one
 * sentence and another exit code than 0.
 * Method: the blocks of the pages, as processes, against a started program. A client that is not installed is skipped
 * with a message.
 */
import { expect } from 'chai';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCOPES } from '../../core/access/credential.js';
import { readPage, ROOT } from '../docs/pages.js';
import { freePort } from '../servers/free-port.js';
import { LiveService } from '../service/live-service.js';
import { orSkip } from './foreign-clients.js';
import { PYTHON_MCP } from './mcp/mcp-tools.js';
import { behaving, type EndedSample, expectSentence, runSample } from './samples.js';

/** The block of a page that has these words. */
function blockWith(path: string, words: string): string {
  const found = readPage(path).blocks.filter(({ text }) => text.includes(words));
  if (found.length !== 1) throw new Error(`${path} has ${found.length} blocks with ${words}.`);
  return found[0]?.text ?? '';
}

describe('the samples of the pages', () => {
  let folder: string;
  let service: LiveService;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-samples-'));
    service = await LiveService.start();
  });
  after(async () => {
    await service?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  describe('that create and wait with curl', () => {
    const text = blockWith('docs/api/generations.md', 'Prefer: wait=60');
    const run = (DARKROOM: string, KEY: string): Promise<EndedSample> =>
      runSample('bash', [], { folder, environment: { DARKROOM, KEY }, input: text });

    it('make one picture, also when they run twice', async () => {
      const { secret } = await service.tenant(100);
      const tasks = [await run(service.url, secret), await run(service.url, secret)].map(
        ({ stdout }) => (JSON.parse(stdout) as { data: { generation_id: string; status: string } }).data,
      );
      expect(tasks[0]?.status).to.equal('succeeded');
      expect(tasks[1]?.generation_id).to.equal(tasks[0]?.generation_id);
      expect(await service.client(secret).balance()).to.equal(96);
    });

    it('print the refusal of a wrong key and of missing credits, and where nothing listens', async () => {
      expectSentence(await run(service.url, 'svc_live_wrong'), /not valid/);
      expectSentence(await run(service.url, (await service.tenant(3)).secret), /4 credits/);
      expectSentence(await run(`http://127.0.0.1:${await freePort()}`, 'svc_live_any'), /onnect/);
    });

    it('show why a generation failed', async () => {
      const failing = await LiveService.start({ catalog: behaving({ behaviour: 'fail' }) });
      try {
        const { stdout } = await run(failing.url, (await failing.tenant(100)).secret);
        expect(JSON.parse(stdout)).to.have.nested.property('data.error.message', 'The test model was asked to fail.');
      } finally {
        await failing.remove();
      }
    });
  });

  describe('that make a webhook with curl', () => {
    const text = blockWith('docs/webhooks.md', 'curl')
      .replace(/^DARKROOM=.*$/m, '')
      .replace(/^WEBHOOKS_KEY=.*$/m, '');
    const run = (DARKROOM: string, WEBHOOKS_KEY: string): Promise<EndedSample> =>
      runSample('bash', [], { folder, environment: { DARKROOM, WEBHOOKS_KEY }, input: text });

    it('show its secret', async () => {
      const { code, stdout } = await run(service.url, (await service.tenant(1, SCOPES)).secret);
      expect(code).to.equal(0);
      expect(stdout).to.match(/"secret":"whsec_/);
    });

    it('print the refusal of a key without the scope, and where nothing listens', async () => {
      expectSentence(await run(service.url, (await service.tenant(1)).secret), /webhooks:manage/);
      expectSentence(await run(`http://127.0.0.1:${await freePort()}`, 'svc_live_any'), /onnect/);
    });
  });

  it('that receive webhooks print one sentence where their port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    try {
      const { port } = other.address() as AddressInfo;
      const input = blockWith('docs/webhooks.md', 'createServer')
        .replace('3000', String(port))
        // The library is not installed here.
        .replace(/^import \{ verifyWebhook \}.*$/m, '');
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
      expectSentence(await runSample(process.execPath, ['--input-type=module'], { folder, input }), /EADDRINUSE/);
    } finally {
      other.close();
    }
  });

  it('that call the MCP server in Python list the models, and print one sentence for a wrong key and without a service', async function () {
    const { command } = await orSkip(this, () => PYTHON_MCP.find());
    const text = blockWith('docs/mcp.md', 'call_tool');
    const run = (origin: string, key: string): Promise<EndedSample> =>
      runSample(command, ['-'], {
        folder,
        environment: { DARKROOM_API_KEY: key },
        input: text.replace('https://darkroom.example.com', origin),
      });
    const listed = await run(service.url, (await service.tenant(1)).secret);
    expect(listed).to.include({ code: 0, stderr: '' });
    expect(listed.stdout).to.contain('sandbox-image');
    expectSentence(await run(service.url, 'svc_live_wrong'), /not valid/);
    expectSentence(await run(`http://127.0.0.1:${await freePort()}`, 'svc_live_any'), /^http\S+: /);
  });
});
