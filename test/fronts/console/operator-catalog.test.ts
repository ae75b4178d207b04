import { expect } from 'chai';
import type { CatalogSource, ReadCatalog } from '../../../core/ports/catalog.js';
import { MODELS } from '../../fixtures/models.js';
import { OperatorHarness } from './console-harness.js';

// Goal: an operator sees the catalog, checks its file and reloads it, with a record, and without a secret that was put there.
// Method: a whole service over HTTP whose catalog comes from a source that the test decides.

describe("the catalog in the operator's area", () => {
  let harness: OperatorHarness;
  let next: Awaited<ReturnType<CatalogSource['read']>>;
  let used: ReadCatalog;

  beforeEach(async () => {
    used = { models: MODELS.slice(0, 2), text: '# ours\nversion: 1\n', readAt: Date.UTC(2026, 0, 1) };
    next = used;
    const catalogSource: CatalogSource = {
      name: 'catalog.yaml',
      inUse: () => used,
      read: () => Promise.resolve(next),
      reload: () => {
        if ('models' in next) used = next;
        return Promise.resolve(next);
      },
    };
    harness = await OperatorHarness.open(true, { catalogSource });
  });

  afterEach(() => harness.close());

  it('has the file, its time, its text, and each model with price and route', async () => {
    const client = await harness.signedIn();
    const { status, data } = await client.get('/operator/catalog');
    expect(status).to.equal(200);
    expect(data).to.include({
      file_name: 'catalog.yaml',
      read_at: '2026-01-01T00:00:00.000Z',
      text: '# ours\nversion: 1\n',
      is_only_process: false,
    });
    const [picture] = data['models'] as object[];
    expect(picture).to.deep.include({
      model_key: 'picture',
      modality: 'image',
      is_test: false,
      price: {
        version: '1',
        unit: 'image',
        microcredits_per_unit: 10_000_000,
        base_microcredits: 0,
        minimum_credits: 1,
        maximum_credits: 1_000,
      },
      route: [{ provider: 'canned', weight: 1, is_connected: true }],
      example_count: 0,
    });
    expect(harness.told, 'reading is not an act').to.deep.equal([]);
  });

  it('hides a text with a secret', async () => {
    used = { ...used, text: 'api_key: 0123456789' };
    const { data, text } = await (await harness.signedIn()).get('/operator/catalog');
    expect(data).to.include({ text_hidden: 'secrets' }).and.not.have.property('text');
    expect(text).to.not.include('0123456789');
  });

  it('shows the changes of a reload, and then reloads', async () => {
    const client = await harness.signedIn();
    next = { models: MODELS.slice(1), text: 'version: 1', readAt: used.readAt + 1 };
    const changes = { added: ['picture-refused', 'clip'], removed: ['picture'], changed: [], is_reordered: false };
    const checked = await client.post('/operator/catalog/check');
    expect(checked.data).to.deep.equal({ file_name: 'catalog.yaml', faults: [], changes, model_count: 3 });
    expect((await client.get('/operator/catalog')).data['models']).to.have.length(2);
    const reloaded = await client.post('/operator/catalog/reload');
    expect(reloaded.data).to.deep.include({ file_name: 'catalog.yaml', is_reloaded: true, faults: [], changes });
    expect(reloaded.data).to.include({ is_only_process: false });
    expect((await client.get('/operator/catalog')).data['models']).to.have.length(3);
    expect(harness.told.at(-1)).to.include({ act: 'reload the catalog', outcome: 'done', isReloaded: true, faults: 0 });
  });

  it('shows the faults of the file with their lines, and keeps the catalog', async () => {
    const client = await harness.signedIn();
    next = [{ line: 3, message: 'models[0].price is required.' }];
    for (const path of ['check', 'reload']) {
      const { status, data } = await client.post(`/operator/catalog/${path}`);
      expect(status).to.equal(200);
      expect(data['faults']).to.deep.equal([{ line: 3, message: 'models[0].price is required.' }]);
      expect(data).to.not.have.property('changes');
    }
    expect(harness.told.at(-1)).to.include({ act: 'reload the catalog', isReloaded: false, faults: 1 });
    expect((await client.get('/operator/catalog')).data).to.include({ text: used.text });
  });
});
