/**
 * Goal: docs/openai.md has every code that the OpenAI-compatible API refuses with, under its status, and its examples name
 * models and variables that there are.
 * Method: its table of errors against the tables in code, both ways; its models against the catalog that comes with the
 * program. `test/clients/openai` runs its blocks.
 */
import { expect } from 'chai';
import { join } from 'node:path';
import { loadCatalog } from '../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../adapters/system/check-schema.js';
import { API_ERRORS } from '../../apps/http/openai/errors.js';
import { readPage, ROOT, tablesOf } from './pages.js';

const page = readPage('docs/openai.md');

describe('docs/openai.md', () => {
  it('has every status and code of an error, and no other', () => {
    const rows = tablesOf(page).find(({ columns }) => columns[0] === 'Status')?.rows ?? [];
    const documented = rows.flatMap(([status = '', codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => `${status} ${code}`),
    );
    expect(documented.sort()).to.deep.equal(API_ERRORS.map(({ status, code }) => `${status} ${code}`).sort());
  });

  it('uses models that come with the program', async () => {
    const tools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };
    const shipped = await loadCatalog(join(ROOT, 'config/catalog.yaml'), tools);
    const named = [...page.text.matchAll(/\bsandbox-\w+/g)].map(([name]) => name);
    expect(named.filter((name) => shipped.find(name) === undefined)).to.deep.equal([]);
  });
});
