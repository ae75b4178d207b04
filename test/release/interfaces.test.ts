/**
 * Goal: a release that breaks somebody who uses the one before is found, and passes only if its changelog says so.
 * Method: collect this build's interfaces, change one thing in a copy of what they are collected from, and compare; for
 * gRPC, buf compares a copy of the proto files. Changes that break nobody are compared too.
 */
import { expect } from 'chai';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CATALOG_FILE_SCHEMA } from '../../adapters/catalog-file/catalog-schema.js';
import { schemaCollections } from '../../adapters/mongo/schema.js';
import { MIGRATIONS } from '../../adapters/sqlite/schema.js';
import { createProgram } from '../../apps/cli/program.js';
import { configSchema } from '../../apps/config/config-schema.js';
import { BUILT_IN_DRIVERS } from '../../apps/wiring/built-in-drivers.js';
import type { Json, JsonObject } from '../../core/json.js';
import { ROOT } from '../docs/pages.js';
import { quietIo } from '../harness/cli-run.js';
import { type Buf, bufProgram } from '../servers/buf/buf.js';
import { orSkip } from '../servers/server-absent.js';
import { protoBreaks, unmentioned } from './baseline.js';
import { breakingOf, cutChangelog, sectionOf } from './changelog.js';
import { breaks, type Interface, schemaEntries } from './entries.js';
import {
  catalogInterface,
  commandInterface,
  configurationInterface,
  exportedNames,
  exportsInterface,
  INTERFACE_NAMES,
  INTERFACES,
  metricsInterface,
  mongoInterface,
  restDocument,
  restInterface,
  sqliteInterface,
} from './interfaces.js';

const said = (before: Interface, after: Interface): readonly string[] =>
  breaks(before, after).map(({ name, change }) => `${name} ${change}`);

/** The object at a path of a document, to be changed in place. */
function at(document: JsonObject, ...path: readonly string[]): Record<string, Json> {
  return path.reduce<Record<string, Json>>((node, name) => node[name] as Record<string, Json>, document);
}

function without(entries: Interface, name: string): Interface {
  expect(entries, name).to.have.property(name);
  return Object.fromEntries(Object.entries(entries).filter(([other]) => other !== name));
}

