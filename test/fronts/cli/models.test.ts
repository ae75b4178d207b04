/**
 * Goal: `darkroom models add` puts exactly one checked entry into the catalog, or changes no file at all and says why in one
 * sentence; `list`, `diff` and `remove` say and do what they announce.
 * Method: command lines in this process, in folders of their own; small schemas, and a fake of fal's API.
 */
import { expect } from 'chai';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { JsonObject } from '../../../core/json.js';
import { ROOT } from '../../docs/pages.js';
import { CONTAINER, falAnswer, PAINTER } from '../../adapters/model-import/vendor-answers.js';
import { CliRun, type Ran, type RunOptions } from '../../harness/cli-run.js';
import { CogFake } from '../../providers/fakes/cog-fake.js';
import { FalFake } from '../../providers/fakes/fal-fake.js';
import { OpenAiFake } from '../../providers/fakes/openai-fake.js';
import { ReplicateFake } from '../../providers/fakes/replicate-fake.js';

const REF = `fal:${PAINTER.id}`;
const ANSWER = JSON.stringify(PAINTER.document);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'darkroom-models-'));
  write('answer.json', ANSWER);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

function read(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

/** All files and their texts. */
function files(): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, read(name)]));
}

function models(...args: readonly string[]): Promise<Ran> {
  return new CliRun(folder, ['models', ...args]).ended;
}

/** At a terminal, or with variables. */
function modelsWith(options: RunOptions & { readonly columns?: number }, ...args: readonly string[]): Promise<Ran> {
  return new CliRun(folder, ['models', ...args], options).ended;
}

function add(...args: readonly string[]): Promise<Ran> {
  return models('add', REF, '--schema', 'answer.json', '--price', '4', ...args);
}

interface Entry {
  readonly model_key: string;
  readonly provider: string;
  readonly origin?: JsonObject;
}

function entries(name = 'catalog.yaml'): readonly Entry[] {
  return (parse(read(name)) as { readonly models: readonly Entry[] }).models;
}

/** The command fails with this sentence, and no file has changed. */
async function refused(ran: () => Promise<Ran>, sentence: RegExp, code = 1): Promise<void> {
  const before = files();
  const { code: ended, stderr } = await ran();
  const lines = stderr.trim().split('\n');
  expect(lines.at(-1)).to.match(sentence);
  expect([ended, files()]).to.deep.equal([code, before]);
}

