import { expect } from 'chai';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CatalogInvalid, parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { CONFIG_KEYS, INSTANCE_KEYS, keySchemas, optionsOf } from '../../../apps/config/keys.js';
import { type Config, ConfigInvalid } from '../../../apps/config/config.js';
import { loadConfig } from '../../../apps/config/load-config.js';
import { accepts, takenOptionFault } from '../../../apps/config/option-schema.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import { catalogTools } from '../../../apps/wiring/catalog-tools.js';
import { ROOT } from '../../docs/pages.js';
import { SENDS_NOTHING } from '../../fixtures/settings-place.js';

// Goal: drivers of other packages are added to the built-in ones, and a module that cannot be used is reported with its
// fault.
// Method: modules written into a fresh folder, one for each mistake; test/install/outside-module.test.ts has a whole
// package.

const CAMERA = `{
  kind: 'provider', name: 'camera',
  options: { type: 'object', required: ['lens'], properties: { lens: { type: 'string' }, api_key: { type: 'string', writeOnly: true, minLength: 3 }, shots: { type: 'integer', minimum: 1, maximum: 9, default: 2 }, film: { type: 'string', pattern: '^[A-Z]+$', maxLength: 5 } } },
  settingsFault: (settings) => ('film' in settings ? undefined : 'It needs film.'),
  open: async () => { throw new Error('It is not opened here.'); },
}`;
const DATABASE = `{ kind: 'database', name: 'cards', options: { type: 'object', properties: { drawer: { type: 'string', default: 'top' } } }, unshared: 'a drawer', lends: [], place() {}, open() {}, inspect() {}, inspectBeforeMigration() {}, migrate() {} }`;
const OBJECTS = `{ kind: 'objects', name: 'album', options: { type: 'object', properties: {} }, isInDataFolder: true, backup: {}, open() {}, inspect() {}, migrate() {} }`;

