import { expect } from 'chai';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadConfig } from '../../../apps/config/load-config.js';
import { capabilitiesJson, messageJson } from '../../../apps/operator/message-json.js';
import { operatorInProcess } from '../../../apps/operator/operator-client.js';
import { checkProviders } from '../../../apps/wiring/check-providers.js';
import { ROOT } from '../../docs/pages.js';
import { CannedProvider, connectedProviders, PROMISES } from '../../fixtures/scripted-provider.js';
import { CliRun, type Ran } from '../../harness/cli-run.js';
import { SdcppFake } from '../../providers/fakes/sdcpp-fake.js';
import { freePort } from '../../servers/free-port.js';
import { GrpcService } from './grpc-service.js';

// Goal: `darkroom providers check` reports the fault of each provider in one sentence, generates nothing, and ends;
// `darkroom providers list` prints the same on the stores and over gRPC.
// Method: command lines in this process, in a folder with its own configuration and catalog; fakes of sd-server, one
// that hangs, and a port where nothing listens.

const CATALOG = readFileSync(join(ROOT, 'config/providers/sdcpp.catalog.yaml'), 'utf8');

describe('darkroom providers check', () => {
  let folder: string;
  let fake: SdcppFake;
  let nowhere: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-check-'));
    fake = await SdcppFake.open();
    nowhere = `http://127.0.0.1:${await freePort()}`;
    configure(fake.url);
  });
  after(async () => {
    await fake.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** `sdcpp` has all models of the catalog, `spare` none. */
  function configure(url: string, more = ''): void {
    writeFileSync(join(folder, 'catalog.yaml'), CATALOG);
    writeFileSync(
      join(folder, 'darkroom.yaml'),
      [
        'catalog: catalog.yaml',
        'providers:',
        `  sdcpp: { kind: sdcpp, base_url: "${url}"${more} }`,
        `  spare: { kind: sdcpp, base_url: "${nowhere}" }`,
        '  own: { kind: sandbox }',
      ].join('\n'),
    );
  }

  const run = (...args: readonly string[]): Promise<Ran> => new CliRun(folder, ['providers', 'check', ...args]).ended;

  it('names what works, what does not answer, and what has nothing to check', async () => {
    const { code, stdout, stderr } = await run();
    expect(stdout.split('\n')).to.have.length(4);
    expect(stdout).to.match(/^sdcpp: ok \(sd-server with .+\)\n/);
    expect(stdout).to.include(
      `spare: Nothing answers at ${nowhere} (ECONNREFUSED); check base_url, and whether the server runs.\n`,
    );
    expect(stdout).to.include('own: there is nothing to check.\n');
    expect([code, stderr]).to.deep.equal([1, 'darkroom: 1 of 3 providers cannot be used as configured.\n']);
    expect(fake.server.posts, 'nothing is made').to.equal(0);
  });

  it('checks the named one alone, and shows what it promises of each model as JSON', async () => {
    const { code, stdout } = await run('sdcpp', '--json');
    const { providers } = JSON.parse(stdout) as {
      providers: { name: string; faults: string[]; models: { promises: object }[] }[];
    };
    expect([code, providers.map(({ name, faults }) => [name, faults])]).to.deep.equal([0, [['sdcpp', []]]]);
    expect(providers[0]?.models.length).to.be.above(0);
    for (const { promises } of providers[0]?.models ?? [])
      expect(promises).to.include({ is_asked_by: 'nothing', is_paid: false });
  });

  it('refuses another name, and says which are similar', async () => {
    expect(await run('sdccp')).to.deep.equal({
      code: 2,
      stdout: '',
      stderr: 'darkroom: There is no provider sdccp in the configuration; similar names are sdcpp.\n',
    });
    expect((await run('elsewhere')).stderr).to.include('the names are sdcpp, spare, own.');
  });

  it('reports options that cannot work, and checks the others', async () => {
    configure(fake.url, ', api_key_file: none.txt');
    const { code, stdout } = await run();
    configure(fake.url);
    expect(code).to.equal(1);
    expect(stdout).to.match(/^sdcpp: providers\.sdcpp\.api_key_file names a file that cannot be read \(ENOENT\)\.\n/);
    expect(stdout).to.include('own: there is nothing to check.');
  });

  it('shows the faults of a catalog that cannot be used', async () => {
    writeFileSync(join(folder, 'catalog.yaml'), 'version: 1\nmodels: []\n');
    const { code, stderr } = await run();
    configure(fake.url);
    expect([code, stderr.includes('catalog.yaml:2: models must have at least 1 item.')]).to.deep.equal([1, true]);
  });

  it('ends, when a server never answers', async () => {
    const config = await loadConfig({ folder, environment: {} });
    fake.server.plan({ type: 'hang' }, { of: 'check' });
    const [checked] = await checkProviders(config, { names: ['sdcpp'], timeoutMs: 50 });
    expect(checked?.faults).to.have.length(1);
    expect(checked?.faults[0]).to.match(/^It gave no answer within 0\.05 s\.$|was aborted\.$/);
  });
});