describe('the comparison of interfaces', () => {
  it('finds nothing between a build and itself', () => {
    for (const name of INTERFACE_NAMES) {
      const collected: Interface = INTERFACES[name].collect();
      expect(Object.keys(collected).length, name).to.be.above(50);
      expect(breaks(collected, JSON.parse(JSON.stringify(collected)) as Interface), name).to.deep.equal([]);
    }
  });

  const PATH = '/api/v1/developer/generations';
  const REST: Readonly<Record<string, readonly [change: (document: JsonObject) => void, sentence: string]>> = {
    'an operation that is gone': [(one) => delete at(one, 'paths', PATH)['post'], `POST ${PATH} is gone`],
    'a field of an answer that is gone': [
      (one) => delete at(one, 'components', 'schemas', 'GenerationTask', 'properties')['completed_at'],
      'GenerationTask.completed_at is gone',
    ],
    'a field of an answer that may be absent': [
      (one) => {
        const task = at(one, 'components', 'schemas', 'GenerationTask');
        task['required'] = (task['required'] as readonly string[]).filter((name) => name !== 'charged_credits');
      },
      'GenerationTask.charged_credits may be absent now',
    ],
    'another type of a field of an answer': [
      (one) => {
        at(one, 'components', 'schemas', 'GenerationTask', 'properties', 'charged_credits')['type'] = 'string';
      },
      'GenerationTask.charged_credits may have the type string now',
    ],
    'a field of a request that must be given': [
      (one) => {
        at(one, 'components', 'schemas', 'GenerationRequest')['required'] = ['model_key', 'negative_prompt'];
      },
      'GenerationRequest.negative_prompt must be given now',
    ],
    'a text of a request that may be less long': [
      (one) => {
        at(one, 'components', 'schemas', 'GenerationRequest', 'properties', 'prompt')['maxLength'] = 100;
      },
      'GenerationRequest.prompt has maxLength 100 now, and had 8000',
    ],
    'a status that clients do not know': [
      (one) => {
        const { enum: statuses } = at(one, 'components', 'schemas', 'GenerationTask', 'properties', 'status');
        (statuses as string[]).push('paused');
      },
      'GenerationTask.status may have the value "paused" now',
    ],
    'an operation that needs another credential': [
      (one) => {
        at(one, 'paths', '/api/v1/developer/models', 'get')['security'] = [{ apiKey: [] }];
      },
      'GET /api/v1/developer/models has security [{"apiKey":[]}] now, and had []',
    ],
  };
  for (const [what, [change, sentence]] of Object.entries(REST))
    it(`finds ${what}, over REST`, () => {
      const document = structuredClone(restDocument());
      change(document);
      expect(said(restInterface(restDocument()), restInterface(document))).to.include(sentence);
    });

  it('finds an error code that is gone', () => {
    const entries = restInterface(restDocument());
    expect(said(entries, without(entries, 'error code CREDITS_INSUFFICIENT'))).to.deep.equal([
      'error code CREDITS_INSUFFICIENT is gone',
    ]);
  });

  it('finds a key of the configuration that is gone, has another default or takes less', () => {
    const schema = structuredClone(configSchema(BUILT_IN_DRIVERS));
    delete at(schema, 'properties')['mcp'];
    Object.assign(at(schema, 'properties', 'rest', 'properties', 'port'), { default: 9_090, minimum: 1_024 });
    const found = said(configurationInterface(configSchema(BUILT_IN_DRIVERS)), configurationInterface(schema));
    expect(found).to.have.lengthOf(3);
    expect(found).to.include.members(['mcp is gone', 'rest.port has default 9090 now, and had 8080']);
    expect(found.join()).to.match(/rest\.port has minimum 1024 now, and had \d/);
  });

  it('finds a key of a catalog that takes fewer values, or must be given', () => {
    const schema = structuredClone(CATALOG_FILE_SCHEMA);
    const model = at(schema, 'properties', 'models', 'items');
    model['required'] = [...(model['required'] as readonly string[]), 'display_name'];
    at(model, 'properties', 'modality')['enum'] = ['image'];
    expect(said(catalogInterface(CATALOG_FILE_SCHEMA), catalogInterface(schema))).to.have.members([
      'models[].modality no longer takes the value "video"',
      'models[].display_name must be given now',
    ]);
  });

  it('finds a command that is gone, an option that is gone, and an argument that must be given', () => {
    const program = createProgram(quietIo());
    const named = (name: string) => program.commands.find((command) => command.name() === name)!;
    (program.commands as unknown[]).splice(program.commands.indexOf(named('credits')), 1);
    const generate = named('generate');
    (generate.options as unknown[]).splice(
      generate.options.findIndex(({ long }) => long === '--out'),
      1,
    );
    generate.registeredArguments[0]!.required = true;
    expect(said(commandInterface(createProgram(quietIo())), commandInterface(program))).to.have.members([
      'darkroom credits is gone',
      'darkroom generate --out is gone',
      'darkroom generate (argument 1) must be given now',
    ]);
  });

  it('finds a column and an index of SQLite that are gone, and a schema that falls', () => {
    const migrated = sqliteInterface([...MIGRATIONS, 'DROP INDEX generations_by_attention; DROP TABLE boot_leases']);
    expect(said(sqliteInterface(MIGRATIONS), migrated)).to.have.members([
      'SQLite index boot_leases_by_removal is gone',
      'SQLite index generations_by_attention is gone',
      'SQLite table boot_leases is gone',
    ]);
    expect(said(migrated, sqliteInterface(MIGRATIONS))).to.deep.equal([
      `SQLite schema falls from ${MIGRATIONS.length + 1} to ${MIGRATIONS.length}`,
    ]);
  });

  it('finds an index of MongoDB that is gone or became unique', () => {
    const changed = schemaCollections().map(
      ([name, definition]) =>
        [
          name,
          name === 'accounts'
            ? {
                ...definition,
                indexes: definition.indexes.slice(1).map((index) => ({ ...index, unique: true as const })),
              }
            : definition,
        ] as const,
    );
    expect(said(mongoInterface(schemaCollections()), mongoInterface(changed))).to.deep.equal([
      'MongoDB collection accounts.holds_by_time is gone',
      'MongoDB collection accounts.accounts_by_outbox has unique true now, and had false',
    ]);
  });

  it('finds a metric that is gone, one of another type, and a label that is gone', () => {
    const entries = metricsInterface();
    const finished = 'darkroom_generations_finished_total';
    expect(said(entries, without(entries, `${finished}{model}`))).to.deep.equal([`${finished}{model} is gone`]);
    const changed = { ...entries, [finished]: { ...entries[finished]!, exact: { type: 'gauge' } } };
    expect(said(entries, changed)).to.deep.equal([`${finished} has type "gauge" now, and had "counter"`]);
  });

  it('finds a name that a package no longer exports, in each way in which declarations export', () => {
    const entries = exportsInterface();
    expect(entries).to.include.keys(
      'darkroom-server/core/ports/provider Provider',
      'darkroom-server/contracts/provider.contract providerContract',
      'darkroom-client Darkroom',
      'darkroom_client.AsyncDarkroom',
    );
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-exports-'));
    try {
      writeFileSync(join(folder, 'other.d.ts'), 'export interface Passed {\n}\n');
      writeFileSync(
        join(folder, 'index.d.ts'),
        "export declare const one: 1;\nexport declare abstract class Two {\n}\nexport { type Three, four as five } from './other.js';\nexport type * from './other.js';\n",
      );
      expect(exportedNames(join(folder, 'index.d.ts'))).to.deep.equal(['Passed', 'Three', 'Two', 'five', 'one']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('allows additions to requests: more values, wider bounds, and a new object with required fields', () => {
    const before = schemaEntries(
      'Request',
      { type: 'object', properties: { a: { type: 'integer', maximum: 5, enum: [1, 2] } } },
      { direction: 'in' },
    );
    const after = schemaEntries(
      'Request',
      {
        type: 'object',
        properties: {
          a: { type: ['integer', 'null'], maximum: 9, enum: [1, 2, 3] },
          b: { type: 'object', required: ['c'], properties: { c: { type: 'string' } } },
        },
      },
      { direction: 'in' },
    );
    expect(said(before, after)).to.deep.equal([]);
    expect(said(after, before)).to.have.members([
      'Request.b is gone',
      'Request.a no longer takes the type null',
      'Request.a no longer takes the value 3',
      'Request.a has maximum 5 now, and had 9',
    ]);
  });
});

describe('the comparison of proto files', () => {
  let buf: Buf;
  before(async function find() {
    buf = await orSkip(this, bufProgram());
  });

  it('names the message and the field that are gone', () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-proto-'));
    try {
      cpSync(join(ROOT, 'proto'), folder, { recursive: true });
      const file = join(folder, 'darkroom/v1/generations.proto');
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace('int64 charged_credits = 12;', 'reserved 12;'));
      const found = protoBreaks(buf, ROOT, folder);
      expect(found.map(({ name }) => name)).to.deep.equal(['Generation.charged_credits']);
      expect(found[0]?.change).to.include('was deleted');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the changelog of a release', () => {
  const CHANGELOG = `# Changelog

## [Unreleased]

### Breaking

- \`Task.a\` is named \`Task.b\`: rename it.

### Added

- \`Task.c\`.

## [0.1.0] - 2026-11-29

- The first release.
`;

  it('has to name each break under Breaking, by a sentence each', () => {
    const found = ['Task.a', 'Task.c', 'Task'].map((name) => ({ name, change: 'is gone', title: 'REST' }));
    expect(unmentioned(found, breakingOf(sectionOf(CHANGELOG, 'Unreleased')))).to.deep.equal([
      'REST: Task.c is gone; name `Task.c` under "Breaking" of Unreleased in CHANGELOG.md and say what to do, or undo it.',
      'REST: Task is gone; name `Task` under "Breaking" of Unreleased in CHANGELOG.md and say what to do, or undo it.',
    ]);
    expect(breakingOf(sectionOf(CHANGELOG, '0.1.0'))).to.equal('');
  });

  it('becomes the section of its version, and an empty one is not released', () => {
    const cut = cutChangelog(CHANGELOG, '0.2.0', '2026-12-01');
    expect(sectionOf(cut, 'Unreleased').text).to.equal('');
    expect(sectionOf(cut, '0.2.0')).to.include({ date: '2026-12-01' });
    expect(breakingOf(sectionOf(cut, '0.2.0'))).to.include('Task.a');
    expect(() => cutChangelog(cut, '0.3.0', '2026-12-02')).to.throw('nothing to release');
    expect(() => cutChangelog(CHANGELOG, '0.1.0', '2026-12-02')).to.throw('has a section [0.1.0] already');
    expect(() => sectionOf('# Changelog\n\n## 0.1.0\n', 'Unreleased')).to.throw('which is not "## [version] - date"');
  });
});
