import { expect } from 'chai';
import fc from 'fast-check';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { CONFIG_KEYS, variableOf } from '../../../apps/config/keys.js';
import { ConfigInvalid } from '../../../apps/config/config.js';
import { loadConfig } from '../../../apps/config/load-config.js';
import { isNetwork, networkOf, Networks } from '../../../apps/config/network-address.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import type { Json } from '../../../core/json.js';
import { DEFAULT_SETTINGS } from '../../../core/settings.js';
import { driverNames } from '../../fixtures/driver-names.js';
import { EXAMPLE_FILE, exampleText } from './example-file.js';
import { forAllSync } from '../../harness/for-all.js';

// Goal: the configuration is read from file and environment, and every mistake is reported with its location.
// Method: files in a fresh folder and made-up environments, with all messages compared; the example file is compared
// with the code in both directions.

const exampleAt = (name: string) => fileURLToPath(new URL(`../../../../config/${name}.example.yaml`, import.meta.url));
const DISTRIBUTED = exampleAt('distributed');

const PROVIDER_KINDS = BUILT_IN_DRIVERS.filter(({ kind }) => kind === 'provider')
  .map(({ name }) => name)
  .join(', ');

describe('configuration', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-config-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  async function faultsOf(
    text: string | undefined,
    environment: Record<string, string> = {},
  ): Promise<readonly string[]> {
    if (text !== undefined) writeFileSync(join(folder, 'darkroom.yaml'), text);
    try {
      await loadConfig({ folder, environment });
      return [];
    } catch (error) {
      if (error instanceof ConfigInvalid) return error.faults;
      throw error;
    }
  }

  it('needs no file', async () => {
    const config = await loadConfig({ folder, environment: {} });
    expect(config).to.not.have.property('file');
    expect(config.dataFolder).to.equal(join(folder, 'data'));
    expect(config.catalog).to.match(/[/\\]config[/\\]catalog\.yaml$/);
    expect(config.rest).to.deep.include({ host: '127.0.0.1', port: 8080 }).and.not.to.have.property('publicUrl');
    expect(config.worker).to.deep.equal({
      enabled: true,
      missingProviders: 'refuse',
      recoveryIntervalMs: 15_000,
      stopGraceMs: 20_000,
    });
    expect([...config.providers].map(([name, { driver, options }]) => [name, driver.name, options])).to.deep.equal([
      ['sandbox', 'sandbox', { threads: 0 }],
    ]);
    expect(config.settings).to.deep.equal(DEFAULT_SETTINGS);
  });

  it('reads what an operator decides about marks, from the file and the environment', async () => {
    writeFileSync(join(folder, 'darkroom.yaml'), 'ai_marks: { enabled: false, provider_manifests: drop }\n');
    const marksWith = async (environment: Record<string, string>) =>
      (await loadConfig({ folder, environment })).settings.marks;
    expect(await marksWith({ DARKROOM_AI_MARKS_NAME_MODEL: 'true' })).to.deep.equal({
      isWritten: false,
      manifests: 'drop',
      namesModel: true,
    });
    expect(
      await marksWith({ DARKROOM_AI_MARKS_ENABLED: 'true', DARKROOM_AI_MARKS_PROVIDER_MANIFESTS: 'keep' }),
    ).to.deep.equal(DEFAULT_SETTINGS.marks);
    expect(await faultsOf('ai_marks: { enabled: maybe, provider_manifests: sign }\n')).to.deep.equal([
      'darkroom.yaml:1: ai_marks.enabled must be true or false, not maybe.',
      'darkroom.yaml:1: ai_marks.provider_manifests must be one of keep, drop, not sign.',
    ]);
  });

  it('applies variables over the file, and the file over the defaults', async () => {
    writeFileSync(
      join(folder, 'mine.yaml'),
      'rest:\n  port: 9000\n  public_url: https://pictures.example/api/\nsign_in:\n  enabled: false\noauth:\n  enabled: false\nmcp:\n  confirm_above_credits: 0\nsettings:\n  replay_window_hours: 0.5\nworker:\n',
    );
    const config = await loadConfig({
      folder,
      environment: {
        DARKROOM_CONFIG: 'mine.yaml',
        DARKROOM_REST_PORT: '0',
        DARKROOM_WORKER_ENABLED: 'false',
        DARKROOM_LOG_LEVEL: '',
      },
    });
    expect(config.file).to.equal(join(folder, 'mine.yaml'));
    expect(config.rest).to.deep.include({ port: 0, publicUrl: 'https://pictures.example/api' });
    expect(config.settings.replayWindowMs).to.equal(1_800_000);
    expect(config.worker.enabled).to.equal(false);
    expect(config.mcp).to.deep.equal({ enabled: true, confirmAboveCredits: 0, allowedOrigins: [] });
    expect(config.log.level).to.equal('info');
  });

  it('leaves out one line break at the end of a variable, as a secret made of a file has one', async () => {
    const options = async (text: string) => {
      const environment = {
        DARKROOM_MONGO_URL: text,
        DARKROOM_STORES_DATABASE: 'mongo\r\n',
        DARKROOM_PROVIDERS_SANDBOX_KIND: 'sandbox\n',
        DARKROOM_CONFIG: '\n',
      };
      return (await loadConfig({ folder, environment })).stores.database.options['url'];
    };
    for (const end of ['', '\n', '\r\n'])
      expect(await options(`mongodb://db/?appName=x${end}`)).to.equal('mongodb://db/?appName=x');
    expect(await faultsOf(undefined, { DARKROOM_MONGO_URL: 'mongodb://db/\n\n' })).to.have.length(1);
    expect(await faultsOf(undefined, { DARKROOM_STORES_DATABASE: '\n' })).to.deep.equal([]);
  });

  it('has an MCP server unless it is turned off', async () => {
    const read = (environment: Record<string, string>) => loadConfig({ folder, environment });
    expect((await read({})).mcp).to.deep.equal({ enabled: true, confirmAboveCredits: 100, allowedOrigins: [] });
    expect((await read({ DARKROOM_MCP_ENABLED: 'false' })).mcp.enabled).to.equal(false);
  });

  it('reads origins as browsers write them', async () => {
    const DARKROOM_MCP_ALLOWED_ORIGINS = 'https://App.Example:443/,http://localhost:6274,chrome-extension://AbCd';
    const { mcp } = await loadConfig({ folder, environment: { DARKROOM_MCP_ALLOWED_ORIGINS } });
    expect(mcp.allowedOrigins).to.deep.equal([
      'https://app.example',
      'http://localhost:6274',
      'chrome-extension://abcd',
    ]);
  });

  /** A file, or the environment, or both, and its faults. */
  function names(
    what: string,
    given: string | Record<string, string>,
    faults: readonly string[],
    environment = typeof given === 'string' ? {} : given,
  ): void {
    it(`names ${what}`, async () => {
      expect(await faultsOf(typeof given === 'string' ? given : undefined, environment)).to.deep.equal(faults);
    });
  }

  names('a port out of range', 'rest:\n  port: 65536\n', [
    'darkroom.yaml:2: rest.port must be an integer from 0 to 65535, not 65536.',
  ]);
  names('a port as text', 'rest:\n  port: "80"\n', [
    'darkroom.yaml:2: rest.port must be an integer from 0 to 65535, not 80.',
  ]);
  names('a variable that is no number', { DARKROOM_REST_PORT: 'eighty' }, [
    'DARKROOM_REST_PORT must be an integer from 0 to 65535, not eighty.',
  ]);
  names('an unknown variable', { DARKROOM_REST_PROT: '80' }, [
    'DARKROOM_REST_PROT is not a variable that darkroom knows.',
  ]);
  names('a variable without its section, if that is rest', { DARKROOM_PORT: '80' }, [
    'DARKROOM_PORT is not a variable that darkroom knows; that of rest.port is DARKROOM_REST_PORT.',
  ]);
  it('names a file with another ending that nothing reads, unless the right one is there or named', async () => {
    writeFileSync(join(folder, 'darkroom.yml'), 'rest:\n  port: 1\n');
    expect(await faultsOf(undefined)).to.deep.equal(['darkroom.yml is not read; rename it to darkroom.yaml.']);
    expect(await faultsOf(undefined, { DARKROOM_CONFIG: 'darkroom.yml' })).to.deep.equal([]);
    expect(await faultsOf('rest:\n  port: 2\n')).to.deep.equal([]);
  });
  names(
    'the key of a provider of another configuration',
    'providers:\n  studio:\n    kind: openai\n',
    [
      'DARKROOM_PROVIDERS_OPENAI_API_KEY is of no provider that the configuration has (studio); unset it, or add the provider, or name it DARKROOM_PROVIDERS_STUDIO_API_KEY.',
    ],
    { DARKROOM_PROVIDERS_OPENAI_API_KEY: 'sk-1' },
  );
  names(
    'a misspelled option of a kind that has no provider',
    'providers:\n  studio:\n    kind: openai\n',
    [
      'DARKROOM_PROVIDERS_FAL_API_KYE is of no provider that the configuration has (studio); unset it, or add the provider.',
    ],
    { DARKROOM_PROVIDERS_FAL_API_KYE: 'x' },
  );
  it('takes variables of kinds that have no provider, for keys of several vendors in one shell', async () => {
    const environment = {
      DARKROOM_PROVIDERS_FAL_API_KEY: 'id:secret',
      DARKROOM_PROVIDERS_REPLICATE_API_KEY_FILE: 'token',
      DARKROOM_PROVIDERS_REPLICATE_BASE_URL: 'http://127.0.0.1:1',
    };
    expect(await faultsOf('providers:\n  studio:\n    kind: openai\n', environment)).to.deep.equal([]);
    expect(await faultsOf(undefined, environment)).to.deep.equal([]);
  });
  names(
    'an unknown option of a provider, as a variable',
    'providers:\n  studio:\n    kind: openai\n',
    ['DARKROOM_PROVIDERS_STUDIO_API_KYE is not a variable that darkroom knows.'],
    { DARKROOM_PROVIDERS_STUDIO_API_KYE: 'sk-1' },
  );
  names(
    "an operator's area whose record the log would leave out",
    'sign_in:\n  operator_area: true\nlog:\n  level: warn\n',
    [
      'darkroom.yaml: sign_in.operator_area needs log.level info: at warn the log has no lines about what operators do.',
    ],
  );
  names(
    "an operator's area where nobody signs in",
    'sign_in:\n  operator_area: true\n  enabled: false\noauth:\n  enabled: false\n',
    ['darkroom.yaml: sign_in.operator_area needs sign_in.enabled: operators must sign in.'],
  );
  names('an unknown key', 'rest:\n  prot: 80\n', ['darkroom.yaml:2: rest.prot is not a key of the configuration.']);
  names('an unknown section', '\nresting:\n  port: 80\n', [
    'darkroom.yaml:2: resting is not a key of the configuration.',
  ]);
  names('a path written as a key', 'rest.port: 80\n', [
    'darkroom.yaml:1: rest.port is not a key of the configuration; write sections and their keys on lines of their own.',
  ]);
  names('a section that is a value', 'rest: 80\n', ['darkroom.yaml:1: rest must hold keys with values.']);
  names('a key given twice', 'rest:\n  port: 80\n  port: 81\n', ['darkroom.yaml:3: rest.port is given twice.']);
  names('an empty value', 'data_folder:\n', ['darkroom.yaml:1: data_folder must be text that is not empty, not null.']);
  names('a public URL that is none', 'rest: { public_url: "ftp://x" }\n', [
    'darkroom.yaml:1: rest.public_url must be an http or https URL without a query, not ftp://x.',
  ]);
  for (const origin of ['*', 'app.example', 'https://app.example/path', 'https://*.app.example', 'null'])
    names(`an origin that is none: ${origin}`, `mcp: { allowed_origins: ["${origin}"] }\n`, [
      `darkroom.yaml:1: mcp.allowed_origins must be a list of origins, as https://app.example or http://localhost:6274, not ["${origin}"].`,
    ]);
  names('proxies that are no list', 'rest: { trusted_proxies: 10.0.0.0/8 }\n', [
    'darkroom.yaml:1: rest.trusted_proxies must be a list of addresses and networks, as 10.0.0.0/8, not 10.0.0.0/8.',
  ]);
  names('a proxy by its name', { DARKROOM_REST_TRUSTED_PROXIES: '10.0.0.0/8, proxy.example' }, [
    'DARKROOM_REST_TRUSTED_PROXIES must be a list of addresses and networks, as 10.0.0.0/8, not ["10.0.0.0/8","proxy.example"].',
  ]);
  names('faults in the order of the file', 'rest:\n  port: x\ncolour: red\nlog: { level: loud }\ndata_folder: 7\n', [
    'darkroom.yaml:2: rest.port must be an integer from 0 to 65535, not x.',
    'darkroom.yaml:3: colour is not a key of the configuration.',
    'darkroom.yaml:4: log.level must be one of trace, debug, info, warn, error, silent, not loud.',
    'darkroom.yaml:5: data_folder must be text that is not empty, not 7.',
  ]);
  names('a level that is none', 'log: { level: loud }\n', [
    'darkroom.yaml:1: log.level must be one of trace, debug, info, warn, error, silent, not loud.',
  ]);
  names('no time at all', 'settings:\n  lease_seconds: 0\n', [
    'darkroom.yaml:2: settings.lease_seconds must be a number above 0 and at most 3600, not 0.',
  ]);
  names('settings that contradict each other', 'settings:\n  output_retention_days: 100\n', [
    'darkroom.yaml: Outputs must not be kept longer than their tasks.',
  ]);
  names('a secret without repeating it', 'mongo:\n  url: postgres://me:hush@db\nminio:\n  secret_key: 7\n', [
    'darkroom.yaml:2: mongo.url must be an address that begins with mongodb:// or mongodb+srv://.',
    'darkroom.yaml:4: minio.secret_key must be text that is not empty.',
  ]);
  names('all that a store lacks', 'stores: { database: mongo, objects: minio }\n', [
    'darkroom.yaml: stores.database mongo needs mongo.url.',
    'darkroom.yaml: stores.objects minio needs minio.endpoint.',
    'darkroom.yaml: stores.objects minio needs minio.access_key.',
    'darkroom.yaml: stores.objects minio needs minio.secret_key.',
  ]);
  names(
    'one of two keys that belong together',
    'stores: { objects: minio }\nminio: { endpoint: "http://s3", access_key: a, secret_key: b, upload_access_key: c }\n',
    ['darkroom.yaml: minio.upload_access_key and minio.upload_secret_key belong together: give both or neither.'],
  );
  names('outputs larger than an S3 store takes', 'settings:\n  max_output_bytes: 51539607553\n', [
    'darkroom.yaml:2: settings.max_output_bytes must be an integer from 1 to 51539607552, not 51539607553.',
  ]);
  names('wake-ups without their database', 'stores: { wake_ups: agenda }\n', [
    'darkroom.yaml: stores.wake_ups agenda keeps wake-ups in the database, so it needs stores.database mongo or postgres.',
  ]);
  names(
    'waits for a database that outlast a lease',
    'stores: { database: mongo }\nmongo: { url: "mongodb://localhost/", timeout_seconds: 40 }\nsettings: { claim_lease_seconds: 39 }\n',
    [
      'darkroom.yaml: mongo.timeout_seconds must not be more than settings.claim_lease_seconds, or one slow answer ends the lease.',
      'darkroom.yaml: mongo.timeout_seconds must not be more than settings.lease_seconds, or one slow answer ends the lease.',
    ],
  );
  names(
    'fewer connections than change streams leave any of',
    'stores: { database: mongo, wake_ups: agenda }\nmongo: { url: "mongodb://localhost/", pool_size: 4 }\n',
    ['darkroom.yaml: stores.wake_ups agenda needs a mongo.pool_size of 5 at least.'],
  );
  names('one port for two listeners', 'rest: { port: 9000 }\ninternal: { port: 9000 }\n', [
    'darkroom.yaml: internal.port and rest.port are both 9000 of 127.0.0.1; give each its own port.',
  ]);
  names('a process of several over stores that only one can use', 'role: worker\n', [
    'darkroom.yaml: role worker is for several processes, which cannot share a SQLite file; set stores.database to mongo or postgres, or role to all.',
    'darkroom.yaml: role worker is for several processes, which cannot share a folder of one machine; set stores.objects to minio, or role to all.',
    'darkroom.yaml: role worker is for several processes, which cannot share timers; set stores.wake_ups to agenda, or role to all.',
  ]);
  names(
    'a worker that is not to work',
    readFileSync(DISTRIBUTED, 'utf8'),
    ['darkroom.yaml: role worker has nothing to do while worker.enabled is false.'],
    { DARKROOM_ROLE: 'worker', DARKROOM_WORKER_ENABLED: 'false' },
  );
  names('a key that has moved', 'sandbox:\n  threads: 2\n  colour: red\n', [
    'darkroom.yaml:2: sandbox.threads is now providers.sandbox.threads.',
    'darkroom.yaml:3: sandbox.colour is not a key of the configuration.',
  ]);
  names('a variable that has moved', { DARKROOM_SANDBOX_THREADS: '2' }, [
    'DARKROOM_SANDBOX_THREADS is now DARKROOM_PROVIDERS_SANDBOX_THREADS.',
  ]);
  names('providers that are no map', 'providers: [sandbox]\n', [
    'darkroom.yaml:1: providers must hold keys with values.',
  ]);
  names(
    'providers that cannot be',
    'providers:\n  a: sandbox\n  b: { threads: 1 }\n  c: { kind: camera, lens: 50mm }\n  D: { kind: sandbox }\n  e: { kind: sandbox, threads: 300, lens: 50mm }\n',
    [
      'darkroom.yaml:2: providers.a must hold keys with values.',
      `darkroom.yaml:3: providers.b needs a kind, one of ${PROVIDER_KINDS}.`,
      `darkroom.yaml:4: providers.c.kind must be one of ${PROVIDER_KINDS}, not camera.`,
      'darkroom.yaml:5: providers.D must have a name of lower-case letters, digits, hyphens and underscores.',
      'darkroom.yaml:6: providers.e.lens is not a key of the configuration.',
      'darkroom.yaml:6: providers.e.threads must be an integer from 0 to 256, not 300.',
    ],
  );
  names(
    'two options with one variable',
    'providers:\n  a-b: { kind: sandbox }\n  a_b: { kind: sandbox }\n',
    [
      'DARKROOM_PROVIDERS_A_B_THREADS is the variable of both providers.a-b.threads and providers.a_b.threads; give one of them another name.',
    ],
    { DARKROOM_PROVIDERS_A_B_THREADS: '2' },
  );
  names('broken YAML', 'rest: [\n', [
    'darkroom.yaml:2: The YAML cannot be read: Flow sequence in block collection must be sufficiently indented and end with a ].',
  ]);
  names('a file that is a list', '- 1\n', ['darkroom.yaml:1: The file must hold keys with values.']);
  names('a file that is not there', { DARKROOM_CONFIG: 'other.yaml' }, ['other.yaml: There is no such file.']);
  names(
    'many things at once',
    'rest:\n  port: x\nworker:\n  enabled: yes\n',
    [
      'darkroom.yaml:2: rest.port must be an integer from 0 to 65535, not x.',
      'darkroom.yaml:4: worker.enabled must be true or false, not yes.',
      'DARKROOM_LOG_FORMAT must be one of auto, pretty, json, not xml.',
    ],
    { DARKROOM_LOG_FORMAT: 'xml' },
  );

  it('reads a list from the file, and from a variable with commas', async () => {
    writeFileSync(join(folder, 'darkroom.yaml'), 'rest:\n  trusted_proxies:\n    - 10.0.0.0/8\n    - "::1"\n');
    expect((await loadConfig({ folder, environment: {} })).rest.trustedProxies).to.deep.equal(['10.0.0.0/8', '::1']);
    expect(
      (await loadConfig({ folder, environment: { DARKROOM_REST_TRUSTED_PROXIES: 'fd00::/8, 192.0.2.1' } })).rest
        .trustedProxies,
    ).to.deep.equal(['fd00::/8', '192.0.2.1']);
  });

  it('has no operator area unless it is turned on, which the log reports', async () => {
    const area = async (environment: Record<string, string>) =>
      (await loadConfig({ folder, environment })).signIn.operatorArea;
    expect(await area({})).to.equal(false);
    for (const level of ['info', 'debug', 'trace'])
      expect(await area({ DARKROOM_SIGN_IN_OPERATOR_AREA: 'true', DARKROOM_LOG_LEVEL: level }), level).to.equal(true);
  });

  it('reads any number of providers, each with its own options, from the file and from variables', async () => {
    writeFileSync(
      join(folder, 'darkroom.yaml'),
      'providers:\n  day: { kind: sandbox, threads: 1 }\n  night-shift:\n    kind: sandbox\n',
    );
    const { providers } = await loadConfig({ folder, environment: { DARKROOM_PROVIDERS_NIGHT_SHIFT_THREADS: '2' } });
    expect([...providers].map(([name, { driver, options }]) => [name, driver.name, options])).to.deep.equal([
      ['day', 'sandbox', { threads: 1 }],
      ['night-shift', 'sandbox', { threads: 2 }],
    ]);
    writeFileSync(join(folder, 'darkroom.yaml'), 'providers: {}\n');
    expect((await loadConfig({ folder, environment: {} })).providers.size).to.equal(0);
  });

  for (const [name, database] of [
    ['distributed', 'mongo'],
    ['postgres', 'postgres'],
  ] as const)
    it(`accepts the example of several processes on ${database} in every role`, async () => {
      for (const role of ['all', 'rest', 'worker'] as const) {
        const config = await loadConfig({ file: exampleAt(name), role, folder, environment: {} });
        expect(config).to.deep.include({ role, secretFile: join(folder, 'darkroom.secret') });
        expect(driverNames(config)).to.deep.equal({ database, objects: 'minio', wakeUps: 'agenda' });
      }
    });

  it('reads every key from its variable', async () => {
    const wrong = Object.fromEntries([...CONFIG_KEYS.keys()].map((path) => [variableOf(path), '\0']));
    expect(Object.keys(wrong)).to.have.lengthOf(CONFIG_KEYS.size);
    expect((await faultsOf(undefined, wrong)).map((fault) => fault.split(' ')[0])).to.deep.equal(Object.keys(wrong));
  });

  it('is shown completely, with its defaults, by the example', async () => {
    const shown = new Map<string, Json>();
    const visit = (value: Json, path: string): void => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) shown.set(path, value);
      else for (const [name, item] of Object.entries(value)) visit(item, path === '' ? name : `${path}.${name}`);
    };
    visit(new LocatedYaml(readFileSync(EXAMPLE_FILE, 'utf8')).value, '');
    expect(Object.fromEntries(shown)).to.deep.equal(
      Object.fromEntries([...CONFIG_KEYS].map(([path, { default: byDefault = null }]) => [path, byDefault])),
    );
    await loadConfig({ file: EXAMPLE_FILE, folder, environment: {} });
    expect(readFileSync(EXAMPLE_FILE, 'utf8')).to.equal(exampleText());
  });
});

