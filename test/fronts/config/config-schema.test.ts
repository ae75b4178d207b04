import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { filesDriver } from '../../../adapters/files/files-driver.js';
import { mongoDriver } from '../../../adapters/mongo/mongo-driver.js';
import { sqliteDriver } from '../../../adapters/sqlite/sqlite-driver.js';
import { timersDriver } from '../../../adapters/timers/timers-driver.js';
import { grpcFaults } from '../../../apps/config/combinations.js';
import { CONFIG_KEYS } from '../../../apps/config/keys.js';
import { configSchema } from '../../../apps/config/config-schema.js';
import type { Config, GrpcConfig } from '../../../apps/config/config.js';
import { isNetwork } from '../../../apps/config/network-address.js';
import { accepts } from '../../../apps/config/option-schema.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { ROOT } from '../../docs/pages.js';
import { CliRun } from '../../harness/cli-run.js';

// Goal: the JSON Schema of the configuration accepts exactly what the program accepts, and is the one that editors get.
// Method: values of every kind at every key are checked with the schema and with the program; the schema is compiled
// with Ajv settings other than the program's own; the command is run with and without a module.

const SAMPLES: readonly Json[] = [
  null,
  true,
  'true',
  '',
  ' ',
  '\0',
  'text',
  'mongo',
  'files',
  'timers',
  'info',
  'http://host/',
  'http://host/?q',
  'mongodb://host/',
  [],
  ['10.0.0.0/8'],
  ['text'],
  [7],
  {},
  { a: 1 },
  -1,
  0,
  0.05,
  0.1,
  0.5,
  1,
  1.5,
  16,
  60,
  61,
  300,
  301,
  1_024,
  10_000,
  65_536,
  10_000_001,
  2 ** 40,
  2 ** 52,
];
const compile = (schema: JsonObject) =>
  new Ajv2020({
    strict: false,
    formats: { 'uri': (text: string) => URL.canParse(text), 'ip-network': isNetwork },
  }).compile(schema);

/** A file with a single key. */
function fileWith(path: string, value: Json): Json {
  const isOption = /^providers\.[^.]+\.(?!kind$)/.test(path);
  const file = path.split('.').reduceRight<Json>((below, name) => ({ [name]: below }), value) as JsonObject;
  // An instance without a kind is refused for that.
  return isOption
    ? { providers: { sandbox: { kind: 'sandbox', ...((file['providers'] as JsonObject)['sandbox'] as JsonObject) } } }
    : file;
}

describe('the JSON Schema of the configuration', () => {
  const takes = compile(configSchema(BUILT_IN_DRIVERS));

  it('accepts at every key what the program accepts, and nothing else', () => {
    const differing = [...CONFIG_KEYS]
      .filter(([path]) => !path.endsWith('.kind'))
      .flatMap(([path, schema]) =>
        SAMPLES.filter((value) => takes(fileWith(path, value)) !== accepts(schema, value)).map(
          (value) => `${path}: ${JSON.stringify(value)}`,
        ),
      );
    expect(differing).to.deep.equal([]);
  });

  it('has every key with its default and its bounds, and refuses any other', () => {
    for (const [path, { default: byDefault = null }] of CONFIG_KEYS)
      expect(takes(fileWith(path, byDefault)), path).to.equal(true);
    for (const file of [
      { colour: 'red' },
      { rest: { prot: 80 } },
      { mongo: { user: 'x' } },
      { providers: { a: { kind: 'camera' } } },
      { providers: { A: { kind: 'sandbox' } } },
      { providers: { a: { kind: 'sandbox', lens: 1 } } },
    ]) {
      expect(takes(file), JSON.stringify(file)).to.equal(false);
    }
  });

  for (const name of [
    'config/darkroom.example.yaml',
    'config/distributed.example.yaml',
    'config/postgres.example.yaml',
    'deploy/config/darkroom.yaml',
    'deploy/image/darkroom.yaml',
  ]) {
    it(`accepts ${name}`, () => {
      takes(parse(readFileSync(join(ROOT, name), 'utf8')) as Json);
      expect(takes.errors ?? []).to.deep.equal([]);
    });
  }

  it('has the comments of the table, and marks secrets', () => {
    const { properties } = configSchema(BUILT_IN_DRIVERS) as {
      properties: Record<string, { properties: Record<string, JsonObject>; description?: string }>;
    };
    expect(properties['rest']?.properties['port']).to.deep.include({
      description: '0: the process selects any free port and reports it.',
      minimum: 0,
      maximum: 65_535,
      default: 8080,
    });
    expect(properties['mongo']?.properties['url']).to.deep.include({ writeOnly: true, type: ['string', 'null'] });
    expect(properties['providers']?.description).to.include('any number of instances');
  });
});

