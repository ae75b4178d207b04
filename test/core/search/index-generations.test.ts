import { expect } from 'chai';
import fc from 'fast-check';
import { deleteGeneration } from '../../../core/generation/end-generation.js';
import { searchAccountGenerations } from '../../../core/generation/account-generations.js';
import type { Generation } from '../../../core/generation/generation.js';
import { leastIdAt } from '../../../core/ids.js';
import { BEFORE_ALL_IDS, SearchIndexer } from '../../../core/search/index-generations.js';
import { findInAccount } from '../../../core/search/find-generations.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { termsOf } from '../../../core/search/words.js';
import { termsKept } from '../../adapters/memory/generation-search.js';
import { intercepted } from '../../fixtures/intercepted.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a search finds each generation of its account from its creation until its content is removed, however far the index
// has come; and no word of removed content stays in the index, whatever happens at the same time.
// Method: records of known times in the stores in memory, passes with small bounds, two processes, and a removal at each call
// that the indexer makes; then the real ways of removal.

const BOUNDS = { batch: 3, newest: 12, earlier: 6 };
const ACCOUNT = uuidAt(1);
const MINUTE = 60_000;

describe('the index of searches', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  /** A generation of some minutes ago. */
  const insert = async (minutesAgo: number, values: Partial<Generation> = {}): Promise<Generation> => {
    const createdAt = harness.clock.now() - minutesAgo * MINUTE;
    const record = aGeneration(1, { generationId: leastIdAt(createdAt), createdAt, prompt: 'a red fox', ...values });
    await harness.ports.generations.insert(record);
    return record;
  };
  const pass = (context = harness.context) => new SearchIndexer(context, BOUNDS).pass();
  const indexed = async (query = 'fox') => {
    const range = { before: 'ffffffff-ffff-ffff-ffff-ffffffffffff', from: BEFORE_ALL_IDS, limit: 1_000 };
    return (await harness.ports.generationSearch.find({ accountId: ACCOUNT, terms: termsOf(query), ...range }))
      .generationIds;
  };
  /** All pages of a search. */
  const found = async (query = 'fox', limit = 2): Promise<readonly string[]> => {
    const ids: string[] = [];
    const wanted = { accountId: ACCOUNT, terms: termsOf(query), matches: () => true };
    for (let cursor: string | undefined; ;) {
      const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
      const { items, nextCursor } = await findInAccount(harness.context, wanted, page);
      ids.push(...items.map((one) => one.generationId));
      if (nextCursor === undefined) return ids;
      cursor = nextCursor;
    }
  };

  it('takes in generations once none can be inserted before them, and finds the newest without it', async () => {
    const old = await insert(10);
    const fresh = await insert(1);
    await pass();
    expect(await indexed()).to.deep.equal([old.generationId]);
    expect(await found()).to.deep.equal([fresh.generationId, old.generationId]);
    harness.clock.jump(5 * MINUTE);
    await pass();
    expect(await indexed()).to.deep.equal([fresh.generationId, old.generationId]);
  });

  it('takes in earlier generations pass by pass, and finds all of them meanwhile', async () => {
    const all: string[] = [];
    for (let n = 0; n < 20; n += 1) all.push((await insert(10 + n)).generationId);
    expect(await found()).to.deep.equal(all);
    for (const count of [6, 12, 18, 20, 20]) {
      await pass();
      expect(await indexed()).to.have.length(count);
      for (const limit of [1, 7, 50]) expect(await found('fox', limit)).to.deep.equal(all);
    }
  });

  it('has all in the end after an outage with more new generations than a pass takes in', async () => {
    const all: string[] = [];
    const add = async (minutesAgo: number) => void all.unshift((await insert(minutesAgo)).generationId);
    for (let n = 30; n > 10; n -= 1) await add(n);
    for (let passes = 0; passes < 5; passes += 1) await pass();
    harness.clock.jump(60 * MINUTE);
    for (let n = 50; n > 10; n -= 1) await add(n);
    for (let passes = 0; passes < 12; passes += 1) {
      await pass();
      expect(await found('fox', 50)).to.deep.equal(all);
    }
    expect(await indexed()).to.deep.equal(all);
  });

  it('is extended by one process at a time, and by another after its death', async () => {
    const other = harness.process(undefined, {}, { id: uuidAt(77), isExclusive: false });
    const holder = async () => (await harness.ports.generationSearch.readProgress())?.holder;
    await pass();
    harness.clock.jump(30_000);
    await pass(other);
    expect(await holder()).to.equal(harness.context.boot.id);
    await pass();
    harness.clock.jump(59_000);
    await pass(other);
    expect(await holder()).to.equal(harness.context.boot.id);
    harness.clock.jump(2_000);
    await pass(other);
    await pass();
    expect(await holder()).to.equal(uuidAt(77));
  });

  it('is extended although a clock was set back since', async () => {
    await pass();
    const progress = await harness.ports.generationSearch.readProgress();
    expect(progress).not.to.equal(null);
    const far = { ...progress, version: 9, heldUntil: harness.clock.now() + 600 * MINUTE, holder: uuidAt(77) };
    await harness.ports.generationSearch.replaceProgress(far as never, progress?.version ?? 0);
    await pass();
    expect((await harness.ports.generationSearch.readProgress())?.holder).to.equal(harness.context.boot.id);
  });

  it('has no word of what is removed at any call of the indexer', async () => {
    let calls = 0;
    for (let at = 0; at === 0 || at < calls; at += 1) {
      harness = await CoreHarness.open();
      const record = await insert(10, { settledAt: 1, status: 'succeeded' });
      calls = 0;
      const context = harness.process(undefined, {
        generationSearch: intercepted('generationSearch', harness.ports.generationSearch, async (call) => {
          if (calls === at) {
            const gone = { ...record, prompt: '', deletedAt: 1, version: record.version + 1 };
            await harness.context.generations.replace(gone, record.version);
          }
          calls += 1;
          return call.proceed();
        }),
      });
      await pass(context);
      expect(
        termsKept(harness.ports.generationSearch).filter((term) => term === 'fox'),
        `call ${at}`,
      ).to.deep.equal([]);
      expect(await found()).to.deep.equal([]);
    }
    expect(calls).to.be.greaterThan(2);
  });

  it('has no word of what was deleted, lost its content or is past its retention', async () => {
    const worker = await CoreWorker.start(harness);
    const make = async (prompt: string) => {
      const { generation } = await harness.post(harness.ports.ids.uuid(), harness.body({}, { prompt }));
      return generation.generationId;
    };
    const succeeded = await make('alpha one');
    await untilSettled(harness, succeeded);
    const deleted = await make('beta two');
    await untilSettled(harness, deleted);
    expect(worker).not.to.equal(undefined);
    harness.clock.jump(10 * MINUTE);
    await harness.clock.run(pass());
    const has = (word: string) => termsKept(harness.ports.generationSearch).includes(word);
    expect(['alpha', 'beta'].map(has)).to.deep.equal([true, true]);
    await deleteGeneration(harness.context, harness.caller, deleted);
    expect(['alpha', 'beta'].map(has)).to.deep.equal([true, false]);
    harness.clock.jump(harness.settings.taskRetentionMs + MINUTE);
    for (let passes = 0; passes < 4; passes += 1) await harness.clock.run(new Recovery(harness.context).pass());
    expect(await harness.ports.generations.read(succeeded)).to.include({ kind: 'expired' });
    expect(termsKept(harness.ports.generationSearch)).to.deep.equal([]);
    harness.clock.jump(10 * MINUTE);
    await harness.clock.run(pass());
    expect(termsKept(harness.ports.generationSearch)).to.deep.equal([]);
  });

  it('finds the same as a filter of all records, wherever the index ends', async () => {
    const made = fc.array(
      fc.record({
        minutesAgo: fc.integer({ min: 0, max: 40 }),
        word: fc.constantFrom('red', 'blue'),
        account: fc.constantFrom(1, 1, 2),
      }),
      { maxLength: 40 },
    );
    await forAll(
      40,
      [made, fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 9 })],
      async (all, passes, limit) => {
        harness = await CoreHarness.open();
        const expected: string[] = [];
        for (const [n, { minutesAgo, word, account }] of all.entries()) {
          const createdAt = harness.clock.now() - minutesAgo * MINUTE - n;
          const record = aGeneration(1, {
            generationId: leastIdAt(createdAt),
            createdAt,
            accountId: uuidAt(account),
            prompt: `a ${word} fox`,
          });
          const { inserted } = await harness.ports.generations.insert(record);
          if (inserted && word === 'red' && account === 1) expected.push(record.generationId);
        }
        for (let pass_ = 0; pass_ < passes; pass_ += 1) await pass();
        expect(await found('re fo', limit)).to.deep.equal(expected.toSorted().toReversed());
      },
    );
  });

  it('finds an id, the start of one and a trace id before words', async () => {
    const one = await insert(10, { accountId: ACCOUNT, clientTraceId: 'order-1' });
    const two = await insert(200, { clientTraceId: 'order-1' });
    const context = harness.context;
    await context.credentials.insertApp({ appId: one.appId, accountId: ACCOUNT, name: 'app', createdAt: 1 });
    const search = async (query: string, mayReadPrompts = true) => {
      const { items } = await searchAccountGenerations(context, ACCOUNT, { query, mayReadPrompts }, { limit: 10 });
      return items.map((g) => g.generationId);
    };
    for (const mayRead of [true, false]) {
      expect(await search(one.generationId.toUpperCase(), mayRead)).to.deep.equal([one.generationId]);
      expect(await search(two.generationId.slice(0, 9), mayRead)).to.deep.equal([two.generationId]);
      expect(await search('order-1', mayRead)).to.deep.equal([one.generationId, two.generationId]);
      expect(await search(uuidAt(12_345), mayRead)).to.deep.equal([]);
    }
    expect(await search('fox')).to.deep.equal([one.generationId, two.generationId]);
    expect(await search('order')).to.deep.equal([]);
  });
});
