/**
 * Goal: docs/catalog.md describes every key of a catalog file, and shows a catalog that can be used.
 * Method: compare its tables with the file's schema, both ways; load its example; look up the models it names.
 */
import { expect } from 'chai';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CATALOG_FILE_SCHEMA } from '../../adapters/catalog-file/catalog-schema.js';
import { loadCatalog, parseCatalog } from '../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';
import type { JsonObject } from '../../core/json.js';
import { plain, readPage, ROOT, tablesOf } from './pages.js';

interface ObjectSchema {
  readonly properties: Readonly<Record<string, ObjectSchema & { readonly items: ObjectSchema }>>;
}

const page = readPage('docs/catalog.md');
const file = CATALOG_FILE_SCHEMA as unknown as ObjectSchema;
const model = file.properties['models']?.items as ObjectSchema;
const tools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };

function keysUnder(column: string): string[] {
  return tablesOf(page)
    .filter(({ columns }) => columns[0] === column)
    .flatMap(({ rows }) => rows.map(([key]) => plain(key)));
}

describe('docs/catalog.md', () => {
  it('has every key of the file and of a model, price apart, and no other', () => {
    const known = [...Object.keys(file.properties), ...Object.keys(model.properties)].filter((key) => key !== 'price');
    expect(keysUnder('Key').sort()).to.deep.equal(known.sort());
  });

  for (const part of ['limits', 'price']) {
    it(`has every key of ${part}, and no other`, () => {
      expect(keysUnder(`Key of \`${part}\``).sort()).to.deep.equal(
        Object.keys(model.properties[part]?.properties ?? {}).sort(),
      );
    });
  }

  it('names the defaults that a catalog is completed with', () => {
    const [least] = page.blocks.filter(({ info }) => info === 'yaml');
    const { models } = parse(parseCatalog(least?.text ?? '', 'c.yaml', tools).explained()) as { models: [JsonObject] };
    const [explained] = models;
    const literals = ['', 'limits', 'price'].flatMap((part) => {
      const values = part === '' ? explained : (explained[part] as JsonObject);
      return tablesOf(page)
        .filter(
          ({ columns }) => columns[0] === (part === '' ? 'Key' : `Key of \`${part}\``) && columns[2] === 'Default',
        )
        .flatMap(({ rows }) => rows)
        .filter(([, , shown = '']) => /^(?:\d+|false|`(?:\[\]|\{\}|required|fail|deliver)`)$/.test(shown))
        .map(([key = '', , shown = '']) => ({ key: plain(key), shown: plain(shown), value: values[plain(key)] }));
    });
    // An explained catalog leaves out keys whose default is that there is nothing.
    const written = literals.filter(({ key, value }) => value !== undefined && key !== 'provider_settings');
    expect(written).to.have.length.above(12);
    for (const { key, shown, value } of written) expect(JSON.stringify(value).replaceAll('"', ''), key).to.equal(shown);
  });

  it('begins with a catalog that can be used, on one screen', () => {
    const [least] = page.blocks.filter(({ info }) => info === 'yaml');
    expect(least?.text.trimEnd().split('\n')).to.have.length.at.most(12);
    expect(parseCatalog(least?.text ?? '', 'docs/catalog.md', tools).models()).to.have.length(1);
  });

  it('shows a longer catalog that can be used', () => {
    const [, example] = page.blocks.filter(({ info }) => info === 'yaml');
    expect(parseCatalog(example?.text ?? '', 'docs/catalog.md', tools).models()).to.have.length(1);
  });

  it('shows a route that can be used in place of a provider', () => {
    const [, example] = page.blocks.filter(({ info }) => info === 'yaml');
    const route = page.blocks.find(({ text }) => text.startsWith('    route:'));
    const text = example?.text.replace(/ {4}provider: .*\n {4}provider_settings: .*\n/, `${route?.text.trimEnd()}\n`);
    const [routed] = parseCatalog(text ?? '', 'docs/catalog.md', tools).models();
    expect(routed?.route.map(({ weight }) => weight)).to.deep.equal([3, 1, 0]);
  });

  it('shows a table of sizes that can be used', () => {
    const part = page.blocks.find(({ text }) => text.includes('size_table:'))?.text ?? '';
    const text = `version: 1\nmodels:\n  - model_key: m\n    provider: sandbox\n${part.replaceAll(/^/gm, '    ')}`;
    const [shown] = parseCatalog(text, 'docs/catalog.md', tools).models();
    expect(shown?.price.sizeTable?.sizes).to.have.length(4);
  });

  it("has keys for a vendor's price that can be used together", () => {
    const rows = tablesOf(page).find(({ columns }) => columns[0] === "A vendor's price")?.rows ?? [];
    expect(rows).to.have.length(4);
    for (const [of, keys = ''] of rows) {
      const price = [...keys.matchAll(/`(.+?)`/g)].map(([, key]) => key).join(', ');
      const text = [
        'version: 1',
        'models:',
        '  - model_key: m',
        '    provider: sandbox',
        `    modality: ${price.includes('frames_per_second') ? 'video' : 'image'}`,
        '    limits: { reference_roles: [reference_image] }',
        '    input_schema:',
        '      properties:',
        '        size: { type: string, enum: [1024x1024], default: 1024x1024 }',
        '        duration: { type: integer, enum: [6, 8], default: 6 }',
        '        audio: { type: boolean, default: true }',
        '        factor: { type: integer, enum: [2, 4], default: 2 }',
        `    price: { ${price.startsWith('unit: ') ? price : `unit: megapixel, size_parameter: size, ${price}`} }`,
      ].join('\n');
      expect(parseCatalog(text, 'docs/catalog.md', tools).models(), of).to.have.length(1);
    }
  });

  it('names the models that come with the program', async () => {
    const shipped = await loadCatalog(join(ROOT, 'config/catalog.yaml'), tools);
    expect(keysUnder('Model').sort()).to.deep.equal(
      shipped
        .models()
        .map(({ modelKey }) => modelKey)
        .sort(),
    );
  });
});
