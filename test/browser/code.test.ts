/*
 * Goal: the code that the playground shows works when copied: for a shell with curl, with the client libraries for
 * TypeScript and Python, and with OpenAI's library, with reference files too.
 * Method: the code is read from the page in Chromium and run against the service, with a key and a file in the folder.
 */
import { expect } from 'chai';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import type { Model } from '../../core/catalog/model.js';
import { createKey } from '../../core/access/manage.js';
import type { Generation } from '../../core/generation/generation.js';
import { appsForKeys } from '../../core/people/own-keys.js';
import { orSkip as orSkipClient, runTool } from '../clients/foreign-clients.js';
import { OPENAI_1, OPENAI_NEWEST } from '../clients/openai/openai-tools.js';
import { PYTHON_LIBRARY } from '../clients/python-library.js';
import { image } from '../fixtures/images.js';
import { catalogOf, MODELS } from '../fixtures/models.js';
import { referenceFile } from '../fixtures/reference-files.js';
import { CannedProvider, oneProvider } from '../fixtures/scripted-provider.js';
import { mp4 } from '../fixtures/videos.js';
import { openPages, type Visitor } from './page-harness.js';
import { outputOf } from './shell.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CANNED = new CannedProvider(await image('png', 96, 64), await mp4(20));
const [PICTURE] = MODELS as [Model];
const PROMPTLESS: Model = { ...PICTURE, modelKey: 'vary', displayName: 'vary', promptRule: 'optional' };
/** Characters that a shell, JSON and each language must escape in their own way. */
const PROMPT = `it's "a cat" \\ $HOME \`x\`\n猫 😀`;

describe('the code of the playground', () => {
  let visitor: Visitor;
  let page: Page;
  let folder: string;
  let secret: string;
  const harness = openPages((next) => ({ page } = visitor = next), {
    providers: oneProvider(CANNED),
    catalog: catalogOf(() => [...MODELS, PROMPTLESS]),
  });
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
  const codeIn = async (language: string, files: readonly string[] = [], fill = fillPicture): Promise<string> => {
    await harness().openSignedIn(visitor, '/console/playground');
    await page.getByLabel(/^Prompt/).fill(PROMPT);
    await fill();
    await addFiles(files);
    await page.getByRole('tab', { name: 'Code' }).click();
    await page.getByRole('radio', { name: language, exact: true }).check();
    return page.locator('.code code').last().innerText();
  };
  const pick = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: /^Model: / }).click();
    await page.getByRole('menuitemradio', { name }).click();
  };
  const fillPicture = async (): Promise<void> => {
    await page.getByRole('radio', { name: '96 × 64' }).check();
    await page.getByRole('spinbutton', { name: 'Images' }).fill('2');
    await page.getByLabel('Tuning').fill('{"strength": 0.5}');
  };
  const fillClip = async (): Promise<void> => {
    await pick('Clip');
    await page.getByRole('spinbutton', { name: 'Duration seconds' }).fill('2');
  };
  const addFiles = async (files: readonly string[]): Promise<void> => {
    const buffer = Buffer.from(await referenceFile('png'));
    for (const name of files) {
      await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'image/png', buffer });
      await page.getByRole('listitem').filter({ hasText: name }).getByText('Ready').waitFor();
    }
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
      const library = join(folder, 'node_modules/darkroom-client');
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

  for (const client of [OPENAI_1, OPENAI_NEWEST])
    it(`works with ${client.language}, alone and with one or several reference files`, async function () {
      const interpreter = await orSkipClient(this, () => client.interpreter());
      await writeFile(join(folder, 'b.png'), await referenceFile('png'));
      for (const files of [[], ['a cat.png'], ['a cat.png', 'b.png']]) {
        await writeFile(join(folder, 'code.py'), await codeIn('OpenAI', files));
        await runTool(interpreter, ['code.py'], { folder, environment: variables() });
        expect(await readdir(folder)).to.include.members(['output-1.png', 'output-2.png']);
        await requireMade(files.length);
      }
    });

  for (const client of [OPENAI_1, OPENAI_NEWEST])
    it(`works with ${client.language} without a prompt, alone and with a reference file`, async function () {
      const interpreter = await orSkipClient(this, () => client.interpreter());
      for (const files of [[], ['a cat.png']]) {
        const fill = async (): Promise<void> => {
          await pick('vary');
          await page.getByLabel(/^Prompt/).fill('');
          await fillPicture();
        };
        await writeFile(join(folder, 'code.py'), await codeIn('OpenAI', files, fill));
        await runTool(interpreter, ['code.py'], { folder, environment: variables() });
        expect(await newest()).to.include({ modelKey: 'vary', prompt: '', status: 'succeeded' });
      }
    });

  it('makes a video with OpenAI for Python, alone and from its first frame', async function () {
    const interpreter = await orSkipClient(this, () => OPENAI_NEWEST.interpreter());
    for (const files of [[], ['a cat.png']]) {
      await writeFile(join(folder, 'code.py'), await codeIn('OpenAI', files, fillClip));
      await runTool(interpreter, ['code.py'], { folder, environment: variables() });
      expect((await readFile(join(folder, 'output-1.mp4'))).toString('latin1', 4, 8)).to.equal('ftyp');
      const made = await newest();
      expect(made).to.deep.include({ prompt: PROMPT, status: 'succeeded', parameters: { duration_seconds: 2 } });
      expect(made?.references.map(({ role }) => role)).to.deep.equal(files.map(() => 'start_frame'));
    }
  });

  it('explains why the API of OpenAI cannot send a request', async () => {
    await codeIn('OpenAI', ['a cat.png'], fillClip);
    const code = page.getByRole('tabpanel', { name: 'Code' });
    await page.getByLabel('Role of a cat.png').selectOption('end_frame');
    await code.getByText('takes each file of this model as a start frame: make it one').waitFor();
    expect(await code.locator('.code').count(), 'blocks of code').to.equal(0);
    await addFiles(['b.png']);
    await code.getByText('takes one file for a video: remove the others').waitFor();
  });
});

describe('the code of the playground without the API of OpenAI', () => {
  let visitor: Visitor;
  const harness = openPages((next) => (visitor = next), { hasOpenAi: false });

  it('is not for its clients', async () => {
    await harness().openSignedIn(visitor, '/console/playground');
    await visitor.page.getByRole('tab', { name: 'Code' }).click();
    const languages = visitor.page.getByRole('radiogroup', { name: 'Language' }).locator('label');
    await languages.first().waitFor();
    expect(await languages.allInnerTexts()).to.deep.equal(['curl', 'TypeScript', 'Python']);
  });
});