describe('darkroom models add', () => {
  it('writes a configuration and a catalog into an empty folder, which the service accepts', async () => {
    const { code, stdout } = await add('--yes');
    expect(code).to.equal(0);
    expect(read('darkroom.yaml')).to.equal('catalog: catalog.yaml\nproviders:\n  fal:\n    kind: fal\n');
    const [entry, ...others] = entries();
    expect([entry?.model_key, entry?.provider, others]).to.deep.equal(['painter-one', 'fal', []]);
    expect(entry?.origin).to.include({ ref: REF });
    expect(entry?.origin?.['options']).to.deep.equal({ price: '4' });
    expect(stdout).to.include('painter-one is in catalog.yaml; also written: darkroom.yaml.');
    expect(stdout).to.include('Set DARKROOM_PROVIDERS_FAL_API_KEY to the key of fal');
    expect((await new CliRun(folder, ['catalog', 'check']).ended).code).to.equal(0);
  });

  it('shows the entry, what was guessed and what is not sent, and asks before it writes', async () => {
    const yes = await modelsWith(
      { columns: 100, stdin: 'yes\n' },
      'add',
      REF,
      '--schema',
      'answer.json',
      '--price',
      '4',
    );
    expect(yes.stdout).to.match(/^model_key: painter-one\n/);
    expect(yes.stdout).to.match(/\nPrice: 4 credits per image, by --price\.\n/);
    expect(yes.stdout).to.match(/\nGuessed:\n {2}- .+/);
    expect(yes.stdout).to.match(/\nNot sent:\n(?: {2}- .+\n)* {2}- num_inference_steps: /);
    expect(yes.stderr).to.equal('Write it to catalog.yaml and darkroom.yaml? yes or no (no): ');
    expect([yes.code, entries().length]).to.deep.equal([0, 1]);
  });

  it('changes nothing after another answer, an early end, or where nobody can be asked', async () => {
    const asked = ['add', REF, '--schema', 'answer.json', '--price', '4'];
    await refused(() => modelsWith({ columns: 100, stdin: '\n' }, ...asked), /Nothing was written\.$/, 130);
    await refused(() => modelsWith({ columns: 100, stdin: '' }, ...asked), /Nothing was written\.$/, 130);
    await refused(() => models(...asked), /^darkroom: Nothing was written: .* --yes is needed\.$/, 2);
  });

  it('appends to a catalog with all its comments, and adds the provider to the configuration', async () => {
    const catalog = `# Ours.
version: 1
models:
  # Made here.
  - model_key: own # the first
    provider: sandbox
    provider_settings: { painter: image }
    price: 3
# The end.
`;
    write('models.yaml', catalog);
    write('darkroom.yaml', '# Here.\ncatalog: models.yaml # ours\nrest:\n  port: 8090\n');
    chmodSync(join(folder, 'models.yaml'), 0o640);
    expect((await add('--yes')).code).to.equal(0);
    const [head = '', tail] = catalog.split('# The end.\n');
    expect(read('models.yaml').startsWith(`${head}\n  # Guessed: `)).to.equal(true);
    expect(read('models.yaml').endsWith(`# The end.\n${tail}`)).to.equal(true);
    expect(entries('models.yaml').map(({ model_key: key }) => key)).to.deep.equal(['own', 'painter-one']);
    expect(statSync(join(folder, 'models.yaml')).mode & 0o777).to.equal(0o640);
    expect(read('darkroom.yaml')).to.equal(
      '# Here.\ncatalog: models.yaml # ours\nrest:\n  port: 8090\nproviders:\n  sandbox:\n    kind: sandbox\n  fal:\n    kind: fal\n',
    );
  });

  it('uses a configured provider of the kind under its own name, and asks which of several', async () => {
    write('darkroom.yaml', 'catalog: catalog.yaml\nproviders:\n  studio: { kind: fal } # ours\n');
    const before = read('darkroom.yaml');
    expect((await add('--yes')).code).to.equal(0);
    expect([entries()[0]?.provider, read('darkroom.yaml')]).to.deep.equal(['studio', before]);
    write('darkroom.yaml', `${before}  spare: { kind: fal }\n`);
    await refused(
      () => add('--yes', '--key', 'b'),
      /studio and spare are providers of kind fal; --provider says which/,
      2,
    );
    expect((await add('--yes', '--key', 'b', '--provider', 'spare')).code).to.equal(0);
    expect(entries().map(({ provider }) => provider)).to.deep.equal(['studio', 'spare']);
    write('darkroom.yaml', 'catalog: catalog.yaml\nproviders:\n  fal: { kind: sandbox }\n');
    await refused(
      () => add('--yes', '--key', 'c'),
      /has a provider fal already.*--provider gives the new one a name/,
      2,
    );
  });

  it('takes the address of a page in place of a name, and records the name', async () => {
    const pages = [
      `https://fal.ai/models/${PAINTER.id}`,
      `fal:https://www.fal.ai/models/${PAINTER.id}/api?platform=http#about`,
      `fal:${PAINTER.id}/`,
    ];
    write('catalog.yaml', '\n');
    write('darkroom.yaml', '');
    for (const [index, page] of pages.entries()) {
      const ran = await models('add', page, '--schema', 'answer.json', '--price', '4', '--yes', '--key', `m${index}`);
      expect([ran.code, ran.stderr]).to.deep.equal([0, '']);
      expect(entries()[index]?.origin).to.have.property('ref', REF);
    }
  });

  it('takes an OpenAPI document alone, as fal offers it for download', async () => {
    const {
      models: [model],
    } = PAINTER.document as unknown as { readonly models: readonly [JsonObject] };
    write('answer.json', JSON.stringify(model['openapi']));
    expect((await add('--yes')).code).to.equal(0);
  });

  it('refuses a key that is taken, and takes another', async () => {
    await add('--yes');
    await refused(() => add('--yes'), /has a model painter-one already: .*--key painter-one-2/);
    expect((await add('--yes', '--key', 'painter-one-2')).code).to.equal(0);
    expect(entries().map(({ model_key: key }) => key)).to.deep.equal(['painter-one', 'painter-one-2']);
  });

  it('leaves all files as they were when the catalog or the configuration has a fault', async () => {
    write('darkroom.yaml', 'catalog: catalog.yaml\nproviders:\n  fal: { kind: fal }\n');
    for (const [text, sentence] of [
      ['version: 1\nmodels:\n  - model_key: own\n    provider: nobody\n    price: 3\n', /must be a connected provider/],
      ['version: 1\nmodels: {}\n', /models must be/],
      ['version: 1\nmodels:\n  - a: [\n', /cannot be read/],
      ['[]\n', /must be an object/],
    ] as const) {
      write('catalog.yaml', text);
      await refused(() => add('--yes'), sentence);
    }
    rmSync(join(folder, 'catalog.yaml'));
    write('darkroom.yaml', 'catalog: catalog.yaml\nprovider: []\n');
    await refused(() => add('--yes'), /provider is not a key of the configuration/);
    write('darkroom.yaml', 'catalog: catalog.yaml\nproviders: []\n');
    await refused(() => add('--yes'), /providers must hold keys with values/);
  });

  it('never repeats a key, and takes it from the variable of a provider that is not configured yet', async () => {
    const environment = { DARKROOM_PROVIDERS_FAL_API_KEY: 'id:secret-of-fal' };
    const ran = await modelsWith(
      { environment },
      'add',
      REF,
      '--schema',
      'answer.json',
      '--price',
      '4',
      '--yes',
      '--json',
    );
    expect(ran.code).to.equal(0);
    const shown = JSON.parse(ran.stdout) as { readonly notes: readonly string[]; readonly files: readonly string[] };
    expect(shown.files).to.deep.equal(['catalog.yaml', 'darkroom.yaml']);
    expect(shown.notes).to.deep.equal([
      'The key is not written: the service needs DARKROOM_PROVIDERS_FAL_API_KEY too.',
    ]);
    expect(JSON.stringify([ran, files()])).not.to.include('secret-of-fal');
  });

  it('names another file for each picture that the model needs, and says that one needs transparent areas', async () => {
    const picture = { type: 'string' };
    const fields = { person_image_url: picture, garment_image_url: picture, mask_url: picture };
    const input = { type: 'object', properties: fields, required: Object.keys(fields) };
    write('answer.json', JSON.stringify(falAnswer(PAINTER.id, input, { category: 'image-to-image' })));
    const { stdout } = await add('--yes');
    expect(stdout).to.include(
      '--model painter-one --reference picture.png --reference picture-2.png --out first-picture',
    );
    expect(stdout).to.include('The reference picture needs transparent areas: they are made anew.');
    expect((await new CliRun(folder, ['catalog', 'check']).ended).stdout).to.match(/needs a mask; paid$/m);
  });

  it('adds a workflow of ComfyUI with a copy of its file, and compares the entry with the copy later', async () => {
    const workflow = join(ROOT, 'config/providers/workflows/sdxl-edit.json');
    await refused(() => models('add', `comfyui:${workflow}`, '--price', '0.5'), /--yes is needed/, 2);
    const { code, stdout } = await models('add', `comfyui:${workflow}`, '--price', '0.5', '--yes');
    expect(code).to.equal(0);
    expect(stdout).to.include('also written: darkroom.yaml, sdxl-edit.json.');
    expect(read('sdxl-edit.json')).to.equal(readFileSync(workflow, 'utf8'));
    expect(read('darkroom.yaml')).to.include('    servers:\n      - http://127.0.0.1:8188\n');
    expect(entries()[0]).to.deep.include({ model_key: 'sdxl-edit', provider: 'comfyui' });
    expect(entries()[0]?.origin).to.include({ ref: 'comfyui:sdxl-edit.json' });
    expect((await new CliRun(folder, ['catalog', 'check']).ended).code).to.equal(0);
    const upstream = async () => (await models('list')).stdout.trim().split(/ {2,}/).at(-1);
    expect(await upstream()).to.equal('same');
    expect((await models('diff', 'sdxl-edit')).code).to.equal(0);
    write('sdxl-edit.json', `${read('sdxl-edit.json')}\n`);
    expect(await upstream()).to.equal('changed');
    rmSync(join(folder, 'darkroom.yaml'));
    rmSync(join(folder, 'catalog.yaml'));
    await refused(() => models('add', `comfyui:${workflow}`, '--price', '4', '--yes'), /is another file already/, 2);
  });

  const REFUSALS: readonly (readonly [args: readonly string[], sentence: RegExp, code: number])[] = [
    [['flux'], /does not name a model: write fal:<endpoint>, replicate:/, 2],
    [['fal-ai/flux/dev'], /does not name a model: write fal:fal-ai\/flux\/dev\.$/, 2],
    [['acme/own'], /does not name a model: write fal:acme\/own or replicate:acme\/own\.$/, 2],
    [['https://fal.example/models/a/b'], /does not name a model: write fal:<endpoint>, replicate:/, 2],
    [['fal:one'], /does not name a model of fal: write fal:<endpoint>, such as/, 2],
    [['replicate:a/b:c'], /does not name a model of replicate/, 2],
    [['cog:http://user:secret@host'], /does not name a model of cog/, 2],
    [[REF, '--price', '-1'], /--price must be a number of credits/, 2],
    [[REF, '--price', '1e3'], /--price must be a number of credits/, 2],
    [[REF, '--price', '9000000001'], /--price must be a number of credits up to 9000000000 with/, 2],
    [[REF, '--markup', '0'], /--markup must be a number above 0/, 2],
    [[REF, '--markup', '0.0000001'], /--markup must be .* with at most 6 decimal places/, 2],
    [[REF, '--markup', '1000001'], /--markup must be .* at most 1000000/, 2],
    [[REF, '--dollar-credits', 'many'], /--dollar-credits must be a number above 0/, 2],
    [[REF, '--set', 'references'], /--set must be a field and its value/, 2],
    [[REF, '--key', 'A B'], /--key must have/, 2],
    [[REF, '--provider', 'A'], /--provider must be a name/, 2],
    [[REF, '--schema', 'none.json'], /There is no file none\.json/, 2],
    [[REF, '--schema', 'text.json'], /text\.json is not JSON/, 1],
    [[REF, '--schema', 'other.json', '--price', '4'], /not about fal-ai\/painter\/one/, 1],
    [['comfyui:answer.json'], /give --price/, 2],
    [['comfyui:answer.json', '--price', '4'], /workflow/i, 1],
    [['comfyui:none.json', '--price', '4'], /There is no file none\.json/, 2],
  ];
  for (const [args, sentence, code] of REFUSALS) {
    it(`refuses ${args.join(' ')} in one sentence`, async () => {
      write('text.json', 'no json');
      write('other.json', JSON.stringify(falAnswer('fal-ai/other', {})));
      await refused(() => models('add', ...args, '--yes'), sentence, code);
    });
  }

  it('asks for a price where the vendor names none', async () => {
    await refused(() => models('add', REF, '--schema', 'answer.json', '--yes'), /--price/);
  });

  it('names what is missing, and stands beside the list of a server', async () => {
    expect((await models('add')).stderr).to.include("missing required argument 'ref'");
    expect((await models('--url', 'nowhere', 'painter')).stderr).to.include("The server's address must be");
  });
});

