import type { Command } from 'commander';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { CATALOG_FILE_SCHEMA } from '../../adapters/catalog-file/catalog-schema.js';
import { READABLE_FROM, schemaCollections, SCHEMA_VERSION } from '../../adapters/mongo/schema.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { defineFunctions, MIGRATIONS } from '../../adapters/sqlite/schema.js';
import { createProgram } from '../../apps/cli/program.js';
import { configSchema } from '../../apps/config/config-schema.js';
import { openApiDocument } from '../../apps/http/developer/openapi.js';
import { ROUTES } from '../../apps/http/developer/routes.js';
import { Metrics } from '../../apps/metrics/metrics.js';
import { BUILT_IN_DRIVERS } from '../../apps/wiring/built-in-drivers.js';
import { ERRORS } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { ROOT } from '../docs/pages.js';
import { quietIo } from '../harness/cli-run.js';
import { type Entry, type Interface, schemaEntries } from './entries.js';

/** Every public interface but gRPC, which `proto/published.yaml` records and buf compares. */
export const INTERFACES = {
  rest: { title: 'REST', collect: () => restInterface(restDocument()) },
  configuration: { title: 'configuration', collect: () => configurationInterface(configSchema(BUILT_IN_DRIVERS)) },
  catalog: { title: 'catalog', collect: () => catalogInterface(CATALOG_FILE_SCHEMA) },
  commands: { title: 'command line', collect: () => commandInterface(createProgram(quietIo())) },
  database: { title: 'stored data', collect: databaseInterface },
  metrics: { title: 'metrics', collect: metricsInterface },
  exports: { title: 'packages', collect: exportsInterface },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly collect: () => Interface }>>;

export type InterfaceName = keyof typeof INTERFACES;
export const INTERFACE_NAMES = Object.keys(INTERFACES) as readonly InterfaceName[];

/** The OpenAPI document with the limits that a service has by default. */
export function restDocument(): JsonObject {
  return openApiDocument(ROUTES, DEFAULT_SETTINGS);
}

interface Operation {
  readonly operationId: string;
  readonly security: Json;
  readonly parameters?: readonly JsonObject[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, JsonObject>> };
  readonly responses: Readonly<
    Record<string, { readonly headers?: JsonObject; readonly content?: Readonly<Record<string, JsonObject>> }>
  >;
}

/** Operations with their parameters and successful answers, the schemas that they use, and the error codes. */
export function restInterface(document: JsonObject): Interface {
  const paths = document['paths'] as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const components = document['components'] as unknown as Readonly<
    Record<string, Readonly<Record<string, JsonObject>>>
  >;
  const parts: Record<string, Entry>[] = [];
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations))
      parts.push(operationEntries(`${method.toUpperCase()} ${path}`, operation, components));
  const schemas = components['schemas'] ?? {};
  const [sent, received] = [(one: Entry) => one.direction === 'in', (one: Entry) => one.direction === 'out'].map(
    (fits) => reachable(parts.flatMap((part) => Object.values(part).filter(fits)).map(refOf), schemas),
  );
  for (const [name, schema] of Object.entries(schemas)) {
    const [isSent, isReceived] = [sent?.has(name), received?.has(name)];
    if (isSent || isReceived)
      parts.push(schemaEntries(name, schema, { direction: isSent && isReceived ? 'both' : isSent ? 'in' : 'out' }));
  }
  const codes = Object.keys(ERRORS).map((code): [string, Entry] => [`error code ${code}`, { direction: 'out' }]);
  return Object.assign({}, ...parts, Object.fromEntries(codes)) as Interface;
}

function operationEntries(
  name: string,
  operation: Operation,
  components: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>,
): Record<string, Entry> {
  const { operationId, security } = operation;
  const parts: Record<string, Entry>[] = [{ [name]: { direction: 'in', exact: { operationId, security } } }];
  for (const given of operation.parameters ?? []) {
    const parameter = resolved(given, components);
    const at = `${name} ${textAt(parameter, 'in')} ${textAt(parameter, 'name')}`;
    const required = parameter['required'] === true;
    parts.push(schemaEntries(at, parameter['schema'] as JsonObject, { direction: 'in', required }));
  }
  for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {}))
    parts.push(
      schemaEntries(`${name} body ${type}`, schema as JsonObject, {
        direction: 'in',
        required: operation.requestBody?.required === true,
      }),
    );
  for (const [status, { headers = {}, content = {} }] of Object.entries(operation.responses)) {
    if (Number(status) >= 400) continue;
    const at = `${name} ${status}`;
    parts.push({ [at]: { direction: 'out' } });
    for (const header of Object.keys(headers)) parts.push({ [`${at} header ${header}`]: { direction: 'out' } });
    for (const [type, { schema }] of Object.entries(content))
      if (schema !== undefined)
        parts.push(schemaEntries(`${at} ${type}`, schema as JsonObject, { direction: 'out', required: true }));
  }
  return Object.assign({}, ...parts) as Record<string, Entry>;
}

