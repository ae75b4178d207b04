/*
 * Goal: the code that the playground shows works when copied: for a shell with curl, and with the client libraries for
 * TypeScript and Python, with reference files too.
 * Method: the code is read from the page in Chromium and run against the service, with a key and a file in the folder.
 */
import { expect } from 'chai';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { createKey } from '../../core/access/manage.js';
import type { Generation } from '../../core/generation/generation.js';
import { appsForKeys } from '../../core/people/own-keys.js';
import { orSkip as orSkipClient, runTool } from '../clients/foreign-clients.js';
import { PYTHON_LIBRARY } from '../clients/python-library.js';
import { referenceFile } from '../fixtures/reference-files.js';
import { openPages, type Visitor } from './page-harness.js';
import { outputOf } from './shell.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Characters that a shell, JSON and each language must escape in their own way. */
const PROMPT = `it's "a cat" \\ $HOME \`x\`\n猫 😀`;

describe('the code of the playground', () => {
  let visitor: Visitor;
  let page: Page;
  let folder: string;
  let secret: string;
  const harness = openPages((next) => ({ page } = visitor = next));
  before(async () => {
    const { person, harness: service } = harness().service;
    await service.startWorker();
    const { defaultApp } = await appsForKeys(service.context, person.accountId);
    ({ secret } = await createKey(service.context, { appId: defaultApp.appId, name: 'for the code' }));
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-code-'));
    await writeFile(join(folder, 'a-cat.png'), await referenceFile('png'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  /** Fills the form in and answers its code in a language. */
  const codeIn = async (language: string, files: readonly string[] = []): Promise<string> => {
    await harness().openSignedIn(visitor, '/console/playground');
    await page.getByLabel('Prompt', { exact: true }).fill(PROMPT);
    await page.getByLabel('size').selectOption({ label: '96x64' });
    await page.getByLabel('n (optional)').fill('2');
    await page.getByLabel('tuning').fill('{"strength": 0.5}');
    const buffer = Buffer.from(await referenceFile('png'));
    for (const name of files) {
      await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'image/png', buffer });
      await page.getByText('Ready').waitFor();
    }
    await page.getByRole('button', { name: language, exact: true }).click();
    return page.locator('.copyable code').last().innerText();
  };
  const newest = async (): Promise<Generation | undefined> => {
    const { context } = harness().service.harness;
    const { accountId } = harness().service.person;
    return (await context.generations.list({ of: 'account', accountId }, { limit: 1 })).items[0];
  };
  const requireMade = async (references: number): Promise<void> => {
    const made = await newest();
    expect(made).to.include({ prompt: PROMPT, status: 'succeeded' });
    expect(made?.parameters).to.deep.equal({ size: '96x64', n: 2, tuning: { strength: 0.5 } });
    expect(made?.references).to.have.lengthOf(references);
  };
  const variables = () => ({ DARKROOM_API_KEY: secret });

  for (const files of [[], ['a cat.png']] as const) {
    const what = files.length === 0 ? 'alone' : 'with a reference file';

    it(`works in a shell with curl, ${what}`, async () => {
      const output = await outputOf(await codeIn('curl', files), variables(), folder);
      const answers = output.split(/(?<=\})(?=\{)/);
      expect(JSON.parse(answers.at(-1) ?? '')).to.include({ success: true });
      await requireMade(files.length);
    });

    it(`compiles and works with the client library for TypeScript, ${what}`, async () => {
      const code = await codeIn('TypeScript', files);
      const library = join(folder, 'node_modules/@darkroom/client');
      await mkdir(library, { recursive: true });
      await copyFile(join(ROOT, 'clients/typescript/package.json'), join(library, 'package.json'));
      await symlink(join(ROOT, 'dist/clients/typescript/src'), join(library, 'src'));
      await writeFile(join(folder, 'code.mts'), code);
      await writeFile(join(folder, 'code.mjs'), code);
      const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
      const how = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
      await runTool(join(ROOT, 'node_modules/.bin/tsc'), [...how, ...types, 'code.mts'], { folder });
      await runTool(process.execPath, ['code.mjs'], { folder, environment: variables() });
      expect(await readdir(folder)).to.include.members(['output-1.png', 'output-2.png']);
      await requireMade(files.length);
    });
  }

  it('works with the client library for Python, alone and with a reference file', async function () {
    const library = await orSkipClient(this, () => PYTHON_LIBRARY.build());
    try {
      for (const files of [[], ['a cat.png']]) {
        await writeFile(join(folder, 'code.py'), await codeIn('Python', files));
        const environment = { ...variables(), PYTHONPATH: library.folder, PYTHONDONTWRITEBYTECODE: '1' };
        await runTool(library.interpreter, ['code.py'], { folder, environment });
        expect(await readdir(folder)).to.include.members(['output-1.png', 'output-2.png']);
        await requireMade(files.length);
      }
    } finally {
      library.remove();
    }
  });
});