describe('darkroom models with the API of a vendor', () => {
  let fake: FalFake;
  before(async () => {
    fake = await FalFake.open();
  });
  after(() => fake.close());
  beforeEach(() => {
    fake.describe(painter(), { unit_price: 0.003, unit: 'megapixels', currency: 'USD' });
    write(
      'darkroom.yaml',
      `catalog: catalog.yaml\nproviders:\n  fal: { kind: fal, platform_url: "${fake.platform}" }\n`,
    );
  });

  function painter(): JsonObject {
    return (JSON.parse(ANSWER) as { readonly models: readonly [JsonObject] }).models[0];
  }

  /** The catalog with its first model once more, under another key. */
  function withCopyOfFirst(text: string, key: string): string {
    const catalog = parse(text) as { readonly models: readonly JsonObject[] };
    return JSON.stringify({ ...catalog, models: [...catalog.models, { ...catalog.models[0], model_key: key }] });
  }

  const withKey = (...args: readonly string[]): Promise<Ran> =>
    modelsWith({ environment: { DARKROOM_PROVIDERS_FAL_API_KEY: fake.key } }, ...args);

  it('computes the price from the one that fal names to the key, by the value of a dollar and a markup', async () => {
    const { code, stdout } = await withKey('add', REF, '--yes');
    expect([code, stdout]).to.match(
      /^0,[^]*\nPrice: 0\.39 credits per megapixel: 0\.003 USD at fal x 100 credits per dollar x 1\.3\.\n/,
    );
    expect(
      (await withKey('add', REF, '--yes', '--key', 'b', '--dollar-credits', '1000', '--markup', '2')).code,
    ).to.equal(0);
    const prices = entries().map((entry) => (entry as unknown as { price: { credits_per_unit: number } }).price);
    expect(prices.map(({ credits_per_unit: credits }) => credits)).to.deep.equal([0.39, 6]);
  });

  it('needs no key for the schema, and then a price', async () => {
    await refused(() => models('add', REF, '--yes'), /--price/);
    expect((await models('add', REF, '--yes', '--price', '4')).code).to.equal(0);
  });

  it('says why nothing was added when fal has no such endpoint, or cannot answer', async () => {
    await refused(
      () => withKey('add', 'fal:fal-ai/none', '--yes'),
      /fal has no endpoint fal-ai\/none: compare the name with the address/,
    );
    fake.server.plan({ type: 'status', status: 503 });
    await refused(() => withKey('add', REF, '--yes'), /has a fault of its own \(status 503\); try again later\.$/);
  });

  it('lists models with their origin and what has changed at the vendor', async () => {
    await models('add', REF, '--yes', '--price', '4');
    const row = async () => (await models('list')).stdout.split('\n')[1]?.split(/ {2,}/);
    const today = new Date().toISOString().slice(0, 10);
    expect(await row()).to.deep.equal(['painter-one', 'fal', REF, today, 'same']);
    const model = painter();
    fake.describe({ ...model, metadata: { status: 'active' } });
    expect((await row())?.at(-1), 'words about the model are not its schema').to.equal('same');
    fake.describe(JSON.parse(JSON.stringify(model).replace('"maximum":4', '"maximum":2')) as JsonObject);
    expect((await row())?.at(-1)).to.equal('changed');
    await fake.close();
    const { code, stdout } = await models('list');
    fake = await FalFake.open();
    expect([code, stdout.split('\n')[1]]).to.match(/^0,painter-one .*not read: Nothing answers at /);
  });

  it('shows what differs from what would be proposed now, and whether the schema changed', async () => {
    await models('add', REF, '--yes', '--price', '4');
    const same = await models('diff', 'painter-one');
    expect([same.code, same.stdout.includes('is the same as on')]).to.deep.equal([0, true]);
    fake.describe(JSON.parse(JSON.stringify(painter()).replace('"maximum":4', '"maximum":2')) as JsonObject, {
      unit_price: 0.003,
      unit: 'megapixels',
      currency: 'USD',
    });
    const changed = await models('diff', 'painter-one');
    expect(changed.stdout).to.match(/has changed since/);
    expect(changed.stdout).to.match(/\/input_schema\/properties\/n\/maximum +4 +2\n/);
    expect([changed.code, changed.stderr]).to.match(
      /^1,darkroom: painter-one: the schema has changed, and \d+ values of/,
    );
    const json = JSON.parse((await models('diff', 'painter-one', '--json')).stdout) as { schema_changed: boolean };
    expect(json.schema_changed).to.equal(true);
    const [, digest = ''] = /write digest: (sha256:[0-9a-f]{64}) into its origin/.exec(changed.stdout) ?? [];
    write(
      'catalog.yaml',
      read('catalog.yaml')
        .replace(/sha256:[0-9a-f]{64}/, digest)
        .replace('maximum: 4', 'maximum: 2'),
    );
    expect((await models('list')).stdout).to.match(/painter-one .* same\n/);
  });

  it('asks a vendor that takes no more requests no further, and never for prices that it does not show', async () => {
    await models('add', REF, '--yes', '--price', '4');
    for (let copy = 0; copy < 20; copy += 1)
      write('catalog.yaml', withCopyOfFirst(read('catalog.yaml'), `copy-${copy}`));
    const asked = async () => {
      const before = fake.server.requests.length;
      const { stdout } = await withKey('list');
      return { paths: fake.server.requests.slice(before).map(({ path }) => path), rows: stdout.trim().split('\n') };
    };
    const answered = await asked();
    expect(answered.paths).to.have.length(21);
    expect(answered.paths.filter((path) => path.includes('pricing'))).to.deep.equal([]);
    for (let request = 0; request < 21; request += 1) fake.server.plan({ type: 'status', status: 429 });
    const limited = await asked();
    fake.server.forgetFaults();
    expect(limited.paths.length).to.be.at.most(8);
    expect(limited.rows.filter((row) => /not read: .*takes no more requests for now/.test(row))).to.have.length(21);
  });

  it('compares a recorded answer, or one without a key, at the price of the entry', async () => {
    expect((await withKey('add', REF, '--yes')).code).to.equal(0);
    for (const answer of [['--schema', 'answer.json'], []]) {
      const { code, stdout } = await models('diff', 'painter-one', ...answer);
      expect(stdout).to.match(/^The schema of .* is the same as on/);
      expect(stdout).not.to.match(/credits_per_unit|unit_cost/);
      expect(code).to.equal(0);
    }
  });

  it('shows no difference where defaults are written out', async () => {
    await models('add', REF, '--yes', '--price', '4');
    const { stdout, stderr } = await new CliRun(folder, ['catalog', 'check', '--explain']).ended;
    expect(stdout, stderr).to.match(/version: sha256-/);
    write('catalog.yaml', stdout);
    expect((await models('diff', 'painter-one')).stdout).to.match(/is as it is proposed now/);
  });

  it('names the variable of the key if the vendor states prices only to a key', async () => {
    await refused(
      () => models('add', REF, '--yes'),
      /none is set: set DARKROOM_PROVIDERS_FAL_API_KEY, or give --price with the credits per image\./,
    );
  });
});