function resolved(
  given: JsonObject,
  components: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>,
): JsonObject {
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(textAt(given, '$ref')) ?? [];
  return components[kind]?.[name] ?? given;
}

const REF = /#\/components\/schemas\/([A-Za-z0-9_]+)/g;

function refOf({ exact }: Entry): string {
  return textAt(exact ?? {}, '$ref');
}

function textAt(node: JsonObject, name: string): string {
  const value = node[name];
  return typeof value === 'string' ? value : '';
}

/** The names of the schemas that some references lead to. */
function reachable(refs: readonly string[], schemas: Readonly<Record<string, JsonObject>>): ReadonlySet<string> {
  const found = new Set(refs.flatMap((ref) => [...ref.matchAll(REF)].map(([, name = '']) => name)));
  for (const name of found)
    for (const [, other = ''] of JSON.stringify(schemas[name] ?? {}).matchAll(REF)) found.add(other);
  return found;
}

/** The keys of darkroom.yaml; a variable of the environment has the name of its key. */
export function configurationInterface(schema: JsonObject): Interface {
  return withoutRoot('darkroom.yaml', schemaEntries('darkroom.yaml', schema, { direction: 'in' }));
}

/** The keys of a catalog file. */
export function catalogInterface(schema: JsonObject): Interface {
  return withoutRoot('catalog', schemaEntries('catalog', schema, { direction: 'in' }));
}

/** Keys by the path that is written in the file. */
function withoutRoot(root: string, entries: Interface): Interface {
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name === root ? root : name.slice(root.length + 1), entry]),
  );
}

/** Commands, their arguments in order, and their options. */
export function commandInterface(command: Command, path: readonly string[] = []): Interface {
  const here = [...path, command.name()].join(' ');
  const entries: Record<string, Entry> = { [here]: { direction: 'in' } };
  command.registeredArguments.forEach((argument, index) => {
    // Arguments have a place instead of a name that somebody writes.
    entries[`${here} (argument ${index + 1})`] = { direction: 'in', required: argument.required };
  });
  for (const option of command.options) {
    const name = option.long ?? option.short ?? '';
    const types = option.required ? ['value'] : option.optional ? ['flag', 'value'] : ['flag'];
    const { argChoices: choices } = option;
    entries[`${here} ${name}`] = {
      direction: 'in',
      required: option.mandatory,
      types,
      ...(choices === undefined ? {} : { values: choices.map((choice) => JSON.stringify(choice)).toSorted() }),
      ...(option.short === undefined ? {} : { exact: { short: option.short } }),
    };
  }
  const parts = command.commands.map((child) => commandInterface(child, [...path, command.name()]));
  return Object.assign(entries, ...parts) as Interface;
}

/** Tables and indexes of SQLite as a new data folder has them, collections and indexes of MongoDB, and the versions of both. */
export function databaseInterface(): Interface {
  return { ...sqliteInterface(MIGRATIONS), ...mongoInterface(schemaCollections()) };
}

