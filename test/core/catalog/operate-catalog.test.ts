import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogInUse, checkCatalog, mayHaveSecret, reloadCatalog } from '../../../core/catalog/operate-catalog.js';
import type { Model } from '../../../core/catalog/model.js';
import type { CatalogSource, ReadCatalog } from '../../../core/ports/catalog.js';
import { imageModel } from '../../fixtures/models.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { ROOT } from '../../docs/pages.js';

// Goal: operators see the changes of a reload before it happens, and never a text that may have a secret.
// Method: a source whose next reading a test decides; texts with and without secrets, among them the catalogs in config/.

const model = (modelKey: string, changes: Partial<Model> = {}): Model => imageModel({ modelKey, ...changes });

async function open(before: readonly Model[], text = 'version: 1') {
  const readings = { next: { models: before, text, readAt: 5 } as Awaited<ReturnType<CatalogSource['read']>> };
  let used: ReadCatalog = { models: before, text, readAt: 5 };
  const catalogSource: CatalogSource = {
    name: 'catalog.yaml',
    inUse: () => used,
    read: () => Promise.resolve(readings.next),
    reload: () => {
      if ('models' in readings.next) used = readings.next;
      return Promise.resolve(readings.next);
    },
  };
  const harness = await CoreHarness.open();
  return { readings, context: { ...harness.context, catalogSource }, plain: harness.context };
}

describe('the catalog as operators see it', () => {
  it('has its file, its models and its text', async () => {
    const models = [model('a')];
    const { context } = await open(models);
    expect(catalogInUse(context)).to.deep.equal({ fileName: 'catalog.yaml', readAt: 5, models, text: 'version: 1' });
  });

  it('leaves out a text that is long or may have a secret', async () => {
    const { context: long } = await open([], 'x'.repeat(300_000));
    expect(catalogInUse(long)).to.include({ textHidden: 'large' }).and.not.have.property('text');
    const { context: secret } = await open([], 'api_key: abcdef123456');
    expect(catalogInUse(secret)).to.include({ textHidden: 'secrets' }).and.not.have.property('text');
  });

  it('is unknown in a process that reads no file', async () => {
    const { plain } = await open([]);
    await expectCode('NOT_FOUND', checkCatalog(plain));
    await expectCode('NOT_FOUND', reloadCatalog(plain));
    expect(() => catalogInUse(plain))
      .to.throw()
      .with.property('code', 'NOT_FOUND');
  });

  it('shows the changes of a reload, and makes them only on reload', async () => {
    const { readings, context } = await open([model('a'), model('b'), model('c')]);
    const after = [model('c'), model('a', { displayName: 'Other' }), model('d')];
    readings.next = { models: after, text: 'version: 1', readAt: 9 };
    const expected = {
      fileName: 'catalog.yaml',
      faults: [],
      models: 3,
      changes: { added: ['d'], removed: ['b'], changed: ['a'], isReordered: true },
    };
    expect(await checkCatalog(context)).to.deep.equal(expected);
    expect(catalogInUse(context).readAt).to.equal(5);
    expect(await reloadCatalog(context)).to.deep.equal(expected);
    expect(catalogInUse(context)).to.include({ readAt: 9, models: after });
    expect((await checkCatalog(context)).changes).to.deep.equal({
      added: [],
      removed: [],
      changed: [],
      isReordered: false,
    });
  });

  it('ignores the order of fields', async () => {
    const { readings, context } = await open([model('a')]);
    const turned = Object.fromEntries(Object.entries(model('a')).toReversed()) as unknown as Model;
    readings.next = { models: [turned], text: '', readAt: 9 };
    expect((await checkCatalog(context)).changes)
      .to.include({ isReordered: false })
      .and.deep.include({ changed: [] });
  });

  it('is unchanged by a reload of a file with faults', async () => {
    const { readings, context } = await open([model('a')]);
    const faults = [{ line: 3, message: 'models[0].price is required.' }, { message: 'There is no such file.' }];
    readings.next = faults;
    for (const act of [checkCatalog, reloadCatalog])
      expect(await act(context)).to.deep.equal({ fileName: 'catalog.yaml', faults });
    expect(catalogInUse(context).readAt).to.equal(5);
  });
});

describe('a text that may have a secret', () => {
  for (const text of [
    'api_key: 0123456789',
    '"apiKey": "abcdefgh"',
    'Authorization: Bearer abcdefgh',
    '# secret = hunter22',
    'password: correcthorse',
    'note: sk-abcdefghijk',
    'url: https://me:pass@example.com/x',
    'key: svc_live_abcdefghijk',
    'auth-token: abcdefgh',
  ])
    it(`is ${text}`, () => expect(mayHaveSecret(text)).to.equal(true));

  for (const text of [
    'max_tokens: 1000000',
    'description: A secret garden at dawn',
    'prompt: the password is forgotten',
    'url: https://example.com/a:b@c',
    'size: 1024x1024',
    'digest: sha256:0123456789abcdef0123456789abcdef',
    'api_key: ${KEY}',
    'secret: {}',
  ])
    it(`is not ${text}`, () => expect(mayHaveSecret(text)).to.equal(false));

  it('is not a catalog in config/', () => {
    const folder = join(ROOT, 'config/providers');
    const catalogs = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('catalog.yaml'),
    );
    expect(catalogs).to.not.deep.equal([]);
    for (const name of catalogs) expect(mayHaveSecret(readFileSync(join(folder, name), 'utf8')), name).to.equal(false);
    expect(mayHaveSecret(readFileSync(join(ROOT, 'config/catalog.yaml'), 'utf8'))).to.equal(false);
  });
});