describe('darkroom catalog check', () => {
  it('shows who makes each model and what it promises, and warns on stderr with the line', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-check-'));
    const catalog = readFileSync(join(ROOT, 'config/providers/replicate.catalog.yaml'), 'utf8');
    const risky = catalog.replace(/^ {4}provider: .*$/m, '    on_unknown_acceptance: resubmit\n$&');
    writeFileSync(join(folder, 'catalog.yaml'), risky);
    writeFileSync(
      join(folder, 'darkroom.yaml'),
      readFileSync(join(ROOT, 'config/providers/replicate.yaml'), 'utf8').replace(
        'replicate.catalog.yaml',
        'catalog.yaml',
      ),
    );
    const { code, stdout, stderr } = await new CliRun(folder, ['catalog', 'check']).ended;
    const line = risky.slice(0, risky.indexOf('on_unknown_acceptance: resubmit')).split('\n').length;
    rmSync(folder, { recursive: true, force: true });
    expect(code, 'a warning is no fault').to.equal(0);
    expect(stderr).to.match(
      new RegExp(`^darkroom: \\S+catalog\\.yaml:${line}: on_unknown_acceptance: resubmit may pay`),
    );
    expect(stderr.trim().split('\n')).to.have.length(1);
    expect(stdout).to.match(/ is right: \d+ models \(/);
    expect(stdout).to.match(/ +replicate +1 +cannot be asked after a lost answer; .+; paid$/m);
  });
});

describe('darkroom catalog check --explain', () => {
  it('prints a catalog that it explains in the same words, and nothing else on stdout', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-explain-'));
    const least =
      'version: 1\nmodels:\n  - { model_key: m, price: 4, provider: sandbox, provider_settings: { painter: image } }\n';
    writeFileSync(join(folder, 'least.yaml'), least);
    const explain = (file: string, ...more: string[]) =>
      new CliRun(folder, ['catalog', 'check', file, '--explain', ...more]).ended;
    const first = await explain('least.yaml');
    writeFileSync(join(folder, 'explained.yaml'), first.stdout);
    const second = await explain('explained.yaml');
    const asJson = await explain('explained.yaml', '--json');
    rmSync(folder, { recursive: true, force: true });
    expect(first).to.include({ code: 0, stderr: '' });
    expect(first.stdout).to.include('    max_attempts: 2\n');
    expect(second.stdout).to.equal(first.stdout);
    expect((JSON.parse(asJson.stdout) as { explained: string }).explained).to.equal(first.stdout);
  });
});