// Goal: one client is identified as one however its address is written, and two clients as two.
// Method: properties over addresses that are made of numbers and written in every allowed way; networks are compared
// with arithmetic on those numbers. Failures print their seed.

const ipv4 = fc.tuple(...Array.from({ length: 4 }, () => fc.nat(255))) as fc.Arbitrary<
  [number, number, number, number]
>;
const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });

/** Any spelling of eight groups: capitals, leading zeros, one run of zeros left out, the last two as IPv4. */
const spelled = (numbers: readonly number[]) =>
  fc
    .record({ inCapitals: fc.boolean(), width: fc.integer({ min: 1, max: 4 }), from: fc.nat(7), dotted: fc.boolean() })
    .map(({ inCapitals, width, from, dotted }) => {
      const written = numbers.map((group) => group.toString(16).padStart(width, '0'));
      const [high = 0, low = 0] = numbers.slice(6);
      if (dotted) written.splice(6, 2, [high >> 8, high & 255, low >> 8, low & 255].join('.'));
      let until = from;
      while (until < (dotted ? 6 : 8) && numbers[until] === 0) until += 1;
      const text =
        until === from ? written.join(':') : `${written.slice(0, from).join(':')}::${written.slice(until).join(':')}`;
      return inCapitals ? text.toUpperCase() : text;
    });

