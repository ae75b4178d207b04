// Goal: the client library for Python makes one picture however often it is interrupted, and its README leads to it.
// Method: its wheel is installed into an empty folder; its own tests, its README's blocks and mypy run there against the
// started program. The files in clients/python/tests describe what each test proves.
import { expect } from 'chai';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { SCOPES } from '../../core/access/credential.js';
import { readPage } from '../docs/pages.js';
import { LiveService } from '../service/live-service.js';
import { freePort } from '../servers/free-port.js';
import { orSkip, runTool } from './foreign-clients.js';
import { behaving, type EndedSample, expectSentence, restartWhileRunning, runSample } from './samples.js';
import { type InstalledLibrary, PYTHON_LIBRARY, SOURCES } from './python-library.js';

const TESTS = join(SOURCES, 'tests');
const CREDITS = 100;
/** More than any file has tests. */
const KEYS = 40;

const examples = readPage('clients/python/README.md')
  .blocks.filter(({ info }) => info === 'python')
  .map(({ text }) => text);

describe('the client library for Python', () => {
  let library: InstalledLibrary | undefined;
  let service: LiveService | undefined;

  before(async function () {
    library = await orSkip(this, () => PYTHON_LIBRARY.build());
    service = await LiveService.start({
      config: { settings: { retry_base_ms: 50, cancel_grace_seconds: 1 }, webhooks: { allowed_hosts: ['127.0.0.1'] } },
    });
  });
  after(async () => {
    await service?.remove();
    library?.remove();
  });

  const python = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { interpreter, folder } = library as InstalledLibrary;
    const environment = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1', ...more };
    return runTool(interpreter, args, { folder, environment });
  };

  for (const file of readdirSync(TESTS).filter((name) => name.startsWith('test_'))) {
    it(`passes ${file}`, async () => {
      const live = service as LiveService;
      const keys = (await live.tenants(KEYS, CREDITS, SCOPES)).map(({ secret }) => secret);
      const options = ['-q', '-p', 'no:cacheprovider', '--tb=short', '--no-header'];
      const told = await python(['-m', 'pytest', ...options, join(TESTS, file)], {
        TEST_URL: live.url,
        TEST_KEYS: keys.join(','),
      });
      expect(told).to.match(/^[1-9][0-9]* passed\b/m);
    });
  }

  it('leads to a first picture by its README, in fifteen lines', async () => {
    const { folder } = library as InstalledLibrary;
    for (const [index, text] of examples.slice(0, 2).entries()) {
      expect(text.split('\n').length).to.be.at.most(15);
      writeFileSync(join(folder, 'picture.py'), text);
      const { secret } = await (service as LiveService).tenant(CREDITS);
      const told = await python(['picture.py'], {
        DARKROOM_URL: (service as LiveService).url,
        DARKROOM_API_KEY: secret,
      });
      expect(told, `example ${index + 1}`).to.match(index === 0 ? /^[1-9][0-9]* credits\n$/ : /^$/);
      expect(await sharp(readFileSync(join(folder, 'lighthouse.png'))).metadata()).to.have.property('format', 'png');
    }
  });

  describe('has a README whose first pictures print one sentence and end with 1', () => {
    const each = async (url: string, secret: string, check: (ended: EndedSample) => void): Promise<void> => {
      const { interpreter, folder } = library as InstalledLibrary;
      const environment = { PYTHONPATH: folder, DARKROOM_URL: url, DARKROOM_API_KEY: secret };
      for (const input of examples.slice(0, 2))
        check(await runSample(interpreter, ['-'], { folder, environment, input }));
    };

    it('for a wrong key, and where credits are missing', async () => {
      const live = service as LiveService;
      await each(live.url, 'svc_live_wrong', (ended) => expectSentence(ended, /not valid/));
      await each(live.url, (await live.tenant(3)).secret, (ended) => expectSentence(ended, /4 credits/));
    });

    it('where nothing listens', async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      await each(url, 'svc_live_any', (ended) => expectSentence(ended, /127\.0\.0\.1/));
    });

    it('for a failed generation', async () => {
      const failing = await LiveService.start({ catalog: behaving({ behaviour: 'fail' }) });
      try {
        const { secret } = await failing.tenant(CREDITS);
        await each(failing.url, secret, (ended) => expectSentence(ended, /asked to fail/));
      } finally {
        await failing.remove();
      }
    });
  });

  it('makes one picture for each example of its README while the service restarts in the middle', async () => {
    const { interpreter, folder } = library as InstalledLibrary;
    const slow = await LiveService.start({ catalog: behaving({ behaviour: 'succeed', delay_ms: 5_000 }) });
    try {
      for (const input of examples.slice(0, 2)) {
        const { secret } = await slow.tenant(CREDITS);
        const environment = { PYTHONPATH: folder, DARKROOM_URL: slow.url, DARKROOM_API_KEY: secret };
        const ended = runSample(interpreter, ['-'], { folder, environment, input });
        await restartWhileRunning(slow, secret);
        expect(await ended).to.include({ code: 0, stderr: '' });
        expect(await slow.client(secret).balance()).to.equal(CREDITS - 4);
      }
    } finally {
      await slow.remove();
    }
  });

  it('continues from that picture to references and single steps', async () => {
    const { folder } = library as InstalledLibrary;
    const steps = examples.find((text) => text.includes('references=')) ?? '';
    const opened =
      'import os\nfrom darkroom_client import Darkroom\ndarkroom = Darkroom(os.environ["DARKROOM_URL"], os.environ["DARKROOM_API_KEY"])\n';
    writeFileSync(join(folder, 'steps.py'), opened + steps);
    const { secret } = await (service as LiveService).tenant(CREDITS);
    const environment = { DARKROOM_URL: (service as LiveService).url, DARKROOM_API_KEY: secret };
    const told = (await python(['steps.py'], environment)).trim().split('\n');
    // One of the two was deleted: it was paid for, but no list shows it.
    expect(told.filter((line) => /^[0-9a-f-]{36} succeeded$/.test(line))).to.have.lengthOf(1);
    expect(told).to.include('ended');
    expect(told.at(-1)).to.match(/^[0-9]{4}-[0-9]{2}-[0-9]{2} [1-9][0-9]*$/);
    expect(await sharp(readFileSync(join(folder, 'fog.png'))).metadata()).to.have.property('format', 'png');
  });

  it('has types that hold, and needs httpx alone', async () => {
    const { folder } = library as InstalledLibrary;
    const package_ = join(folder, 'darkroom_client');
    const used = `from darkroom_client import CreateRequest, Darkroom
from darkroom_client.types import GenerationTask
task: GenerationTask = Darkroom("http://localhost").generate({"model_key": "m", "prompt": "p"}).task
task["state"]  # type: ignore[typeddict-item]
request: CreateRequest = {"model_key": "m", "operation": "image_generation"}
Darkroom("http://localhost").estimate(request)
Darkroom("http://localhost").generate({"model_key": "m"})
Darkroom("http://localhost").create_generation({"model_key": "m"})  # type: ignore[typeddict-item]
`;
    writeFileSync(join(folder, 'used.py'), used);
    await python([
      '-m',
      'mypy',
      '--strict',
      '--warn-unused-ignores',
      '--cache-dir',
      join(folder, '.mypy'),
      package_,
      'used.py',
    ]);
    const asked = "import importlib.metadata; print('\\n'.join(importlib.metadata.requires('darkroom-client')))";
    const needed = (await python(['-c', asked])).trim().split('\n');
    expect(needed.filter((one) => !/^typing[_-]extensions.*python_version/.test(one))).to.deep.equal([
      'httpx<1,>=0.27',
    ]);
  });
});