describe('darkroom models add at each vendor', () => {
  const closing: (() => Promise<void>)[] = [];
  after(() => Promise.all(closing.map((close) => close())));

  const versionOf = (id: string): JsonObject => ({
    owner: 'acme',
    name: 'own-image',
    description: 'Makes images.',
    is_official: false,
    latest_version: { id: id.repeat(32), openapi_schema: CONTAINER },
  });

  function configure(section: string): void {
    write('darkroom.yaml', `catalog: catalog.yaml\nproviders:\n  ${section}\n`);
  }

  it('pins the version of a model at Replicate, and lists a newer one', async () => {
    const fake = await ReplicateFake.open();
    closing.push(() => fake.close());
    configure(`replicate: { kind: replicate, base_url: "${fake.base}", api_key: ${fake.key} }`);
    fake.describe('acme', 'own-image', versionOf('a1'));
    expect((await models('add', 'replicate:acme/own-image', '--price', '2', '--yes')).code).to.equal(0);
    expect(entries()[0]?.origin).to.include({ version: 'a1'.repeat(32) });
    expect((await models('list')).stdout).to.match(/ same\n$/);
    fake.describe('acme', 'own-image', versionOf('b2'));
    expect((await models('list')).stdout).to.match(/ new version\n$/);
    const { stdout, code } = await models('diff', 'own-image');
    expect([code, stdout.includes('/provider_settings/version')]).to.deep.equal([1, true]);
    expect(stdout).to.match(/write digest: sha256:[0-9a-f]{64} and version: (?:b2){32} into its origin\.\n$/);
    const old = await models(
      'add',
      `replicate:acme/own-image:${'a1'.repeat(32)}`,
      '--price',
      '2',
      '--key',
      'old',
      '--yes',
    );
    expect([old.code, entries()[1]?.origin?.['version']]).to.deep.equal([0, 'a1'.repeat(32)]);
  });

  it('adds a container of Cog with its address, and a second one under another name', async () => {
    for (const [index, name] of ['cog', 'second'].entries()) {
      const fake = await CogFake.open();
      closing.push(() => fake.close());
      fake.describe(CONTAINER);
      const ref = `cog:${fake.base}/`;
      if (index === 1)
        await refused(() => models('add', ref, '--price', '2', '--yes'), /--provider gives the new one a name/, 2);
      const more = index === 1 ? ['--provider', name] : [];
      expect((await models('add', ref, '--price', '2', '--key', name, '--yes', ...more)).code).to.equal(0);
      expect(read('darkroom.yaml')).to.include(`  ${name}:\n    kind: cog\n    base_url: ${fake.base}\n`);
      expect(entries()[index]).to.include({ model_key: name, provider: name });
    }
  });

  it('adds a model of OpenAI, unless it has ended', async () => {
    const fake = await OpenAiFake.open('openai', 'sk-test');
    closing.push(() => fake.close());
    configure(`openai: { kind: openai, base_url: "${fake.base}", api_key: sk-test }`);
    await refused(() => models('add', 'openai:gpt-image-9', '--price', '10', '--yes'), /has no model gpt-image-9/);
    fake.shutdownDate = '2026-01-31';
    await refused(() => models('add', 'openai:gpt-image-2', '--price', '10', '--yes'), /2026-01-31/);
    fake.shutdownDate = '2126-01-31';
    expect((await models('add', 'openai:gpt-image-2', '--price', '10', '--yes')).code).to.equal(0);
    expect((await new CliRun(folder, ['catalog', 'check']).ended).code).to.equal(0);
  });
});

