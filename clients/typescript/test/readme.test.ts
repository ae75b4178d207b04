// Goal: somebody who has the published package and its README gets a first picture, and its types compile.
// Method: the package as npm packs it is installed without a network into an empty folder, where the README's blocks are
// compiled and run against the started program.
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { Webhook } from 'standardwebhooks';
import { runTool } from '../../../test/clients/foreign-clients.js';
import { readPage } from '../../../test/docs/pages.js';
import { LiveService } from '../../../test/service/live-service.js';

import { behaving, expectSentence, restartWhileRunning, runSample } from '../../../test/clients/samples.js';
import { freePort } from '../../../test/servers/free-port.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const page = readPage('clients/typescript/README.md');
const [picture = '', night = '', steps = '', all = '', webhook = ''] = page.blocks
  .filter(({ info }) => info === 'js')
  .map(({ text }) => text);

describe('the README of the TypeScript client', () => {
  let folder: string;
  let service: LiveService;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-readme-'));
    await runTool('node', [join(ROOT, 'clients/pack.mjs'), folder], { folder });
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    const { version } = JSON.parse(readFileSync(join(ROOT, 'clients/typescript/package.json'), 'utf8')) as {
      version: string;
    };
    await runTool('npm', ['install', '--offline', '--no-audit', `./darkroom-client-${version}.tgz`], { folder });
    service = await LiveService.start();
  });
  after(async () => {
    await service?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('leads to a first picture, in fifteen lines', async () => {
    expect(picture.split('\n').length).to.be.at.most(16);
    writeFileSync(join(folder, 'picture.js'), picture);
    const { secret } = await service.tenant(100);
    const environment = { DARKROOM_URL: service.url, DARKROOM_API_KEY: secret };
    expect(await runTool('node', ['picture.js'], { folder, environment })).to.match(/^[1-9][0-9]* credits\n$/);
    expect(await sharp(readFileSync(join(folder, 'lighthouse.png'))).metadata()).to.have.property('format', 'png');
  });

  it('continues from that picture to references and single steps', async () => {
    const [before = '', caught = ''] = picture.split('} catch');
    const [imported = '', ...nights] = night.split('\n');
    const inside = [before, ...nights, steps].join('\n');
    writeFileSync(join(folder, 'steps.js'), `${imported}\n${inside}\n} catch${caught}`);
    const { secret } = await service.tenant(100);
    const environment = { DARKROOM_URL: service.url, DARKROOM_API_KEY: secret };
    const told = (await runTool('node', ['steps.js'], { folder, environment })).trim().split('\n');
    expect(told.filter((line) => /^(?:succeeded|ended)$/.test(line))).to.deep.equal(['succeeded', 'ended']);
    // The first picture and the night: what was deleted is in no list, and was paid for.
    expect(told.filter((line) => /^[0-9a-f-]{36} succeeded$/.test(line))).to.have.lengthOf(2);
    expect(told.at(-1)).to.match(/^[0-9]{4}-[0-9]{2}-[0-9]{2} [1-9][0-9]*$/);
    expect(await sharp(readFileSync(join(folder, 'fog.png'))).metadata()).to.have.property('format', 'png');
  });

  describe('prints one sentence and ends with 1', () => {
    const run = (url: string, secret: string) => {
      writeFileSync(join(folder, 'picture.js'), picture);
      const environment = { DARKROOM_URL: url, DARKROOM_API_KEY: secret };
      return runSample('node', ['picture.js'], { folder, environment });
    };

    it('for a wrong key, and where credits are missing', async () => {
      expectSentence(await run(service.url, 'svc_live_wrong'), /not valid/);
      expectSentence(await run(service.url, (await service.tenant(3)).secret), /4 credits/);
    });

    it('where nothing listens', async () => {
      expectSentence(await run(`http://127.0.0.1:${await freePort()}`, 'svc_live_any'), /127\.0\.0\.1/);
    });

    it('for a failed generation', async () => {
      const failing = await LiveService.start({ catalog: behaving({ behaviour: 'fail' }) });
      try {
        expectSentence(await run(failing.url, (await failing.tenant(100)).secret), /asked to fail/);
      } finally {
        await failing.remove();
      }
    });
  });

  it('makes one picture while the service restarts in the middle', async () => {
    const slow = await LiveService.start({ catalog: behaving({ behaviour: 'succeed', delay_ms: 5_000 }) });
    try {
      const { secret } = await slow.tenant(100);
      writeFileSync(join(folder, 'picture.js'), picture);
      const ended = runSample('node', ['picture.js'], {
        folder,
        environment: { DARKROOM_URL: slow.url, DARKROOM_API_KEY: secret },
      });
      await restartWhileRunning(slow, secret);
      expect(await ended).to.deep.equal({ code: 0, stdout: '4 credits\n', stderr: '' });
      expect(await slow.client(secret).balance()).to.equal(96);
    } finally {
      await slow.remove();
    }
  });

  it('verifies webhooks in the receiver that their page shows, which takes each once and refuses what is not signed', async () => {
    const [receiver = ''] = readPage('docs/webhooks.md')
      .blocks.filter(({ info }) => info === 'js')
      .map(({ text }) => text);
    const said = `.listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
    writeFileSync(join(folder, 'receiver.js'), receiver.replace(/\.listen\(.*\);/, said));
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const environment = { ...process.env, WEBHOOK_SECRET: secret };
    const child = spawn(process.execPath, ['receiver.js'], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const port = String((await lines.next()).value);
      const send = async (id: string, signedWith: string): Promise<number> => {
        const body = JSON.stringify({ type: 'generation.succeeded', data: { generation_id: id } });
        const at = new Date();
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
          'webhook-signature': new Webhook(signedWith).sign(id, at, body),
        };
        return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })).status;
      };
      expect(await send('other', `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).to.equal(400);
      for (const id of ['first', 'first', 'second']) expect(await send(id, secret)).to.equal(204);
      for (const id of ['first', 'second']) expect((await lines.next()).value).to.equal(`generation.succeeded ${id}`);
    } finally {
      child.kill();
    }
  });

  it('shows code that compiles against the types of the package, which needs no other', async () => {
    const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
    const { packages } = JSON.parse(lock) as { readonly packages: object };
    expect(Object.keys(packages)).to.deep.equal(['', 'node_modules/darkroom-client']);
    expect(existsSync(join(folder, 'node_modules/darkroom-client/LICENSE'))).to.equal(true);
    const used = `import { Darkroom, type GenerationTask } from 'darkroom-client';
const { task, files } = await new Darkroom({ baseUrl: '' }).generate({ model_key: 'm', prompt: 'p' });
export const status: GenerationTask['status'] = task.status;
export const bytes: Uint8Array | undefined = files[0]?.bytes;
declare const [darkroom, writeFile, signal, lastEventId]: [
  Darkroom, (path: string, bytes: Uint8Array) => Promise<void>, AbortSignal, string | undefined,
];
declare function remember(id: string | undefined): Promise<void>;
${night.replace(/^import .*$/m, 'declare function openAsBlob(path: string): Promise<Blob>;')}
${steps}
${all}
// @ts-expect-error There is no such field.
task.state;
`;
    writeFileSync(join(folder, 'used.ts'), used);
    writeFileSync(
      join(folder, 'webhook.ts'),
      webhook.replace('(request)', '(request: Request)').replace('const event =', 'const event: any ='),
    );
    const globals = 'declare const process: { readonly env: Readonly<Record<string, string>> };';
    writeFileSync(join(folder, 'globals.d.ts'), globals);
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2023,dom', '--types', ''];
    await runTool(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'used.ts', 'webhook.ts', 'globals.d.ts'], {
      folder,
    });
  });
});
