import { expect } from 'chai';
import fc from 'fast-check';
import type { Generation, GenerationRecord } from '../../../core/generation/generation.js';
import { listByModality, type ModalityPage } from '../../../core/generation/list-by-modality.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { catalogOf, imageModel } from '../../fixtures/models.js';
import { aGeneration, aTombstone, uuidAt } from '../../fixtures/stored-records.js';
import { forAll } from '../../harness/for-all.js';
import { openServiceHarness, type ServiceHarness } from '../../harness/service-harness.js';

// Goal: the list of one modality has every generation of the caller's App that models of the catalog made, once, in both
// orders and in pages of any size, while others come and go.
// Method: random records in the store in memory, paged through from the last one of each page, and compared with a filter
// and a sort; then the bounds of what is read for the oldest ones.

const APP = uuidAt(901);
const CALLER = { accountId: uuidAt(1), appId: APP };
const MODELS = ['clip-a', 'clip-b', 'clip-c'];

describe('the list of one modality', () => {
  let harness: ServiceHarness;
  let reads: number;

  beforeEach(async () => {
    const videos = MODELS.map((modelKey) => imageModel({ modelKey, modality: 'video' }));
    reads = 0;
    harness = await openServiceHarness({
      ports: { catalog: catalogOf(() => [...videos, imageModel({ modelKey: 'picture' })]) },
      around: (ports) => ({
        ...ports,
        generations: Object.assign(Object.create(ports.generations) as typeof ports.generations, {
          list: async (...args: Parameters<typeof ports.generations.list>) => {
            const page = await ports.generations.list(...args);
            reads += page.items.length;
            return page;
          },
        }),
      }),
    });
  });
  afterEach(() => harness.close());

  const insert = (n: number, values: Partial<Generation>) =>
    harness.context.generations.insert(
      aGeneration(n, { appId: APP, modality: 'video', operation: 'video_generation', ...values }),
    );

  /** All pages, each from the last one of the page before. `between` is called after each page with that one. */
  async function pages(
    order: ModalityPage['order'],
    limit: number,
    between: (last: Generation) => Promise<unknown> = () => Promise.resolve(),
  ): Promise<string[]> {
    const seen: string[] = [];
    let after: string | undefined;
    for (;;) {
      const wanted = { modality: 'video', limit, order, ...(after === undefined ? {} : { after }) } as const;
      const { items, hasMore } = await listByModality(harness.context, CALLER, wanted);
      seen.push(...items.map(({ generationId }) => generationId));
      const last = items.at(-1);
      if (!hasMore || last === undefined) {
        expect(hasMore, 'an empty page that is not the last one').to.equal(false);
        return seen;
      }
      expect(items.length).to.equal(limit);
      after = last.generationId;
      await between(last);
    }
  }

  it('has each video of the App once, in both orders and pages of any size', async () => {
    const written = fc.record({
      modelKey: fc.constantFrom(...MODELS, 'picture'),
      appId: fc.constantFrom(APP, APP, APP, uuidAt(902)),
      createdAt: fc.oneof(fc.integer({ min: 5, max: 8 }), fc.integer({ min: 1, max: 1_800_000_000_000 })),
      isDeleted: fc.boolean(),
    });
    await forAll(60, [fc.array(written, { maxLength: 40 }), fc.integer({ min: 1, max: 9 })], async (all, limit) => {
      const kept: GenerationRecord[] = [];
      for (const [n, { isDeleted, ...values }] of all.entries()) {
        const modality = values.modelKey === 'picture' ? 'image' : 'video';
        const record = aGeneration(n, { ...values, modality, ...(isDeleted && n % 3 === 0 ? { deletedAt: 9 } : {}) });
        await harness.context.generations.insert(record);
        kept.push(record);
      }
      const expected = (kept as Generation[])
        .filter(({ appId, modality, deletedAt }) => appId === APP && modality === 'video' && deletedAt === undefined)
        .toSorted((a, b) => b.createdAt - a.createdAt || (a.generationId < b.generationId ? 1 : -1))
        .map(({ generationId }) => generationId);
      expect(await pages('newest first', limit)).to.deep.equal(expected);
      expect(await pages('oldest first', limit)).to.deep.equal(expected.toReversed());
      for (const { generationId, version } of kept) await harness.context.generations.remove(generationId, version);
    });
  });

  for (const order of ['newest first', 'oldest first'] as const)
    it(`continues, ${order}, behind one that was deleted meanwhile, and misses none when others are created`, async () => {
      for (let n = 0; n < 12; n += 1) await insert(n, { modelKey: MODELS[n % 3] as string, createdAt: 100 + (n >> 2) });
      let created = 100;
      const seen = await pages(order, 2, async ({ generationId, version, createdAt }) => {
        const tombstone = aTombstone(0, { kind: 'expired', generationId, appId: APP, createdAt, version: version + 1 });
        expect(await harness.context.generations.replace(tombstone, version)).to.equal('applied');
        if (created < 104) await insert((created += 1), { modelKey: 'clip-a', createdAt: 500 });
      });
      const first = Array.from({ length: 12 }, (_, n) => uuidAt(n));
      expect(seen.filter((id) => first.includes(id)).toSorted()).to.deep.equal(first.toSorted());
      expect(new Set(seen).size).to.equal(seen.length);
    });

  it('reads few records for the oldest ones of very many', async () => {
    for (let n = 0; n < 3_000; n += 1) await insert(n, { modelKey: MODELS[n % 3] as string, createdAt: n * n * n });
    const wanted = { modality: 'video', limit: 10, order: 'oldest first' } as const;
    const { items } = await listByModality(harness.context, CALLER, wanted);
    expect(items.map(({ createdAt }) => createdAt)).to.deep.equal(Array.from({ length: 10 }, (_, n) => n * n * n));
    expect(reads).to.be.lessThan(50 * 125);
    reads = 0;
    await listByModality(harness.context, CALLER, { ...wanted, order: 'newest first' });
    expect(reads).to.be.lessThan(25);
  });

  it('lists the oldest ones where more were created in one millisecond than are read at once', async () => {
    for (let n = 0; n < 400; n += 1) await insert(n, { modelKey: 'clip-a', createdAt: 7 });
    const expected = Array.from({ length: 400 }, (_, n) => uuidAt(n)).toSorted();
    expect(await pages('oldest first', 100)).to.deep.equal(expected);
  });

  it('refuses to continue behind what the App does not have', async () => {
    await insert(1, { modelKey: 'clip-a', appId: uuidAt(902) });
    await harness.context.generations.insert(aTombstone(2, { appId: APP }));
    for (const after of [uuidAt(1), uuidAt(2), uuidAt(3), 'x', '']) {
      const page = { modality: 'video', limit: 2, order: 'newest first', after } as const;
      expect(await codeOf(listByModality(harness.context, CALLER, page)), after).to.equal('FIELD_INVALID');
    }
  });
});