describe('darkroom config schema', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-schema-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('prints it, with the options of configured modules, even if the file has other faults', async () => {
    const plain = await new CliRun(folder, ['config', 'schema']).ended;
    expect(JSON.parse(plain.stdout)).to.deep.equal(configSchema(BUILT_IN_DRIVERS));
    writeFileSync(
      join(folder, 'camera.mjs'),
      "export default { kind: 'provider', name: 'camera', options: { type: 'object', properties: { lens: { type: 'string' } } }, open() {} };",
    );
    writeFileSync(join(folder, 'darkroom.yaml'), 'modules: [./camera.mjs]\nrest: { port: x }\n');
    const { stdout, code } = await new CliRun(folder, ['config', 'schema']).ended;
    expect(code).to.equal(0);
    const takes = compile(JSON.parse(stdout) as JsonObject);
    expect([
      takes({ providers: { a: { kind: 'camera', lens: '50mm' } } }),
      takes({ providers: { a: { kind: 'camera', lens: 50 } } }),
    ]).to.deep.equal([true, false]);
  });
});

// Goal: a gRPC front is refused if it would not authenticate its callers, or if others could read their tokens.
// Method: every setting alone, and with the settings that make it safe.

const STORES = {
  database: { driver: sqliteDriver, options: {} },
  objects: { driver: filesDriver, options: {} },
  wakeUps: { driver: timersDriver, options: {} },
};
const TLS = { tlsCertFile: 'cert', tlsKeyFile: 'key' };

function faults(grpc: Partial<GrpcConfig>, changes: Partial<Pick<Config, 'role' | 'stores'>> = {}): string {
  return grpcFaults({
    grpc: { host: '127.0.0.1', port: 9090, plaintext: false, ...grpc },
    role: 'all',
    stores: STORES,
    ...changes,
  }).join(' ');
}

describe('a gRPC front', () => {
  it('may do without authentication on the loopback of a process with its own data folder, and nowhere else', () => {
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) expect(faults({ host }), host).to.equal('');
    expect(faults({}, { role: 'rest' })).to.include('grpc.callers_file');
    expect(faults({}, { stores: { ...STORES, database: { driver: mongoDriver, options: {} } } })).to.include(
      'grpc.callers_file',
    );
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'localhost.example', '::ffff:10.0.0.1'])
      expect(faults({ host, ...TLS }), host).to.include('grpc.callers_file');
    expect(faults({ callersFile: 'callers' }, { role: 'rest' })).to.equal('');
  });

  it('beyond this machine needs TLS, or an explicit setting for plain text', () => {
    const host = '0.0.0.0';
    expect(faults({ host, callersFile: 'callers' })).to.include('plain text');
    expect(faults({ host, callersFile: 'callers', plaintext: true })).to.equal('');
    expect(faults({ host, callersFile: 'callers', ...TLS })).to.equal('');
  });

  it('needs certificate and key, or neither', () => {
    expect(faults({ tlsCertFile: 'cert' })).to.include('belong together');
    expect(faults({ tlsKeyFile: 'key' })).to.include('belong together');
    expect(faults({ tlsClientCaFile: 'ca' })).to.include('grpc.tls_client_ca_file needs');
    expect(faults({ ...TLS, tlsClientCaFile: 'ca' })).to.include('grpc.callers_file');
    expect(faults({ ...TLS, tlsClientCaFile: 'ca', callersFile: 'callers' })).to.equal('');
  });

  it('has no faults if it is not configured', () =>
    expect(grpcFaults({ grpc: { host: '0.0.0.0', plaintext: false }, role: 'rest', stores: STORES })).to.deep.equal(
      [],
    ));
});
