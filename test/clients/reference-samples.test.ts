/**
 * Goal: every sample of the reference for Python works when it is copied.
 * Method: the samples of the built pages, unchanged, with the client library and OpenAI's, against a started service. Samples
 * whose library is not installed are skipped with a message.
 */
import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlayedSamples } from '../reference/played-samples.js';
import { orSkip } from './foreign-clients.js';
import { OPENAI_NEWEST } from './openai/openai-tools.js';
import { PYTHON_LIBRARY } from './python-library.js';

describe('the samples of the reference for Python', () => {
  let folder: string;
  let samples: PlayedSamples | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-reference-'));
  });
  afterEach(async () => {
    await samples?.close();
    samples = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it('work for every operation', async function () {
    const library = await orSkip(this, () => PYTHON_LIBRARY.build());
    try {
      const environment = { PYTHONPATH: library.folder, PYTHONUNBUFFERED: '1' };
      samples = await PlayedSamples.start(folder, 'python', { command: library.interpreter, args: ['-'], environment });
      await samples.playDeveloper();
    } finally {
      library.remove();
    }
    expect([...samples.played]).to.have.members(PlayedSamples.operationsOn(false));
  });

  it('work for every operation of the OpenAI-compatible API', async function () {
    const command = await orSkip(this, () => OPENAI_NEWEST.interpreter());
    samples = await PlayedSamples.start(folder, 'python', { command, args: ['-'] });
    await samples.playOpenAi();
    expect([...samples.played]).to.have.members(PlayedSamples.operationsOn(true));
  });
});
