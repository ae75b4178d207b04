// Goal: the remains of an interrupted start do not prevent a later start from creating the secret, and a reader creates
// none.
// Method: a folder with such remains; and one that is only read.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSecrets, readOrCreateToken, readSecrets, readToken } from '../../../apps/wiring/secrets.js';

describe('the secret of an installation', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-secrets-'));
    path = join(folder, 'secret');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is created beside the remains of a start with the same process id, and leaves none itself', () => {
    writeFileSync(`${path}.${process.pid}`, 'cut');
    const { fingerprint } = openSecrets(path, { inUse: false, isShared: false });
    expect(readdirSync(folder).sort()).to.deep.equal(['secret', `secret.${process.pid}`]);
    expect(openSecrets(path, { inUse: true, isShared: true }).fingerprint).to.equal(fingerprint);
  });

  it('is not created by a reader', () => {
    for (const needs of [
      { inUse: false, isShared: false },
      { inUse: true, isShared: false },
      { inUse: false, isShared: true },
    ]) {
      expect(() => readSecrets(path, needs)).to.throw(/^\S+ (?:is missing|does not exist yet).*\.$/);
    }
    expect(readToken(path)).to.equal(undefined);
    expect(readdirSync(folder)).to.deep.equal([]);
    const token = readOrCreateToken(path);
    expect([readToken(path), readFileSync(path, 'utf8').trim()]).to.deep.equal([token, token]);
    expect(readSecrets(path, { inUse: false, isShared: true }).fingerprint).to.match(/^[0-9a-f]{64}$/);
  });
});