const isMapped = (numbers: readonly number[]) =>
  numbers.slice(0, 5).every((group) => group === 0) && numbers[5] === 0xffff;

describe('the network of a client', () => {
  it('is the /64 of an IPv6 address, in any spelling', () => {
    forAllSync(
      2_000,
      [
        groups
          .filter((numbers) => !isMapped(numbers))
          .chain((numbers) => fc.tuple(fc.constant(numbers), spelled(numbers))),
      ],
      ([numbers, text]) => {
        expect(networkOf(text), text).to.equal(
          `${numbers
            .slice(0, 4)
            .map((group) => group.toString(16))
            .join(':')}::/64`,
        );
      },
    );
  });

  it('is the IPv4 address, also within IPv6', () => {
    forAllSync(
      100,
      [
        ipv4.chain((bytes) =>
          fc.tuple(
            fc.constant(bytes),
            spelled([0, 0, 0, 0, 0, 0xffff, bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]]),
          ),
        ),
      ],
      ([bytes, mapped]) => {
        expect([networkOf(bytes.join('.')), networkOf(mapped)], mapped).to.deep.equal([
          bytes.join('.'),
          bytes.join('.'),
        ]);
      },
    );
  });

  it('omits the zone, and is none for a text that is not an address', () => {
    expect(networkOf('fe80::1%eth0')).to.equal('fe80:0:0:0::/64');
    for (const text of ['', 'x', '1.2.3', '1.2.3.4:80', '[::1]', '1.2.3.4/8', '::1::', 'unknown'])
      expect(networkOf(text), text).to.equal(undefined);
  });
});

