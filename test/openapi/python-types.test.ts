// Goal: the types of the Python client, which are in the repository so that pip can install it, are those of the API.
// Method: compare the digest of the schemas that they were generated from with that of the present ones.
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../docs/pages.js';

describe('the types of the Python client', () => {
  it('are generated from the present schemas; clients/python/generate.py makes them again', () => {
    const schemas = JSON.parse(readFileSync(join(ROOT, 'dist/clients/schemas.json'), 'utf8')) as { 'x-sha256': string };
    const types = readFileSync(join(ROOT, 'clients/python/src/darkroom_client/types.py'), 'utf8');
    expect(/^# Of schemas with the SHA-256 ([0-9a-f]{64})\.\n$/m.exec(types)?.[1]).to.equal(schemas['x-sha256']);
  });
});