describe('darkroom providers list', () => {
  let grpc: GrpcService;
  before(async () => {
    grpc = await GrpcService.open({
      ports: {
        providers: connectedProviders(
          { canned: new CannedProvider(new Uint8Array()), unused: new CannedProvider(new Uint8Array()) },
          { canned: { maxConcurrent: 3, maxSubmissionsPerMinute: 60 } },
        ),
      },
    });
    const now = grpc.harness.clock.now();
    const health = {
      circuit: 'paused',
      pausedUntil: now + 30_000,
      lastError: { at: now - 5, message: 'GET http://10.0.0.7:1234/queue: \u001b[2J reset' },
      medianSubmitMs: 412,
      fault: { kind: 'silent', count: 5, since: now - 9_000 },
      lastCallAt: now - 5,
    } as const;
    await grpc.harness.context.providerUses.replace(
      {
        provider: 'canned',
        version: 1,
        shares: [{ worker: 'one', slots: 2, inUse: 1, wanted: 4, health, renewedAt: now, expiresAt: now + 10_000 }],
        idle: [{ worker: 'two', health: { circuit: 'closed' }, seenAt: now - 600_000 }],
        submissions: { thousandths: 0, refilledAt: now },
      },
      0,
    );
  });
  after(() => grpc.close());

  it('is over gRPC what it is on the stores', async () => {
    const listed = await operatorInProcess(grpc.harness.context).operations.listProviders({});
    const { stdout } = await grpc.operate(['providers', 'list', '--json']);
    expect(JSON.parse(stdout)).to.deep.equal(messageJson(listed));
    const first = messageJson(listed.providers[0]);
    expect(first).to.include({ circuit: 'paused', tasks: 1, waiting: 3, state: 'paused' });
    expect(first).to.have.nested.property('models[0].promises').that.deep.equals(capabilitiesJson(PROMISES));
    expect(capabilitiesJson(PROMISES)).to.deep.equal({
      answers_with_outputs: false,
      is_asked_by: 'token',
      takes_token_once: true,
      settle_ms: 0,
      cancels: 'running',
      is_paid: false,
    });
  });

  it('shows state, limits, promises and the last error as text, on one line each', async () => {
    const { code, stdout } = await grpc.operate(['providers']);
    expect(code).to.equal(0);
    expect(stdout).to.match(/^PROVIDER +KIND +STATE +TASKS +WAITING +LIMITS +SUBMIT +MODELS\n/);
    expect(stdout).to.match(/^canned +scripted +paused +1 +3 +3 tasks, 60 a minute +412 ms +picture /m);
    expect(stdout).to.match(/^ {2}asked after a lost answer; takes a task once; stops running tasks; not paid$/m);
    expect(stdout).to.match(/^ {2}worker one: paused until \S+Z, 1 task, 3 waiting$/m);
    expect(stdout).to.match(/^ {4}\S+Z GET http:\/\/10\.0\.0\.7:1234\/queue: .*reset$/m);
    expect(stdout).to.not.include('\u001b');
    expect(stdout).to.match(/^ {2}worker two: last seen \S+Z, working then$/m);
    expect(stdout).to.match(
      /^canned: paused, until \S+Z, failing since \S+Z\. 5 calls in a row had no usable answer: GET 10\.0\.0\.7:1234 {2,}\[2J reset\.$/m,
    );
    expect(stdout).to.match(/^unused: idle\. Ready\. Not used in the last hour\.\n {2}no model has it in its route$/m);
    expect(stdout).to.not.match(/\bclosed\b/);
  });

  it('shows how many masks a model takes, over gRPC as on the stores', async () => {
    const canned = grpc.harness.context.providers.find('canned');
    if (canned === undefined) throw new Error('There is no such provider.');
    for (const [maxMaskedReferences, words] of [
      [1, 'takes 1 mask'],
      [3, 'takes 3 masks'],
    ] as const) {
      Object.assign(canned, { capabilities: () => ({ ...PROMISES, maxMaskedReferences }) });
      const listed = await operatorInProcess(grpc.harness.context).operations.listProviders({});
      const asJson = JSON.parse((await grpc.operate(['providers', 'list', '--json'])).stdout) as object;
      expect(asJson).to.deep.equal(messageJson(listed));
      expect(asJson).to.have.nested.property(
        'providers[0].models[0].promises.max_masked_references',
        maxMaskedReferences,
      );
      expect(asJson).to.not.have.nested.property('providers[0].models[0].promises.needs_mask');
      expect((await grpc.operate(['providers'])).stdout).to.include(`stops running tasks; ${words}; not paid\n`);
    }
    for (const [maxMaskedReferences, words] of [
      [1, 'needs a mask'],
      [3, 'needs 1 to 3 masks'],
    ] as const) {
      Object.assign(canned, { capabilities: () => ({ ...PROMISES, maxMaskedReferences, needsMask: true }) });
      const { stdout } = await grpc.operate(['providers', 'list', '--json']);
      expect(JSON.parse(stdout)).to.have.nested.property('providers[0].models[0].promises.needs_mask', true);
      expect((await grpc.operate(['providers'])).stdout).to.include(`stops running tasks; ${words}; not paid\n`);
    }
  });

  it('needs the scope operations:read', async () => {
    const { code, stderr } = await grpc.operate(['providers', 'list'], 'reader');
    expect([code, stderr.includes('operations:read')]).to.deep.equal([3, true]);
  });
});

// Goal: `darkroom init --provider` writes what the examples in config/providers say, without the options that were not
// chosen; the result can be used at once; nothing is overwritten, and no key is written.
// Method: run it in empty folders, for every example and every model of it, with flags and with answers at a terminal;
// compare the files with the examples line by line, and check them with `darkroom catalog check`.

const EXAMPLES = join(ROOT, 'config/providers');
const WORKFLOW = join(EXAMPLES, 'workflows/sdxl.json');
const ADDRESS = 'https://pictures.example/base';
const NAMES = readdirSync(EXAMPLES)
  .filter((file) => file.endsWith('.catalog.yaml'))
  .map((file) => file.replace('.catalog.yaml', ''));

interface ExampleConfig {
  readonly providers: Readonly<Record<string, { readonly base_url?: string; readonly servers?: readonly string[] }>>;
}

interface ExampleCatalog {
  readonly models: readonly { readonly model_key: string; readonly provider: string }[];
}

function textOf(name: string): string {
  return readFileSync(join(EXAMPLES, name), 'utf8');
}

describe('darkroom init --provider', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-init-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const init = (args: readonly string[], answers?: string): Promise<Ran> =>
    new CliRun(folder, ['init', '--provider', ...args], answers === undefined ? {} : { columns: 100, stdin: answers })
      .ended;
  const written = (name: string) => readFileSync(join(folder, name), 'utf8');
  const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();

  async function expectUsable(models: readonly string[]): Promise<void> {
    const checked = await new CliRun(folder, ['catalog', 'check', '--json']).ended;
    expect(checked.stderr).to.equal('');
    expect(JSON.parse(checked.stdout)).to.have.property('models').that.deep.equals(models);
  }

  for (const name of NAMES) {
    const config = parse(textOf(`${name}.yaml`)) as ExampleConfig;
    const { models } = parse(textOf(`${name}.catalog.yaml`)) as ExampleCatalog;

    for (const [instance, { base_url: url, servers: [server] = [] }] of Object.entries(config.providers)) {
      const keys = models.filter(({ provider }) => provider === instance).map(({ model_key: key }) => key);
      const shown = url ?? server;
      const flags = shown === undefined ? [] : ['--base-url', ADDRESS];

      it(`writes the example of ${name} for ${instance}, with its address`, async () => {
        const ran = await init([name, ...flags, ...keys.flatMap((key) => ['--model', key])]);
        expect(ran.stderr).to.equal('');
        await expectUsable(keys);
        const expected = textOf(`${name}.yaml`)
          .replace(`catalog: ${name}.catalog.yaml`, 'catalog: catalog.yaml')
          .replace(shown ?? ADDRESS, ADDRESS)
          .split('\n');
        expect(
          written('darkroom.yaml')
            .split('\n')
            .filter((line) => !expected.includes(line)),
        ).to.deep.equal([]);
        expect(parse(written('darkroom.yaml'))).to.deep.equal({
          catalog: 'catalog.yaml',
          providers: {
            [instance]: parse(textOf(`${name}.yaml`).replace(shown ?? ADDRESS, ADDRESS)).providers[instance],
          },
        });
        if (keys.length === models.length) {
          expect(written('darkroom.yaml').split('\n')).to.deep.equal(expected);
          expect(written('catalog.yaml')).to.equal(textOf(`${name}.catalog.yaml`));
        }
      });

      for (const key of keys)
        it(`writes the model ${key} of ${name} alone`, async () => {
          expect(await init([name, ...flags, '--model', key])).to.deep.include({ code: 0, stderr: '' });
          await expectUsable([key]);
          const lines = textOf(`${name}.catalog.yaml`).split('\n');
          expect(
            written('catalog.yaml')
              .split('\n')
              .filter((line) => !lines.includes(line)),
          ).to.deep.equal([]);
          expect(parse(written('catalog.yaml'))).to.deep.equal({
            version: 1,
            models: models.filter(({ model_key: known }) => known === key),
          });
        });
    }
  }

  it('shows what was written, where the key goes, and the next three commands', async () => {
    expect(await init(['openai', '--model', 'gpt-image'])).to.deep.equal({
      code: 0,
      stdout: [
        'Written: darkroom.yaml, catalog.yaml.',
        'The key is not written: set DARKROOM_PROVIDERS_OPENAI_API_KEY to it, or name a file that has it in api_key_file of darkroom.yaml.',
        '',
        'Next, the last one in another terminal:',
        '  darkroom providers check',
        '  darkroom serve',
        '  darkroom generate "a lighthouse at dusk" --model gpt-image --out first-picture.png',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('says the same as JSON', async () => {
    const { stdout } = await init(['fal', '--model', 'kling-turbo', '--api-key-file', '/run/secrets/fal', '--json']);
    expect(JSON.parse(stdout)).to.deep.equal({
      provider: 'fal',
      kind: 'fal',
      files: ['darkroom.yaml', 'catalog.yaml'],
      models: ['kling-turbo'],
      key_file: '/run/secrets/fal',
      next: [
        'darkroom providers check',
        'darkroom serve',
        'darkroom generate "a lighthouse at dusk" --model kling-turbo --start-frame picture.png --out first-video.mp4',
      ],
    });
    expect(parse(written('darkroom.yaml'))).to.deep.include({
      providers: { fal: { kind: 'fal', api_key_file: '/run/secrets/fal' } },
    });
  });

  it('asks at a terminal for what the flags leave out', async () => {
    const { code, stderr } = await init(['comfyui'], '\nsdxl wan-video\nhttp://10.0.0.5:8188\n');
    expect({ code, files: files() }).to.deep.equal({
      code: 0,
      files: ['catalog.yaml', 'darkroom.yaml', 'workflows', 'workflows/sdxl.json', 'workflows/wan-video.json'],
    });
    expect(stderr).to.match(/^File with a workflow in API format \(Enter for models of the example\): MODEL/);
    expect(stderr).to.include('Models (sdxl, sdxl-edit, wan-video): Address of the server (http://127.0.0.1:8188): ');
    expect(written('darkroom.yaml')).to.include('servers: [http://10.0.0.5:8188]');
    await expectUsable(['sdxl', 'wan-video']);
  });

  it('takes what it proposes at Enter: the models of one provider, and a key by a variable', async () => {
    expect((await init(['openai'], '\n\n')).code).to.equal(0);
    await expectUsable(['gpt-image']);
    expect(written('darkroom.yaml')).not.to.match(/^ *api_key/m);
  });

  it('asks for a file with the key, and writes its name', async () => {
    writeFileSync(join(folder, 'key of mine.txt'), 'r8_test');
    expect((await init(['replicate', '--model', 'flux-schnell'], 'key of mine.txt\n')).code).to.equal(0);
    expect(parse(written('darkroom.yaml'))).to.have.nested.property(
      'providers.replicate.api_key_file',
      'key of mine.txt',
    );
  });

  it('does not take a key for the name of a file, does not repeat it, and asks again', async () => {
    const question = 'File with the key of replicate (Enter to set it by a variable): ';
    const { code, stderr, stdout } = await init(['replicate', '--model', 'flux-schnell'], 'r8_secret\n\n');
    expect({ code, stderr }).to.deep.equal({
      code: 0,
      stderr:
        `${question}The answer is not the name of a file, and is not kept; a key itself is set by ` +
        `DARKROOM_PROVIDERS_REPLICATE_API_KEY.\n${question}`,
    });
    expect(stdout + written('darkroom.yaml')).not.to.include('r8_secret');
  });

  it('asks again after an answer that is not an address', async () => {
    expect(await init(['cog'], '127.0.0.1:5000\n')).to.deep.include({ code: 130, stdout: '' });
    expect(files()).to.deep.equal([]);
    const { code, stderr } = await init(['cog'], '127.0.0.1:5000\nhttp://127.0.0.1:5001\n');
    expect(code).to.equal(0);
    expect(stderr).to.include(
      'The address of the server must be an http or https URL without a user name and a query.\nAddress of the server',
    );
    expect(written('darkroom.yaml')).to.include('http://127.0.0.1:5001');
  });

  it('asks again after an unknown model and after a file without a workflow', async () => {
    writeFileSync(join(folder, 'notes.json'), '{"notes": []}');
    const answers = 'none.json\nnotes.json\n\nsdxl, sdxx\nsdxl\nhttp://10.0.0.5:8188\n';
    const { code, stderr } = await init(['comfyui'], answers);
    expect(code).to.equal(0);
    expect(stderr).to.include('none.json cannot be read (ENOENT).\n');
    expect(stderr.split('File with a workflow').length).to.equal(4);
    expect(stderr).to.include('The example has no model sdxx; it has sdxl, sdxl-edit, wan-video.\nModels (');
    await expectUsable(['sdxl']);
  });

  it('writes nothing when the answers end too early', async () => {
    expect(await init(['comfyui'], '\nsdxl\n')).to.deep.include({ code: 130, stdout: '' });
    expect(files()).to.deep.equal([]);
  });

  it('proposes the catalog for a workflow, and copies one from elsewhere', async () => {
    expect((await init(['comfyui', '--import', WORKFLOW, '--base-url', ADDRESS])).stdout).to.include(
      'Read catalog.yaml first: it says what you should check.',
    );
    expect(files()).to.deep.equal(['catalog.yaml', 'darkroom.yaml', 'sdxl.json']);
    expect(written('sdxl.json')).to.equal(readFileSync(WORKFLOW, 'utf8'));
    await expectUsable(['sdxl']);
  });

  it('shows how to give the files that a workflow needs, where the model to try needs any', async () => {
    const edit = await init(['comfyui', '--model', 'sdxl-edit', '--base-url', ADDRESS]);
    expect(edit.stdout).to.match(/--model sdxl-edit --reference picture\.png --out first-picture\.png\n$/);
    for (const file of files()) rmSync(join(folder, file), { recursive: true, force: true });
    const words = await init(['comfyui', '--model', 'sdxl', '--model', 'sdxl-edit', '--base-url', ADDRESS]);
    expect(words.stdout).to.match(/--model sdxl --out first-picture\.png\n$/);
  });

  it('takes several servers of ComfyUI with commas', async () => {
    await init(['comfyui', '--model', 'sdxl', '--base-url', 'http://a:8188, http://[::1]:8188']);
    expect(parse(written('darkroom.yaml')))
      .to.have.nested.property('providers.comfyui.servers')
      .that.deep.equals(['http://a:8188', 'http://[::1]:8188']);
  });

  const refusals: readonly (readonly [args: readonly string[], sentence: string])[] = [
    [['comfi'], `There is no example of a provider comfi; there are ${NAMES.toSorted().join(', ')}.`],
    [['../catalog'], `There is no example of a provider ../catalog; there are ${NAMES.toSorted().join(', ')}.`],
    [['cog'], '--base-url is missing: the address of the server, such as http://127.0.0.1:5000.'],
    [['fal'], '--model is missing: one or more of flux-schnell, flux-kontext, flux-fill, kling-turbo.'],
    [
      ['comfyui'],
      '--model is missing: one or more of sdxl, sdxl-edit, wan-video; or --import names a workflow in API format.',
    ],
    [
      ['fal', '--model', 'flux'],
      'The example has no model flux; it has flux-schnell, flux-kontext, flux-fill, kling-turbo.',
    ],
    [
      ['openai', '--model', 'gpt-image', '--model', 'studio-image'],
      'gpt-image, studio-image are of different providers; name those of one.',
    ],
    [
      ['cog', '--base-url', 'http://me:secret@example'],
      '--base-url must be an http or https URL without a user name and a query.',
    ],
    [['fal', '--import', 'x.json'], '--import is not for fal: its models are written by hand.'],
    [['comfyui', '--import', 'x.json'], 'x.json cannot be read (ENOENT).'],
    [['comfyui', '--import', 'x.json', '--model', 'sdxl'], '--import and --model may not both be given.'],
    [
      ['cog', '--account', 'studio'],
      '--provider only writes files: give --account, --credits and --config to another darkroom init.',
    ],
  ];
  for (const [args, sentence] of refusals)
    it(`refuses ${args.join(' ')} in one sentence`, async () => {
      expect(await init(args)).to.deep.equal({ code: 2, stdout: '', stderr: `darkroom: ${sentence}\n` });
      expect(files()).to.deep.equal([]);
    });

  it('refuses flags that need a provider', async () => {
    const { code, stderr } = await new CliRun(folder, ['init', '--model', 'sdxl']).ended;
    expect(code).to.equal(2);
    expect(stderr).to.include('need --provider');
    expect(files()).to.deep.equal([]);
  });

  it('leaves no file when what it wrote cannot be used', async () => {
    const { code, stderr } = await init(['fal', '--model', 'flux-schnell', '--api-key-file', ' ']);
    expect({ code, files: files() }).to.deep.equal({ code: 1, files: [] });
    expect(stderr).to.match(/^darkroom: darkroom\.yaml:\d+: providers\.fal\.api_key_file must be .+\n$/);
  });

  for (const taken of ['darkroom.yaml', 'catalog.yaml'])
    it(`leaves ${taken} as it is, and says so before it asks`, async () => {
      writeFileSync(join(folder, taken), 'mine');
      expect(await init(['fal'], '')).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `darkroom: ${taken} is in this folder already, and nothing is overwritten.\n`,
      });
      expect({ files: files(), text: written(taken) }).to.deep.equal({ files: [taken], text: 'mine' });
    });
});
