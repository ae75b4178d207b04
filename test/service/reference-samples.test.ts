/**
 * Goal: every sample of the reference for curl and for TypeScript works when it is copied.
 * Method: the samples of the built pages, unchanged, as processes against a started service. A sample that follows events
 * without end is ended after its first output.
 */
import { expect } from 'chai';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../docs/pages.js';
import { type Interpreter, PlayedSamples } from '../reference/played-samples.js';

const INTERPRETERS: Readonly<Record<string, Interpreter>> = {
  curl: { command: 'sh', args: [] },
  typescript: { command: process.execPath, args: ['--input-type=module'] },
};

for (const [language, interpreter] of Object.entries(INTERPRETERS))
  describe(`the samples of the reference for ${language}`, function suite() {
    this.timeout(120_000);
    let folder: string;
    let samples: PlayedSamples;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'darkroom-reference-'));
      installPackages(folder);
      samples = await PlayedSamples.start(folder, language, interpreter);
    });
    after(async () => {
      await samples?.close();
      rmSync(folder, { recursive: true, force: true });
    });
    beforeEach(() => samples.played.clear());

    it('work for every operation', async () => {
      await samples.playDeveloper();
      expect([...samples.played].toSorted()).to.deep.equal(PlayedSamples.operationsOn(false).toSorted());
    });

    it('work for every operation of the OpenAI-compatible API', async () => {
      await samples.playOpenAi();
      expect([...samples.played].toSorted()).to.deep.equal(PlayedSamples.operationsOn(true).toSorted());
    });
  });

/** The client library as it is built here, and OpenAI's. */
function installPackages(folder: string): void {
  const client = join(folder, 'node_modules/darkroom-client');
  mkdirSync(client, { recursive: true });
  const library = pathToFileURL(join(ROOT, 'dist/clients/typescript/src/index.js')).href;
  writeFileSync(join(client, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }));
  writeFileSync(join(client, 'index.js'), `export * from '${library}';\n`);
  symlinkSync(join(ROOT, 'node_modules/openai'), join(folder, 'node_modules/openai'));
}
