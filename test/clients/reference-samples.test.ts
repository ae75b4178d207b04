/**
 * Goal: every sample of the reference for curl, TypeScript and Python works when it is copied.
 * Method: the samples of the built pages, unchanged, as processes with the client libraries and OpenAI's, against a started
 * service. A sample that follows events without end is ended after its first output. Samples for Python whose library is not
 * installed are skipped with a message.
 */
import { expect } from 'chai';
import type { Context } from 'mocha';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../docs/pages.js';
import { type Interpreter, PlayedSamples } from '../reference/played-samples.js';
import { orSkip } from './foreign-clients.js';
import { OPENAI_NEWEST } from './openai/openai-tools.js';
import { PYTHON_LIBRARY } from './python-library.js';

/** Runs samples. `remove` deletes the files that were made for it. */
type Player = Interpreter & { readonly remove?: () => void };

interface Language {
  readonly name: string;
  /** The player of the developer's operations, and that of the OpenAI-compatible API. */
  readonly players: readonly ((suite: Context, folder: string) => Promise<Player>)[];
}

const curl = () => Promise.resolve({ command: 'sh', args: [] });
const node = (_: Context, folder: string) => {
  installPackages(folder);
  return Promise.resolve({ command: process.execPath, args: ['--input-type=module'] });
};

const LANGUAGES: readonly Language[] = [
  { name: 'curl', players: [curl, curl] },
  { name: 'typescript', players: [node, node] },
  {
    name: 'python',
    players: [
      async (suite) => {
        const library = await orSkip(suite, () => PYTHON_LIBRARY.build());
        const environment = { PYTHONPATH: library.folder, PYTHONUNBUFFERED: '1' };
        return { command: library.interpreter, args: ['-'], environment, remove: () => library.remove() };
      },
      async (suite) => ({ command: await orSkip(suite, () => OPENAI_NEWEST.interpreter()), args: ['-'] }),
    ],
  },
];

for (const { name, players } of LANGUAGES)
  describe(`the samples of the reference for ${name}`, () => {
    for (const [index, isOpenAi] of [false, true].entries())
      it(`work for every operation${isOpenAi ? ' of the OpenAI-compatible API' : ''}`, async function () {
        const folder = mkdtempSync(join(tmpdir(), 'darkroom-reference-'));
        let samples: PlayedSamples | undefined;
        let player: Player | undefined;
        try {
          player = await players[index]?.(this, folder);
          if (player === undefined) throw new Error(`Nothing plays samples for ${name}.`);
          samples = await PlayedSamples.start(folder, name, player);
          await (isOpenAi ? samples.playOpenAi() : samples.playDeveloper());
          expect([...samples.played]).to.have.members(PlayedSamples.operationsOn(isOpenAi));
        } finally {
          await samples?.close();
          player?.remove?.();
          rmSync(folder, { recursive: true, force: true });
        }
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