describe('modules of the configuration', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-modules-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
  };
  async function load(text: string, environment: Record<string, string> = {}): Promise<Config> {
    write('darkroom.yaml', text);
    return loadConfig({ file: join(folder, 'darkroom.yaml'), folder: tmpdir(), environment });
  }
  async function faultsOf(text: string, environment: Record<string, string> = {}): Promise<readonly string[]> {
    try {
      await load(text, environment);
      return [];
    } catch (error) {
      if (error instanceof ConfigInvalid) return error.faults.map((fault) => fault.replaceAll(`${folder}/`, ''));
      throw error;
    }
  }

  it('add drivers by a path from the file, with options that are checked like built-in ones', async () => {
    write('camera.mjs', `export default [${CAMERA}, ${DATABASE}];`);
    const config = await load(
      'modules: [./camera.mjs]\nproviders: { studio: { kind: camera, lens: 50mm } }\nstores: { database: cards, wake_ups: timers }\n'.replace(
        ', wake_ups: timers',
        '',
      ),
    ).catch((error: unknown) => error);
    expect(config)
      .to.be.instanceOf(ConfigInvalid)
      .with.property('faults')
      .that.deep.equals([
        `${join(folder, 'darkroom.yaml')}: stores.wake_ups timers keeps wake-ups in the database, so it needs stores.database sqlite, mongo or postgres.`,
      ]);
    const loaded = await load(
      'modules: [./camera.mjs]\nproviders: { studio: { kind: camera, lens: 50mm }, sandbox: { kind: sandbox } }\n',
    );
    expect(loaded.providers.get('studio')?.options).to.deep.equal({ lens: '50mm', shots: 2 });
    expect(catalogTools(loaded).providers?.get('studio')?.({}, { modality: 'image', ...SENDS_NOTHING })).to.equal(
      'It needs film.',
    );
    expect([...(catalogTools(loaded).providers?.keys() ?? [])]).to.deep.equal(['studio', 'sandbox']);
  });

  it('receive their options, the folder of the catalog and what a model makes with its settings', async () => {
    write(
      'camera.mjs',
      `const camera = ${CAMERA}; export default [{ ...camera, settingsFault: (_, { options, catalogFolder, modality }) => modality + ' by ' + options.lens + ' in ' + catalogFolder }];`,
    );
    const loaded = await load(
      'catalog: elsewhere/catalog.yaml\nmodules: [./camera.mjs]\nproviders: { studio: { kind: camera, lens: 50mm } }\n',
    );
    expect(catalogTools(loaded).providers?.get('studio')?.({}, { modality: 'video', ...SENDS_NOTHING })).to.equal(
      `video by 50mm in ${join(tmpdir(), 'elsewhere')}`,
    );
  });

  it('add drivers by the name of a package beside the file, and from a variable', async () => {
    mkdirSync(join(folder, 'node_modules/darkroom-camera'), { recursive: true });
    write(
      'node_modules/darkroom-camera/package.json',
      '{ "name": "darkroom-camera", "type": "module", "exports": "./index.js" }',
    );
    write('node_modules/darkroom-camera/index.js', `export const drivers = [${CAMERA}];`);
    write('other.mjs', `export default ${DATABASE};`);
    const { providers, stores } = await load('providers: { studio: { kind: camera } }\n', {
      DARKROOM_MODULES: 'darkroom-camera, ./other.mjs',
      DARKROOM_PROVIDERS_STUDIO_LENS: '35mm',
      DARKROOM_CARDS_DRAWER: 'bottom',
    });
    expect(providers.get('studio')?.options).to.deep.equal({ lens: '35mm', shots: 2 });
    expect(stores.database.driver.name).to.equal('sqlite');
  });

  it('are found as an import finds them: by ESM exports, a bare path from the file, or a folder with a package', async () => {
    mkdirSync(join(folder, 'node_modules/darkroom-camera/lib'), { recursive: true });
    mkdirSync(join(folder, 'adapters/cards'), { recursive: true });
    write(
      'node_modules/darkroom-camera/package.json',
      '{ "name": "darkroom-camera", "type": "module", "exports": { ".": { "import": "./lib/index.js" } } }',
    );
    write('node_modules/darkroom-camera/lib/index.js', `export default [${CAMERA}];`);
    write('adapters/album.mjs', `export default ${OBJECTS};`);
    write('adapters/cards/package.json', '{ "name": "cards", "type": "module", "main": "cards.js" }');
    write('adapters/cards/cards.js', `export default ${DATABASE};`);
    const { stores, providers } = await load(
      'modules: [darkroom-camera, adapters/album.mjs, ./adapters/cards]\nstores: { objects: album }\nproviders: { studio: { kind: camera, lens: 50mm } }\n',
    );
    expect([stores.objects.driver.name, providers.get('studio')?.driver.name]).to.deep.equal(['album', 'camera']);
    expect((await faultsOf('modules: [darkroom-camera/lib/index.js]\n')).join()).to.match(
      /^darkroom.yaml:1: The module darkroom-camera\/lib\/index.js cannot be loaded: Package subpath .* is not defined/,
    );
  });

  it('are found in a folder by its exports, its main file or its index.js', async () => {
    const packages: Readonly<Record<string, string>> = {
      exported: '{ "name": "a", "type": "module", "exports": "./lib/index.js" }',
      conditional: '{ "name": "b", "type": "module", "exports": { ".": { "import": "./lib/index.js" } } }',
      main: '{ "type": "module", "main": "lib/index" }',
      indexed: '{ "type": "module" }',
    };
    for (const [name, manifest] of Object.entries(packages)) {
      mkdirSync(join(folder, name, 'lib'), { recursive: true });
      write(`${name}/package.json`, manifest);
      write(`${name}/${name === 'indexed' ? '' : 'lib/'}index.js`, `export default [${CAMERA}];`);
      for (const path of [`./${name}`, name, join(folder, name)]) {
        const { providers } = await load(`modules: [${path}]\nproviders: { studio: { kind: camera, lens: 50mm } }\n`);
        expect(providers.get('studio')?.driver.name, path).to.equal('camera');
      }
    }
  });

  const FOLDERS: readonly (readonly [manifest: string | undefined, fault: string])[] = [
    [undefined, 'the folder has neither a package.json nor an index.js'],
    ['{', 'its package.json is not a JSON object'],
    ['null', 'its package.json is not a JSON object'],
    ['{ "exports": "./index.js" }', 'its package.json needs a name, as it has exports'],
    [
      '{ "name": "a", "exports": "./dist/drivers.js" }',
      'its package.json leads to ./dist/drivers.js, which is not there: build the package first',
    ],
    ['{ "main": "dist/a.js" }', 'its package.json leads to dist/a.js, which is not there: build the package first'],
  ];
  for (const [manifest, fault] of FOLDERS)
    it(`are refused in a folder if ${fault}`, async () => {
      mkdirSync(join(folder, 'own'));
      if (manifest !== undefined) write('own/package.json', manifest);
      expect(await faultsOf('modules: [./own]\n')).to.deep.equal([
        `darkroom.yaml:1: The module ./own cannot be loaded: ${fault}.`,
      ]);
    });

  it('are packages of the program where a folder of another use has their name', async () => {
    mkdirSync(join(folder, 'pino'));
    write('pino/notes.txt', 'no package');
    expect((await faultsOf('modules: [pino]\n')).join()).to.match(/The module pino export/);
    rmSync(join(folder, 'pino'), { recursive: true });
    mkdirSync(join(folder, 'nothing'));
    expect((await faultsOf('modules: [nothing]\n')).join()).to.include('neither a package.json nor an index.js');
  });

  it('say where to install this program if one cannot import it', async () => {
    write('own.mjs', "import 'darkroom-server/core';");
    expect((await faultsOf('modules: [./own.mjs]\n')).join()).to.match(
      /^darkroom\.yaml:1: The module \.\/own\.mjs cannot be loaded: Cannot find package 'darkroom-server' imported from .*\. Install darkroom-server in its folder or above it\.$/,
    );
  });

  it('add signers of outputs, of which ai_marks.signer chooses one', async () => {
    write(
      'seal.mjs',
      "export default { kind: 'signer', name: 'seal', options: { type: 'object', required: ['key_file'], properties: { key_file: { type: 'string' } } }, open() {} };",
    );
    const chosen = 'modules: [./seal.mjs]\nai_marks: { signer: seal }\n';
    const { signer } = await load(`${chosen}seal: { key_file: /etc/seal.pem }\n`);
    expect([signer?.driver.name, signer?.options]).to.deep.equal(['seal', { key_file: '/etc/seal.pem' }]);
    expect((await load('modules: [./seal.mjs]\n')).signer).to.equal(undefined);
    expect(await faultsOf(chosen)).to.deep.equal(['darkroom.yaml: ai_marks.signer seal needs seal.key_file.']);
    expect(await faultsOf('ai_marks: { signer: seal }\n')).to.deep.equal([
      'darkroom.yaml:1: ai_marks.signer must be one of none, not seal.',
    ]);
  });

  it('add providers that the catalog is checked against', async () => {
    write('camera.mjs', `export default [${CAMERA}];`);
    const shipped = readFileSync((await load('{}')).catalog, 'utf8');
    const faults = async (config: string): Promise<readonly string[]> => {
      try {
        parseCatalog(shipped, 'catalog.yaml', catalogTools(await load(config)));
        return [];
      } catch (error) {
        return (error as CatalogInvalid).faults.map((fault) => fault.replace(/^.*\.provider /, ''));
      }
    };
    expect(await faults('{}')).to.deep.equal([]);
    const other = await faults('modules: [./camera.mjs]\nproviders: { studio: { kind: camera, lens: 50mm } }\n');
    expect(new Set(other)).to.deep.equal(new Set(['must be a connected provider, one of studio; sandbox is none.']));
    expect(new Set(await faults('providers: {}\n'))).to.deep.equal(
      new Set(['must be a connected provider, and none is configured.']),
    );
  });

  it('report faults of their options, and no secret', async () => {
    write('camera.mjs', `export default [${CAMERA}];`);
    expect(await faultsOf('modules: [./camera.mjs]\nproviders: { studio: { kind: camera } }\n')).to.deep.equal([
      'darkroom.yaml: providers.studio needs providers.studio.lens.',
    ]);
    expect(
      await faultsOf(
        'modules: [./camera.mjs]\nproviders:\n  studio:\n    kind: camera\n    lens: 7\n    api_key: no\n    shots: 10\n    film: x\n    roll: 3\n',
      ),
    ).to.deep.equal([
      'darkroom.yaml:5: providers.studio.lens must be text that is not empty, not 7.',
      'darkroom.yaml:6: providers.studio.api_key must be text of at least 3 characters.',
      'darkroom.yaml:7: providers.studio.shots must be an integer from 1 to 9, not 10.',
      'darkroom.yaml:8: providers.studio.film must be text of at most 5 characters that matches ^[A-Z]+$, not x.',
      'darkroom.yaml:9: providers.studio.roll is not a key of the configuration.',
    ]);
  });

  it('take lists of numbers from a variable as from the file', async () => {
    const sizes = "sizes: { type: 'array', items: { type: 'integer' } }";
    write('camera.mjs', `export default [${CAMERA.replace('lens: {', `${sizes}, lens: {`)}];`);
    const text = 'modules: [./camera.mjs]\nproviders: { studio: { kind: camera, lens: 50mm } }\n';
    const { providers } = await load(text, { DARKROOM_PROVIDERS_STUDIO_SIZES: '1, 20' });
    expect(providers.get('studio')?.options['sizes']).to.deep.equal([1, 20]);
    expect((await faultsOf(text, { DARKROOM_PROVIDERS_STUDIO_SIZES: '1,big' })).join()).to.include(
      'DARKROOM_PROVIDERS_STUDIO_SIZES must be a list of integers',
    );
  });

  const REFUSED: Readonly<Record<string, string>> = {
    'throw new Error("No film left.\\nMore.");': 'cannot be loaded: No film left.',
    'export const nothing = 1;':
      'exports no drivers: its default export, or its export drivers, must be a list of them.',
    'export default [];': 'exports no drivers: its default export, or its export drivers, must be a list of them.',
    'export default [{ name: "My Camera" }];':
      'has a driver whose name is not one of lower-case letters, digits, hyphens and underscores.',
    [`export default [${CAMERA}, ${CAMERA}];`]: 'has a driver called camera, but another driver already has that name.',
    [`export default [${DATABASE.replace("'cards'", "'minio'")}];`]:
      'has a driver called minio, but another driver already has that name.',
    [`export default [${DATABASE.replace("'cards'", "'rest'")}];`]:
      'has a driver called rest, which is a section of the configuration; it needs another name.',
  };
  for (const [text, fault] of Object.entries(REFUSED)) {
    it(`are refused when one ${fault}`, async () => {
      write('broken.mjs', text);
      expect(await faultsOf('rest: { port: 8080 }\nmodules: [./broken.mjs]\n')).to.deep.equal([
        `darkroom.yaml:2: The module ./broken.mjs ${fault}`,
      ]);
    });
  }

  const BROKEN: Readonly<Record<string, string>> = {
    [CAMERA.replace("kind: 'provider'", "kind: 'lamp'")]:
      'The driver camera of the module ./broken.mjs must have a kind, one of database, objects, wake-ups, signer, provider.',
    [CAMERA.replace("kind: 'provider'", "kind: 'toString'")]:
      'The driver camera of the module ./broken.mjs must have a kind, one of database, objects, wake-ups, signer, provider.',
    [DATABASE.replace(' lends: [],', '')]:
      'The driver cards of the module ./broken.mjs must have lends, a list of names.',
    [CAMERA.replace("required: ['lens']", 'required: true')]:
      'The options of the driver camera of the module ./broken.mjs must have a list as required.',
    [DATABASE.replace(' inspect() {},', '')]: 'The driver cards of the module ./broken.mjs has no inspect.',
    [CAMERA.replace("lens: { type: 'string' }", "lens: { type: 'string', minLength: -1 }")]:
      'have no usable JSON Schema for lens',
    [CAMERA.replace('default: 2', 'default: 20')]:
      'The options of the driver camera of the module ./broken.mjs have a default for shots that its JSON Schema refuses.',
    [CAMERA.replace("type: 'object', required", "type: 'object', dependentRequired: {}, required")]:
      'The options of the driver camera of the module ./broken.mjs may not have dependentRequired: each option is checked alone.',
    [CAMERA.replace("lens: { type: 'string' }", "lens: { type: ['string', 'integer'] }")]:
      'The options of the driver camera of the module ./broken.mjs must give lens one type, of string, integer, number, boolean, array, object.',
    [CAMERA.replace("lens: { type: 'string' }", "lens: { type: 'string', oneOf: [] }")]:
      'The options of the driver camera of the module ./broken.mjs must give lens an errorMessage, because it has oneOf.',
    [CAMERA.replace("lens: { type: 'string' }", "lens: { type: 'object', properties: { key: { writeOnly: true } } }")]:
      'The options of the driver camera of the module ./broken.mjs may not have writeOnly within lens: a secret is an option of its own.',
    [CAMERA.replace("lens: { type: 'string' }", "lens: { type: 'array', minItems: 1 }")]:
      'The options of the driver camera of the module ./broken.mjs must give lens an errorMessage, because it has minItems.',
    [OBJECTS.replace(' backup: {},', '')]:
      'The driver album of the module ./broken.mjs keeps its objects in the data folder, so it must have a backup.',
    [OBJECTS.replace('backup: {}', 'backup: null')]:
      'The driver album of the module ./broken.mjs keeps its objects in the data folder, so it must have a backup.',
    [CAMERA.replace('lens:', '"Lens.size":')]:
      'The options of the driver camera of the module ./broken.mjs may not have one called Lens.size: names have lower-case letters, digits and underscores.',
    ...Object.fromEntries(
      ['kind', 'max_concurrent', 'max_submissions_per_minute'].map((key) => [
        CAMERA.replace('lens:', `${key}: { type: 'integer' }, lens:`),
        `The options of the driver camera of the module ./broken.mjs may not have one called ${key}: that is a key of every instance.`,
      ]),
    ),
  };
  for (const [driver, fault] of Object.entries(BROKEN)) {
    it(`are refused with: ${fault}`, async () => {
      write('broken.mjs', `export default [${driver}];`);
      expect((await faultsOf('modules: [./broken.mjs]\n')).join('\n')).to.include(fault);
    });
  }

  it('are named if they are missing, with the places that were searched', async () => {
    expect(await faultsOf('modules: [darkroom-nowhere]\n')).to.deep.equal([
      `darkroom.yaml:1: The module darkroom-nowhere is missing: there is no package and no file of that name in ${folder}.`,
    ]);
    expect(await faultsOf('modules: camera\n')).to.deep.equal([
      'darkroom.yaml:1: modules must be a list of package names and paths, not camera.',
    ]);
  });
});

