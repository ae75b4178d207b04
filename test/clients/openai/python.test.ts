// Goal: the library `openai` for Python and LiteLLM, as a library and as a proxy in front, work with the program as
// docs/openai.md shows them, and pay what was delivered, once.
// Method: the blocks of the page, and a program of these tests, each as a process against the started program; a proxy cuts
// one connection. After each test the books are verified. What is not installed is skipped with a message.
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAI } from 'openai';
import type { JsonObject } from '../../../core/json.js';
import type { Tenant } from '../../service/live-service.js';
import { freePort } from '../../servers/free-port.js';
import { orSkip, runTool } from '../foreign-clients.js';
import { ClientService, CuttingProxy } from './client-service.js';
import { DocumentedExample } from './documented-example.js';
import { LITELLM, OPENAI_1, OPENAI_NEWEST, pythonSource } from './openai-tools.js';

/** LiteLLM reads a list of prices from its own site otherwise. */
const OFFLINE = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False' };

describe('clients of OpenAI in Python against the program', () => {
  let service: ClientService;
  let tenant: Tenant;
  before(async () => {
    service = await ClientService.open();
  });
  beforeEach(async () => {
    tenant = await service.tenant();
  });
  after(() => service.close());

  for (const [client, heading] of [
    [OPENAI_1, 'openai for Python'],
    [OPENAI_NEWEST, 'openai for Python'],
    [LITELLM, 'LiteLLM'],
  ] as const)
    it(`make a picture as the page shows, with ${client.language}`, async function () {
      const interpreter = await orSkip(this, () => client.interpreter());
      const example = new DocumentedExample(service, heading, 'python');
      await example.run(interpreter, ['-'], tenant, OFFLINE);
      expect(await example.picture('lighthouse.png')).to.equal('png 512x512');
      await service.expectPaid(tenant, 4);
    });

  it(`edit a picture and make a video as the page shows, with ${OPENAI_NEWEST.language}`, async function () {
    const interpreter = await orSkip(this, () => OPENAI_NEWEST.interpreter());
    const example = new DocumentedExample(service, 'openai for Python', 'python', { count: 2 });
    await example.run(interpreter, ['-'], tenant);
    expect(await example.picture('winter.png')).to.equal('png 512x512');
    expect(example.file('waves.mp4').toString('latin1', 4, 8)).to.equal('ftyp');
    await service.expectPaid(tenant, 4 + 4 + 40);
  });

  for (const client of [OPENAI_1, OPENAI_NEWEST])
    it(`get pictures, edits and refusals, and repeat by themselves, with ${client.language}`, async function () {
      const interpreter = await orSkip(this, () => client.interpreter());
      const proxy = await CuttingProxy.open(service.live.url);
      proxy.cutNext('while it waits');
      try {
        const args = [pythonSource('client.py'), service.baseUrl, `${proxy.url}/v1`];
        const environment = { DARKROOM_API_KEY: tenant.secret };
        const got = JSON.parse(
          await runTool(interpreter, args, { folder: service.live.folder, environment }),
        ) as JsonObject;
        expect(got).to.deep.include({
          'pictures': 2,
          'edited': 1,
          'repeated': 1,
          'wrong key': [401, 'invalid_api_key', null],
          'unknown model': [404, 'model_not_found', 'model'],
          'too many': [400, 'invalid_value', 'n'],
          'refused': [400, 'content_policy_violation', null],
        });
        expect(got['models']).to.include('sandbox-video');
        expect((await fetch(got['url'] as string)).status).to.equal(200);
        expect(proxy.cuts).to.equal(1);
      } finally {
        await proxy.close();
      }
      await service.expectPaid(tenant, 2 * 4 + 4 + 4 + 1);
    });

  it('make a picture through LiteLLM as a proxy, as the page configures it', async function () {
    const interpreter = await orSkip(this, () => LITELLM.interpreter());
    const { folder, text } = new DocumentedExample(service, 'LiteLLM', 'yaml litellm');
    writeFileSync(join(folder, 'config.yaml'), text);
    const masterKey = `sk-${randomBytes(24).toString('hex')}`;
    const port = await freePort();
    // A virtual environment that was moved has no scripts that can be run.
    const args = [
      '-c',
      'from litellm_cli.main import proxy_server; proxy_server()',
      '--config',
      'config.yaml',
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
    ];
    const env = { ...process.env, ...OFFLINE, DARKROOM_API_KEY: tenant.secret, LITELLM_MASTER_KEY: masterKey };
    const proxy = spawn(interpreter, args, { cwd: folder, env, stdio: 'ignore' });
    try {
      while (!(await isAlive(`http://127.0.0.1:${port}/health/liveliness`))) await sleep(500);
      const openai = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: masterKey });
      const { data } = await openai.images.generate({ model: 'lighthouse', prompt: 'a lighthouse', size: '256x256' });
      expect(Buffer.from(data?.[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).to.equal('PNG');
      const many = openai.images.generate({ model: 'lighthouse', prompt: 'a lighthouse', n: 9 });
      expect(await many.catch((error: Error) => error.message)).to.contain('n must be');
    } finally {
      proxy.kill('SIGKILL');
      if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
    }
    await service.expectPaid(tenant, 4);
  });
});

function isAlive(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
