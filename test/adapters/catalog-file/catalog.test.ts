// Goal: a catalog read from a file, including the shipped one, keeps the port's contract.
// Method: the contract on a catalog from text and on config/catalog.yaml as the program reads it.
import { expect } from 'chai';
import { loadCatalog, parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { catalogContract } from '../../contracts/catalog.contract.js';
import { GOOD_CATALOG } from './catalog-text.js';

const tools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };

catalogContract({
  name: 'a file',
  open: async () => parseCatalog(GOOD_CATALOG, 'c.yaml', tools),
  close: async () => undefined,
  supports: { keys: ['picture-1', 'film-1'] },
});

catalogContract({
  name: 'the file that ships',
  open: async () => loadCatalog('config/catalog.yaml', tools),
  close: async () => undefined,
  supports: { keys: ['sandbox-image', 'sandbox-video', 'sandbox-noop', 'sandbox-test'] },
});

describe('the catalog that ships', () => {
  it('lets no account take every place of a model', async () => {
    for (const { modelKey, concurrency, concurrencyPerAccount } of (
      await loadCatalog('config/catalog.yaml', tools)
    ).models()) {
      expect(concurrencyPerAccount, modelKey).to.be.lessThan(concurrency);
    }
  });
});