export function sqliteInterface(migrations: readonly string[]): Interface {
  const database = openDatabase(':memory:');
  try {
    defineFunctions(database);
    for (const migration of migrations) database.exec(migration);
    const entries: Record<string, Entry> = { 'SQLite schema': { direction: 'out', version: migrations.length } };
    const objects = database
      .prepare("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
      .all();
    for (const { type, name, sql } of objects) {
      const at = `SQLite ${String(type)} ${String(name)}`;
      entries[at] = { direction: 'out', ...(type === 'table' ? {} : { exact: { sql: plainSql(sql) } }) };
      if (type !== 'table') continue;
      for (const column of database.prepare(`PRAGMA table_xinfo(${String(name)})`).all())
        entries[`${at}.${String(column['name'])}`] = { direction: 'out', types: [String(column['type'])] };
    }
    return entries;
  } finally {
    database.close();
  }
}

function plainSql(sql: unknown): string {
  return String(sql).replaceAll(/\s+/g, ' ').trim();
}

export function mongoInterface(collections: ReturnType<typeof schemaCollections>): Interface {
  const entries: Record<string, Entry> = {
    'MongoDB schema': { direction: 'out', version: SCHEMA_VERSION },
    // Processes of the release before have to end before the migration when this rises.
    'MongoDB readable from': { direction: 'out', exact: { version: READABLE_FROM } },
  };
  for (const [name, { shardKey, indexes }] of collections) {
    entries[`MongoDB collection ${name}`] = { direction: 'out', exact: { shardKey } };
    for (const { name: index, keys, unique = false, where = {} } of indexes)
      entries[`MongoDB collection ${name}.${index}`] = {
        direction: 'out',
        exact: { keys: Object.entries(keys), unique, where: where as JsonObject },
      };
  }
  return entries;
}

/** Metrics with their types and labels. */
export function metricsInterface(): Interface {
  const known = new Metrics().registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string;
    readonly type: string;
    readonly labelNames: readonly string[];
  }[];
  // Those of the process are the library's.
  const own = known.filter(({ name }) => name.startsWith('darkroom_'));
  return Object.assign(
    {},
    ...own.map(({ name, type, labelNames }) => ({
      [name]: { direction: 'out', exact: { type } },
      ...Object.fromEntries(labelNames.map((label) => [`${name}{${label}}`, { direction: 'out' }])),
    })),
  ) as Interface;
}

/**
 * The modules of the server package that an adapter elsewhere imports: docs/releasing.md says that other modules of core
 * and adapters are internal, although the package lets them be imported.
 */
const PUBLIC_MODULES = [
  /^core\/index$/,
  /^core\/ports\/.+$/,
  /^adapters\/driver$/,
  /^test\/contracts\/[^/]+\.contract$/,
];
const FAKE_SERVER = 'test/providers/fakes/fake-server';

/** Names that the packages export: of adapters and contracts, and of both client libraries. */
export function exportsInterface(): Interface {
  const dist = join(ROOT, 'dist');
  const modules = [...filesIn(dist, 'core'), ...filesIn(dist, 'adapters'), ...filesIn(dist, 'test/contracts')]
    .map((file) => file.replace(/\.d\.ts$/, ''))
    .filter((file) => PUBLIC_MODULES.some((pattern) => pattern.test(file)));
  const server = [...modules, FAKE_SERVER].flatMap((file) =>
    exportedNames(join(dist, `${file}.d.ts`)).map((name) => `${specifierOf(file)} ${name}`),
  );
  const typescript = exportedNames(join(dist, 'clients/typescript/src/index.d.ts')).map(
    (name) => `darkroom-client ${name}`,
  );
  const python = readFileSync(join(ROOT, 'clients/python/src/darkroom_client/__init__.py'), 'utf8');
  const [, list = ''] = /__all__ = \[([^\]]*)\]/.exec(python) ?? [];
  const inPython = [...list.matchAll(/"(\w+)"/g)].map(([, name = '']) => `darkroom_client.${name}`);
  return Object.fromEntries([...server, ...typescript, ...inPython].map((name) => [name, { direction: 'out' }]));
}

function specifierOf(file: string): string {
  if (file === FAKE_SERVER) return 'darkroom-server/contracts/fake-server';
  return `darkroom-server/${file.replace(/^test\/contracts/, 'contracts').replace(/^core\/index$/, 'core')}`;
}

function filesIn(dist: string, folder: string): string[] {
  return readdirSync(join(dist, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => relative(dist, join(dist, folder, file)))
    .toSorted();
}

/** The names that a declaration file exports. The compiler writes one declaration per line, at its start. */
export function exportedNames(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const declared = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|enum) (\w+)/gm),
  ].map(([, name = '']) => name);
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').flatMap((one) => /(\w+)\s*$/.exec(one.trim())?.[1] ?? []),
  );
  const passedOn = [...text.matchAll(/^export (?:type )?\* from ['"](\.[^'"]+)\.js['"]/gm)].flatMap(([, path = '']) => {
    const other = join(dirname(file), `${path}.d.ts`);
    return existsSync(other) ? exportedNames(other) : [];
  });
  return [...new Set([...declared, ...listed, ...passedOn])].toSorted();
}
