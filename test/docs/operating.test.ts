/**
 * Goal: docs/operating/ names the configuration's own keys, their defaults and the log's own events.
 * Method: look up every key and variable that any page names; read the calls of the log out of the source and compare
 * them with the pages' tables, both ways.
 */
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { COLLECTION as AGENDA_COLLECTION } from '../../adapters/agenda/mongo/wake-up-collection.js';
import { schemaCollections } from '../../adapters/mongo/schema.js';
import { keySchemas, variableOf } from '../../apps/config/keys.js';
import { BUILT_IN_DRIVERS } from '../../apps/wiring/built-in-drivers.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { FULL_RUN_VARIABLE } from '../harness/run-sizes.js';
import { allPages, codeSpans, plain, readPage, ROOT, tablesOf } from './pages.js';

/** The example instances for separate vendors, with their kinds. */
const EXAMPLE_INSTANCES: readonly (readonly [string, string])[] = ['veo', 'seedance', 'minimax'].map((name) => [
  name,
  'http-json',
]);
/** The keys with one instance of each built-in provider, named after its kind. */
const CONFIG_KEYS = keySchemas(
  BUILT_IN_DRIVERS,
  new Map([
    ...BUILT_IN_DRIVERS.filter(({ kind }) => kind === 'provider').map(({ name }) => [name, name] as const),
    ...EXAMPLE_INSTANCES,
  ]),
);
const SECTIONS = new Set(
  [...CONFIG_KEYS.keys()].filter((path) => path.includes('.')).map((path) => path.split('.')[0]),
);
/** Read by commands and by samples of the documentation, or set by commands. */
const OTHER_VARIABLES = [
  // Read by Compose, for the files of deploy/.
  'DARKROOM_IMAGE',
  'DARKROOM_VERSION',
  'DARKROOM_CONFIG',
  'DARKROOM_API_KEY',
  'DARKROOM_URL',
  'DARKROOM_SERVICE_TOKEN',
  'DARKROOM_PROFILE',
  'DARKROOM_DEBUG',
  'DARKROOM_COMMAND',
  'DARKROOM_GRPC',
  'DARKROOM_WEBHOOK_SECRET',
  FULL_RUN_VARIABLE,
];

/** Shown for their form. */
const EXAMPLE_NAMES = ['timeoutMs'];

describe('docs/operating/', () => {
  it('has every event of the log, with its level where that is not a warning, and no other', () => {
    const tables = tablesOf(readPage('docs/operating/log.md')).filter(({ columns }) => columns[0] === 'Event');
    const rows = tables.flatMap((table) => table.rows);
    const shown = rows.map(([cell = '']) => {
      const [, event = cell, level = 'warn'] = /^`([^`]+)`(?:, (\w+))?$/.exec(cell) ?? [];
      return `${level}: ${event}`;
    });
    expect(shown.sort()).to.deep.equal(loggedEvents().sort());
  });

  it('has the shard key of every collection, and no other', () => {
    const rows =
      tablesOf(readPage('docs/operating/processes.md')).find(({ columns }) => columns[1] === 'Shard key')?.rows ?? [];
    const shown = rows.map(([collection, key]) => [plain(collection), plain(key)]);
    const known = schemaCollections().map(([name, { shardKey }]) => [
      name,
      shardKey === null ? 'not sharded' : keyText(shardKey),
    ]);
    expect(shown).to.have.deep.members([...known, [AGENDA_COLLECTION, 'not sharded']]);
  });

  it('gives retentions as they are by default', () => {
    const rows =
      tablesOf(readPage('docs/operating/maintenance.md')).find(({ columns }) => columns[1] === 'Kept')?.rows ?? [];
    expect(rows).to.not.have.length(0);
    for (const [what, kept = '', key] of rows) {
      const days = /(\d+) (day|hour)s/.exec(kept);
      if (days) expect(CONFIG_KEYS.get(plain(key))?.['default'], what).to.equal(Number(days[1]));
    }
  });
});

describe('docs/operating/troubleshooting.md', () => {
  it('quotes messages that the program prints', () => {
    const tables = tablesOf(readPage('docs/operating/troubleshooting.md'));
    const cells = tables.flatMap(({ columns, rows }) =>
      columns[0] === 'Message' ? rows.map(([cell = '']) => cell) : [],
    );
    const quoted = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message));
    expect(quoted).to.have.length.greaterThan(8);
    const source = sourceTexts().join('\n').replaceAll('\\`', '');
    const parts = quoted.flatMap((message) => message.split('…').map((part) => part.trim()));
    expect(parts.filter((part) => !source.includes(part))).to.deep.equal([]);
  });
});

describe('configuration named in the documentation', () => {
  for (const page of allPages()) {
    it(`${page.path} names only keys and variables that are there`, () => {
      const keys = codeSpans(page).filter(
        (span) => /^[a-z_]+(?:\.[a-z_]+)+(?<!\.json)$/.test(span) && SECTIONS.has(span.split('.')[0]),
      );
      expect(keys.filter((key) => !CONFIG_KEYS.has(key))).to.deep.equal([]);
      const settings = codeSpans(page).filter(
        (span) => /^[a-z]+[A-Za-z]*Ms$/.test(span) && !EXAMPLE_NAMES.includes(span),
      );
      expect(settings.filter((name) => !(name in DEFAULT_SETTINGS))).to.deep.equal([]);
      const known = new Set([...CONFIG_KEYS.keys()].map(variableOf).concat(OTHER_VARIABLES));
      const variables = [...page.text.matchAll(/\bDARKROOM_[A-Z_]+\b/g)].map(([name]) => name);
      expect(variables.filter((name) => !known.has(name))).to.deep.equal([]);
    });
  }
});

/** The key in the form that `sh.shardCollection` takes. */
function keyText(key: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(key)
    .map(([field, kind]) => `${field}: "${kind}"`)
    .join(', ')} }`;
}

/** Every event logged in the source, with its level; `varies` if the level is computed. */
function loggedEvents(): string[] {
  const calls = sourceTexts().flatMap((text) => [
    ...text.matchAll(
      /\blog(?:ger)?(?:\.(info|warn|error|debug|fatal)|\[level\])\((?:(?:[^'()]|\([^()]*\))*,)?\s*'([^']+)'/g,
    ),
  ]);
  return [...new Set(calls.map(([, level = 'varies', event]) => `${level}: ${event}`))];
}

/** The program's own TypeScript files. */
function sourceTexts(): string[] {
  return ['core', 'adapters', 'apps']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
    )
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, path), 'utf8'));
}
