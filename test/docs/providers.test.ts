/*
 * Goal: docs/providers/ describes the actual options of providers, and every example in config/providers/ can be used.
 * Method: compare the tables with the schemas, both ways; load each example as the service would, in its own folder.
 */
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { loadCatalog, parseCatalog } from '../../adapters/catalog-file/file-catalog.js';
import { connectionOptions } from '../../adapters/providers/shared/connection-options.js';
import { FIELD_RULES_SCHEMA } from '../../adapters/providers/shared/request-fields.js';
import { loadConfig } from '../../apps/config/load-config.js';
import { catalogTools } from '../../apps/wiring/catalog-tools.js';
import { BUILT_IN_DRIVERS } from '../../apps/wiring/built-in-drivers.js';
import { codeSpans, plain, readPage, ROOT, tablesOf } from './pages.js';

const page = readPage('docs/providers/README.md');
const EXAMPLES = join(ROOT, 'config/providers');

function rowsUnder(column: string): readonly (readonly string[])[] {
  return tablesOf(page).find(({ columns }) => columns[0] === column)?.rows ?? [];
}

describe('docs/providers/README.md', () => {
  it('has every built-in kind, and no other', () => {
    const kinds = BUILT_IN_DRIVERS.filter(({ kind }) => kind === 'provider').map(({ name }) => name);
    expect(rowsUnder('Kind').map(([kind]) => plain(kind))).to.have.members(kinds);
  });

  it('has every option of a connection with its default, and no other', () => {
    const options = Object.entries(connectionOptions() as Record<string, { readonly default?: number | string }>);
    const known = options.map(([option, { default: byDefault }]) => [option, byDefault]);
    // A text that is a value is written as code; any other describes the default.
    const valueOf = (shown = '') => (/^\d/.test(shown) ? Number(shown) : /^`(.+)`$/.exec(shown)?.[1]);
    const shown = rowsUnder('Option').map(([option, byDefault]) => [plain(option), valueOf(byDefault)]);
    expect(shown).to.have.deep.members(known);
  });

  it('has every key of a rule for a field, and no other', () => {
    const { properties } = FIELD_RULES_SCHEMA['additionalProperties'] as { readonly properties: object };
    const shown = rowsUnder('Key of a rule').flatMap(([keys = '']) => keys.split(',').map((key) => plain(key).trim()));
    expect(shown).to.have.members(Object.keys(properties));
  });
});

describe('pages of providers', () => {
  for (const { kind, name } of BUILT_IN_DRIVERS) {
    if (kind !== 'provider' || name === 'sandbox') continue;

    it(`docs/providers/${name}.md begins with a catalog that can be used, on one screen`, async () => {
      const [catalog] = readPage(`docs/providers/${name}.md`).blocks.filter(({ info }) => info === 'yaml');
      const config = await loadConfig({ file: `${name}.yaml`, folder: EXAMPLES, environment: {} });
      expect(parseCatalog(catalog?.text ?? '', name, catalogTools(config)).models()).to.have.length(1);
      expect(catalog?.text.trimEnd().split('\n')).to.have.length.at.most(20);
    });
  }
});

describe('examples of providers', () => {
  const names = readdirSync(dirname(EXAMPLES), { recursive: true, encoding: 'utf8' })
    .filter((path) => dirname(path) === basename(EXAMPLES) && path.endsWith('.catalog.yaml'))
    .map((path) => basename(path));
  for (const name of names) {
    const provider = name.replace('.catalog.yaml', '');

    it(`${name} is a catalog that can be used with ${provider}.yaml`, async () => {
      const config = await loadConfig({ file: `${provider}.yaml`, folder: EXAMPLES, environment: {} });
      expect(config.catalog).to.equal(join(EXAMPLES, name));
      expect((await loadCatalog(config.catalog, catalogTools(config))).models()).to.not.have.length(0);
    });

    it(`docs/providers/${provider}.md names both files`, () => {
      const spans = codeSpans(readPage(`docs/providers/${provider}.md`));
      expect(spans).to.include.members([`config/providers/${name}`, `config/providers/${provider}.yaml`]);
    });
  }
});