// Goal: drivers are data that the configuration can rely on, and the program names them only in their list.
// Method: every built-in driver is checked against the rules of the interface; the sources of apps are searched for
// driver names; unknown drivers are configured.

const LIST = 'apps/wiring/built-in-drivers.ts';

/** The keys with one instance of each built-in provider, named after its kind. */
const KEYS = keySchemas(
  BUILT_IN_DRIVERS,
  new Map(BUILT_IN_DRIVERS.filter(({ kind }) => kind === 'provider').map(({ name }) => [name, name])),
);

describe('built-in drivers', () => {
  it('have distinct names and sections', () => {
    const names = BUILT_IN_DRIVERS.map(({ name }) => name);
    expect(new Set(names).size).to.equal(names.length);
    expect(names.filter((name) => !/^[a-z][a-z0-9_-]*$/.test(name))).to.deep.equal([]);
  });

  for (const { kind, name, options } of BUILT_IN_DRIVERS) {
    it(`${name} describes its options by a JSON Schema that is closed, with defaults that it accepts itself`, () => {
      const plain = JSON.parse(
        JSON.stringify(options, (key, value: unknown) =>
          key === 'errorMessage' || key === 'format' ? undefined : value,
        ),
      ) as typeof options;
      expect(checkSchema(plain)).to.deep.equal([]);
      expect(options).to.include({ type: 'object', additionalProperties: false });
      for (const [option] of optionsOf(options)) {
        const { default: byDefault, ...schema } =
          KEYS.get(`${kind === 'provider' ? `providers.${name}` : name}.${option}`) ?? {};
        if (byDefault !== undefined) expect(accepts(schema, byDefault), option).to.equal(true);
      }
    });
  }

  it('of providers leave the keys of every instance alone', () => {
    for (const { kind, name, options } of BUILT_IN_DRIVERS)
      if (kind === 'provider') expect(takenOptionFault(options, INSTANCE_KEYS), name).to.equal(undefined);
  });

  it('marks every option that holds a secret', () => {
    const secrets = [...CONFIG_KEYS].filter(([, { writeOnly }]) => writeOnly).map(([path]) => path);
    expect(secrets).to.deep.equal([
      'sign_in.provider_client_secret',
      'mongo.url',
      'postgres.url',
      'postgres.direct_url',
      'minio.access_key',
      'minio.secret_key',
      'minio.upload_access_key',
      'minio.upload_secret_key',
    ]);
  });

  it('are named in apps only by their list', () => {
    const names = BUILT_IN_DRIVERS.map(({ name }) => name);
    // These also have other meanings, and a section may have such a name; as names of drivers they are in quotes.
    const ambiguous = ['files', 'timers', 'sandbox', 'openai'];
    const named = new RegExp(
      `\\b(?:${names.filter((name) => !ambiguous.includes(name)).join('|')})(?:Driver)?\\b|'(?:${ambiguous.join('|')})'(?!:)`,
      'i',
    );
    const files = readdirSync(join(ROOT, 'apps'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `apps/${path}`);
    const code = (path: string) =>
      readFileSync(join(ROOT, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    // A command that reads files of one server's own format is about that server, and the API of OpenAI has a page of its own.
    const ofOneServer = [
      'apps/cli/program.ts',
      'apps/cli/commands/comfyui.ts',
      'apps/reference/pages.ts',
      'apps/reference/samples.ts',
    ];
    expect(files.filter((path) => named.test(code(path)) && !ofOneServer.includes(path))).to.deep.equal([LIST]);
  });
});

describe('an unknown driver', () => {
  for (const [path, known] of [
    ['database', 'sqlite, mongo, postgres'],
    ['objects', 'files, minio'],
    ['wake_ups', 'timers, agenda'],
  ] as const) {
    it(`is refused as stores.${path}, with the existing ones`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'darkroom-drivers-'));
      writeFileSync(join(folder, 'darkroom.yaml'), `stores: { ${path}: punch-cards }\n`);
      try {
        const refused = await loadConfig({ folder, environment: {} }).catch((error: unknown) => error);
        expect(refused)
          .to.be.instanceOf(ConfigInvalid)
          .with.property('message', `darkroom.yaml:1: stores.${path} must be one of ${known}, not punch-cards.`);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