describe('a list of networks', () => {
  it('includes addresses that begin with the bits of one of them', () => {
    forAllSync(100, [ipv4, ipv4, fc.integer({ min: 0, max: 32 })], (network, address, prefix) => {
      const bits = (bytes: readonly number[]) =>
        bytes
          .map((byte) => byte.toString(2).padStart(8, '0'))
          .join('')
          .slice(0, prefix);
      const list = new Networks(['2001:db8::/32', `${network.join('.')}/${prefix}`]);
      expect(list.has(address.join('.'))).to.equal(bits(network) === bits(address));
      expect(list.has(`::ffff:${address.join('.')}`)).to.equal(bits(network) === bits(address));
    });
  });

  it('includes single addresses, in any spelling', () => {
    const list = new Networks(['::ffff:10.0.0.1', '2001:DB8:0::1', '2001:db8:1::/48']);
    for (const address of ['10.0.0.1', '::ffff:a00:1', '2001:db8::1', '2001:db8:1:ffff::9'])
      expect(list.has(address), address).to.equal(true);
    for (const address of ['10.0.0.2', '2001:db8::2', '2001:db8:2::', '', 'x', '10.0.0.1, 10.0.0.1'])
      expect(list.has(address), address).to.equal(false);
    expect(new Networks([]).has('127.0.0.1')).to.equal(false);
  });

  it('accepts only addresses and networks', () => {
    for (const text of ['0.0.0.0/0', '10.0.0.0/8', '10.1.2.3', '::/0', 'fd00::/8', '::1/128'])
      expect(isNetwork(text), text).to.equal(true);
    for (const text of [
      '',
      '10.0.0.0/33',
      '::1/129',
      '10.0.0/8',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      'localhost',
      '*',
      'fe80::1%eth0',
      '1.2.3.4/-1',
      '1.2.3.4/+1',
    ])
      expect(isNetwork(text), text).to.equal(false);
  });
});
