/**
 * Goal: a typo in the chart's values is reported before anything is installed, and the values can set every key of the
 * program that belongs to the operator.
 * Method: compare the schema with values.yaml and with the program's own keys, in both directions; try invalid values.
 */
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { parse } from 'yaml';
import { CONFIG_KEYS } from '../../apps/config/keys.js';
import {
  CASES,
  CHART,
  EXAMPLES,
  headerOf,
  renderedText,
  stringsIn,
  textOf,
  type Tree,
  valuesFileOf,
  yamlOf,
} from './chart-files.js';

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

const schema = JSON.parse(textOf(`${CHART}/values.schema.json`)) as Schema & {
  readonly $defs: Readonly<Record<string, Schema>>;
};
const values = yamlOf<Readonly<Record<string, Tree>>>(`${CHART}/values.yaml`);
const isValid = new Ajv({ strict: false, allErrors: true }).compile(schema);

/** Keys that the chart sets itself, and keys that are secrets. */
const NOT_VALUES = [
  'role',
  'data_folder',
  'secret_file',
  'catalog',
  'mongo.url',
  'postgres.url',
  'postgres.direct_url',
  'sign_in.provider_client_secret',
  'minio.access_key',
  'minio.secret_key',
  'minio.upload_access_key',
  'minio.upload_secret_key',
  'grpc.callers_file',
  'grpc.tls_cert_file',
  'grpc.tls_key_file',
  'grpc.tls_client_ca_file',
];

type Branch = Readonly<Record<string, Tree>>;

function isBranch(tree: Tree | undefined): tree is Branch {
  return typeof tree === 'object' && tree !== null && !Array.isArray(tree);
}

/** Merges `over` into `under`, as helm merges values: null removes what is beneath. */
function merged(under: Branch, over: Branch): Branch {
  const own = Object.entries(over).map(([name, tree]): [string, Tree] => {
    const beneath = under[name];
    return [name, isBranch(beneath) && isBranch(tree) ? merged(beneath, tree) : tree];
  });
  const all = Object.entries({ ...under, ...Object.fromEntries(own) });
  return Object.fromEntries(all.filter(([name]) => !(name in under && over[name] === null)));
}