describe('darkroom models remove', () => {
  it('takes the entry with its comments, and leaves the others as they were', async () => {
    await add('--yes');
    const before = read('catalog.yaml');
    await add('--yes', '--key', 'b');
    const { code, stdout } = await models('remove', 'b', '--yes');
    expect([code, read('catalog.yaml')]).to.deep.equal([0, before]);
    expect(stdout).to.include('Open generations of this model wait for its entry to come back');
  });

  it('asks, and refuses the last model, one that is not there, and the catalog of the program', async () => {
    await refused(() => models('remove', 'sandbox-image', '--yes'), /comes with the program is never changed/);
    expect((await models('list')).stdout).to.include('sandbox-image  sandbox');
    await refused(() => models('diff', 'sandbox-image'), /darkroom models add did not write it/);
    await add('--yes');
    await refused(() => models('remove', 'painter-one', '--yes'), /is the only model of catalog\.yaml/);
    await add('--yes', '--key', 'b');
    await refused(() => models('remove', 'painter-two', '--yes'), /has no model painter-two; similar keys are/, 2);
    await refused(() => models('remove', 'b'), /--yes is needed/, 2);
    await refused(() => modelsWith({ columns: 80, stdin: 'n\n' }, 'remove', 'b'), /Nothing was written/, 130);
    await refused(() => models('diff', 'c'), /has no model c/, 2);
  });
});
