// Goal: `darkroom init --provider` writes what the examples in config/providers say, without what was not chosen; the result
// can be used at once; nothing is overwritten, and no key is written.
// Method: run it in empty folders, for every example and every model of it, with flags and with answers at a terminal;
// compare the files with the examples line by line, and check them with `darkroom catalog check`.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { ROOT } from '../../docs/pages.js';
import { CliRun, type Ran } from '../../harness/cli-run.js';

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
        '  npx darkroom providers check',
        '  npx darkroom serve',
        '  npx darkroom generate "a lighthouse at dusk" --model gpt-image --out first-picture.png',
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
        'npx darkroom providers check',
        'npx darkroom serve',
        'npx darkroom generate "a lighthouse at dusk" --model kling-turbo --out first-video.mp4',
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

  it('takes no key for the name of a file, and repeats it nowhere', async () => {
    expect(await init(['replicate', '--model', 'flux-schnell'], 'r8_secret\n')).to.deep.equal({
      code: 2,
      stdout: '',
      stderr:
        'File with the key of replicate (Enter to set it by a variable): darkroom: The answer is not the name of a file, and ' +
        'nothing was written; a key itself is set by DARKROOM_PROVIDERS_REPLICATE_API_KEY.\n',
    });
    expect(files()).to.deep.equal([]);
  });

  it('says of an answer that it is no address', async () => {
    const { code, stderr } = await init(['cog'], '127.0.0.1:5000\n');
    expect({ code, files: files() }).to.deep.equal({ code: 2, files: [] });
    expect(stderr).to.include(
      'darkroom: The address of the server must be an http or https URL without a user name and a query.',
    );
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