function faultsOf(given: Branch): string[] {
  isValid(merged(values, given));
  return (isValid.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`);
}

/** The paths of all leaf keys below a schema. */
function pathsBelow({ properties = {} }: Schema, before = ''): string[] {
  return Object.entries(properties).flatMap(([name, below]) =>
    below.properties ? pathsBelow(below, `${before}${name}.`) : [`${before}${name}`],
  );
}

/** Each schema of an object that defines keys, with its path. */
function closedObjects(part: Schema, path: string): [string, Schema][] {
  const below = Object.entries(part.properties ?? {}).flatMap(([name, inner]) =>
    closedObjects(inner, `${path}/${name}`),
  );
  return part.properties ? [[path, part], ...below] : below;
}

describe('values of the chart', () => {
  it('are valid by default, and with the values of each case', () => {
    expect(faultsOf({})).to.deep.equal([]);
    for (const name of CASES) expect(faultsOf(yamlOf<Branch>(valuesFileOf(name))), name).to.deep.equal([]);
    for (const name of EXAMPLES) expect(faultsOf(yamlOf<Branch>(`${CHART}/examples/${name}`)), name).to.deep.equal([]);
  });

  it('refuse any key that is not in the schema, at any depth', () => {
    const parts = [
      ...closedObjects(schema, ''),
      ...Object.entries(schema.$defs).flatMap(([name, part]) => closedObjects(part, `$defs/${name}`)),
    ];
    expect(parts.filter(([, part]) => part.additionalProperties !== false).map(([path]) => path)).to.deep.equal([]);
    expect(parts).to.have.length.above(20);
  });

  const wrong: Readonly<Record<string, Branch>> = {
    ' must NOT have additional properties': { replicas: 3 },
    '/worker must NOT have additional properties': { worker: { replica: 3 } },
    '/config/rest must NOT have additional properties': { config: { rest: { prot: 8080 } } },
    '/config/mongo must NOT have additional properties': { config: { mongo: { url: 'mongodb://db' } } },
    '/config/postgres must NOT have additional properties': { config: { postgres: { url: 'postgres://db' } } },
    '/config/stores/database must be equal to one of the allowed values': {
      config: { stores: { database: 'sqlite' } },
    },
    '/config/internal/host must NOT be valid': { config: { internal: { host: '127.0.0.1' } } },
    '/config/grpc/host must NOT be valid': { config: { grpc: { host: '127.0.0.1' } } },
    '/config/grpc must NOT have additional properties': { config: { grpc: { callers_file: '/tmp/callers.yaml' } } },
    '/config/providers/fal/api_key boolean schema is false': {
      config: { providers: { fal: { kind: 'fal', api_key: 'a-key' } } },
    },
    '/secrets/providers/fal must NOT have additional properties': {
      secrets: { providers: { fal: { existingSecret: 'fal', value: 'a-key' } } },
    },
    '/image/tag must NOT be valid': { image: { tag: 'latest' } },
    '/rest/replicas must be integer,null': { rest: { replicas: 'two' } },
    '/rest/enabled boolean schema is false': { rest: { enabled: false } },
    '/workerGroups/own/enabled boolean schema is false': { workerGroups: { own: { enabled: false } } },
    '/stop/marginSeconds must be >= 1': { stop: { marginSeconds: 0 } },
  };

  for (const [fault, given] of Object.entries(wrong)) {
    it(`are refused if they contain ${JSON.stringify(given)}`, () => {
      expect(faultsOf(given)).to.deep.equal([fault]);
    });
  }

  it('accept exactly the keys of darkroom.yaml that are not secret and not set by the chart', () => {
    // Providers are a map with any instance names. The program defines their options.
    const known = new Set(
      [...CONFIG_KEYS.keys()]
        .filter((path) => !NOT_VALUES.includes(path))
        .map((path) => path.replace(/^providers\..*/, 'providers')),
    );
    expect(pathsBelow(schema.properties?.['config'] ?? {}).sort()).to.deep.equal([...known].sort());
  });

  it('accept every key with the type that it has in the configuration', () => {
    const leafOf = (path: string) =>
      path
        .split('.')
        .reduce<Schema | undefined>((part, name) => part?.properties?.[name], schema.properties?.['config']);
    for (const [path, known] of CONFIG_KEYS) {
      const { default: byDefault = null } = known;
      const { type } = leafOf(path) ?? {};
      if (type === undefined || NOT_VALUES.includes(path)) continue;
      // The program checks bounds and integers, not the chart, because helm converts all numbers to floats.
      const wanted = known['type'] === 'integer' ? 'number' : known['type'];
      expect(type, path).to.deep.equal(byDefault === null ? [wanted, 'null'] : wanted);
    }
  });

  it('accept every key with its default', () => {
    const fixed = ['stores.', 'rest.host', 'grpc.host', 'internal.'];
    for (const [path, { default: byDefault = null }] of CONFIG_KEYS) {
      if (NOT_VALUES.includes(path) || fixed.some((start) => path.startsWith(start))) continue;
      const given = path.split('.').reduceRight<Tree>((tree, name) => ({ [name]: tree }), byDefault as Tree) as Branch;
      expect(faultsOf({ config: given }), path).to.deep.equal([]);
    }
  });

  it('contain no secret, only names of secrets', () => {
    const all = [...stringsIn(values), ...CASES.flatMap((name) => stringsIn(yamlOf<Tree>(valuesFileOf(name))))];
    expect(all.filter((text) => /:\/\/[^/\s]*:[^/\s]*@|svc_live_/.test(text))).to.deep.equal([]);
  });
});

describe('deploy/helm/darkroom', () => {
  it('has the version of the project', () => {
    const { version } = JSON.parse(textOf('package.json')) as { version: string };
    const chart = parse(textOf(`${CHART}/Chart.yaml`)) as { version: string; appVersion: string };
    expect({ chart: chart.version, app: chart.appVersion }).to.deep.equal({ chart: version, app: version });
  });

  for (const name of CASES) {
    it(`is unchanged since test/deploy/rendered/${name}.yaml was rendered; node dist/test/deploy/render.js renders it again, with helm`, () => {
      expect(`${renderedText(name).split('\n')[0]}\n`).to.equal(headerOf());
    });
  }
});
