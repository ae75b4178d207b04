// Goal: somebody who has the published package and its README gets a first picture, and its types compile.
// Method: the package as npm packs it is installed without a network into an empty folder, where the README's blocks are
// compiled and run against the started program.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import sharp from 'sharp';
import { runTool } from '../../../test/clients/run-tool.js';
import { readPage } from '../../../test/docs/pages.js';
import { LiveService } from '../../../test/service/live-service.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const page = readPage('clients/typescript/README.md');
const [picture = '', all = '', webhook = ''] = page.blocks.filter(({ info }) => info === 'js').map(({ text }) => text);

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

  it('leads to a first picture, in ten lines', async () => {
    expect(picture.split('\n').length).to.be.at.most(11);
    writeFileSync(join(folder, 'picture.js'), picture);
    const { secret } = await service.tenant(100);
    const environment = { DARKROOM_URL: service.url, DARKROOM_API_KEY: secret };
    expect(await runTool('node', ['picture.js'], { folder, environment })).to.match(/^[1-9][0-9]* credits\n$/);
    expect(await sharp(readFileSync(join(folder, 'lighthouse.png'))).metadata()).to.have.property('format', 'png');
  });

  it('shows code that compiles against the types of the package, which needs no other', async () => {
    const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
    const { packages } = JSON.parse(lock) as { readonly packages: object };
    expect(Object.keys(packages)).to.deep.equal(['', 'node_modules/@darkroom/client']);
    expect(existsSync(join(folder, 'node_modules/@darkroom/client/LICENSE'))).to.equal(true);
    const used = `import { Darkroom, type GenerationTask } from '@darkroom/client';
const { task, files } = await new Darkroom({ baseUrl: '' }).generate({ model_key: 'm', prompt: 'p' });
export const status: GenerationTask['status'] = task.status;
export const bytes: Uint8Array | undefined = files[0]?.bytes;
declare const [darkroom, signal, lastEventId]: [Darkroom, AbortSignal, string | undefined];
declare function remember(id: string | undefined): Promise<void>;
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
