import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogInvalid, loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { CurrentCatalog } from '../../../apps/wiring/current-catalog.js';

// Goal: the catalog in use is that of the newest reload that had no faults, with its text and time; faults have their lines.
// Method: a file that the test edits, read by the real reader.

const tools = { jsonSchemas: new AjvJsonSchemas(), checkSchema };
const text = (...keys: readonly string[]): string =>
  `version: 1\nmodels:\n${keys.map((key) => `  - { model_key: ${key}, price: 4, provider: sandbox }\n`).join('')}`;

describe('the current catalog', () => {
  let folder: string;
  let path: string;
  let now: number;
  let reloads: number[];
  const open = (): Promise<CurrentCatalog> =>
    CurrentCatalog.open({
      path,
      load: (name) => loadCatalog(path, tools, name),
      clock: { now: () => now },
      onReloaded: (models) => void reloads.push(models),
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-catalog-'));
    path = join(folder, 'models.yaml');
    now = 5;
    reloads = [];
    writeFileSync(path, text('a'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is that of the file when it was opened, until it is reloaded', async () => {
    const catalog = await open();
    expect(catalog.name).to.equal('models.yaml');
    expect(catalog.inUse()).to.deep.include({ text: text('a'), readAt: 5 });
    writeFileSync(path, text('a', 'b'));
    now = 9;
    const read = await catalog.read();
    expect(read).to.deep.include({ text: text('a', 'b'), readAt: 9 });
    expect(catalog.models().map(({ modelKey }) => modelKey)).to.deep.equal(['a']);
    expect(await catalog.reload()).to.deep.include({ text: text('a', 'b'), readAt: 9 });
    expect(catalog.models().map(({ modelKey }) => modelKey)).to.deep.equal(['a', 'b']);
    expect(catalog.find('b')).to.equal(catalog.models()[1]);
    expect(reloads).to.deep.equal([2]);
  });

  it('stays with a faulty file, whose faults have lines and no folder', async () => {
    const catalog = await open();
    writeFileSync(path, text('a').replace('price: 4', 'price: four').concat('  - { model_key: b }\n'));
    const faults = await catalog.read();
    expect(faults).to.have.length(3);
    expect((faults as readonly { line: number }[]).map(({ line }) => line)).to.deep.equal([3, 4, 4]);
    expect(JSON.stringify(faults)).to.not.include(folder).and.not.include('models.yaml');
    expect(await catalog.reload()).to.deep.equal(faults);
    expect(catalog.inUse()).to.deep.include({ text: text('a'), readAt: 5 });
    expect(reloads).to.deep.equal([]);
    await catalog.readAgain().then(
      () => expect.fail('it was read'),
      (error: unknown) => expect(error).to.be.instanceOf(CatalogInvalid),
    );
  });

  it('stays without its file', async () => {
    const catalog = await open();
    rmSync(path);
    expect(await catalog.reload()).to.deep.equal([{ message: 'There is no such file.' }]);
    expect(catalog.models()).to.have.length(1);
  });
});
