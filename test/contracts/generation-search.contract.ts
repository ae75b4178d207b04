// Goal: every index of generations finds what was added with all terms of a query and nothing else, newest first, and has none
// of what was removed, whoever adds it again.
// Method: failure cases one by one; then random entries, queries and pages, compared with a filter of a list.
import { expect } from 'chai';
import fc from 'fast-check';
import type { GenerationSearch, SearchProgress, SearchQuery } from '../../core/ports/search.js';
import { matchesTerms, type SearchEntry, type SearchTerm } from '../../core/search/words.js';
import { uuidAt } from '../fixtures/stored-records.js';
import { forAll } from '../harness/for-all.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject, isRefused } from './subject.js';

const [ACCOUNT, OTHER] = [uuidAt(1), uuidAt(2)];
const [FIRST, LAST] = [uuidAt(0), 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

const entry = (n: number, terms: readonly string[], accountId = ACCOUNT): SearchEntry => ({
  generationId: uuidAt(n),
  accountId,
  terms,
});
const whole = (text: string): SearchTerm => ({ text, isPrefix: false });
const prefix = (text: string): SearchTerm => ({ text, isPrefix: true });
const ids = (...numbers: readonly number[]) => numbers.map((n) => uuidAt(n));

export function generationSearchContract(subject: ContractSubject<GenerationSearch>): void {
  contract('GenerationSearch contract', subject, (store) => {
    const find = async (terms: readonly SearchTerm[], more: Partial<SearchQuery> = {}) =>
      (await store().find({ accountId: ACCOUNT, terms, before: LAST, from: FIRST, limit: 1_000, ...more }))
        .generationIds;
    /** All pages of a query. */
    const findAll = async (query: SearchQuery): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let before = query.before; ;) {
        const page = await store().find({ ...query, before });
        found.push(...page.generationIds);
        if (page.examinedTo === undefined) return found;
        expect(page.examinedTo < before, 'each page comes further').to.equal(true);
        before = page.examinedTo;
      }
    };

    it('finds nothing while it is empty, and for a malformed account', async () => {
      expect(await find([whole('cat')])).to.deep.equal([]);
      expect(await find([prefix('c')], { accountId: 'nobody' })).to.deep.equal([]);
      expect(await store().readProgress()).to.equal(null);
    });

    it('does nothing for empty lists, and refuses more than 500', async () => {
      await store().add([]);
      await store().remove([]);
      await store().forget([]);
      const many = Array.from({ length: 501 }, (_, n) => entry(n, ['cat']));
      const manyIds = many.map((one) => one.generationId);
      for (const call of [() => store().add(many), () => store().remove(manyIds), () => store().forget(manyIds)])
        expect(await isRefused(call())).to.equal(true);
      expect(await find([whole('cat')])).to.deep.equal([]);
    });

    it('refuses a query without terms', async () => {
      await store().add([entry(1, ['cat'])]);
      expect(await isRefused(find([]))).to.equal(true);
    });

    it('finds whole terms and beginnings, newest first, of one account', async () => {
      await store().add([
        entry(1, ['cat', 'A:x']),
        entry(3, ['category', 'cab']),
        entry(2, ['cat', 'dog']),
        entry(4, ['cat'], OTHER),
      ]);
      expect(await find([whole('cat')])).to.deep.equal(ids(2, 1));
      expect(await find([prefix('cat')])).to.deep.equal(ids(3, 2, 1));
      expect(await find([prefix('ca'), whole('dog')])).to.deep.equal(ids(2));
      expect(await find([whole('cat'), whole('A:x')])).to.deep.equal(ids(1));
      for (const none of [whole('ca'), prefix('at'), whole('Cat'), prefix('cat '), whole('%'), prefix('_')])
        expect(await find([none]), none.text).to.deep.equal([]);
      expect(await find([whole('cat')], { accountId: OTHER })).to.deep.equal(ids(4));
    });

    it('does not take two terms of one entry for one between them', async () => {
      await store().add([entry(1, ['apple', 'zebra'])]);
      expect(await find([prefix('m')])).to.deep.equal([]);
    });

    it('compares terms by their characters, of any plane', async () => {
      await store().add([entry(1, ['\u{1f408}', '\uffee', 'x\u{10fffd}']), entry(2, ['黒猫', 'ß', '$a.b'])]);
      for (const text of ['\u{1f408}', '\uffee', 'x', 'x\u{10fffd}'])
        expect(await find([prefix(text)]), text).to.deep.equal(ids(1));
      for (const text of ['黒', '黒猫', '$a', '$a.b', 'ß'])
        expect(await find([prefix(text)]), text).to.deep.equal(ids(2));
    });

    it('finds only ids in the range, and continues after the last one of a page', async () => {
      await store().add([1, 2, 3, 4, 5].map((n) => entry(n, ['cat'])));
      expect(await find([whole('cat')], { before: uuidAt(4), from: uuidAt(2) })).to.deep.equal(ids(3, 2));
      const query = { accountId: ACCOUNT, terms: [whole('cat')], before: LAST, from: FIRST };
      for (const limit of [1, 2, 5, 6]) expect(await findAll({ ...query, limit })).to.deep.equal(ids(5, 4, 3, 2, 1));
    });

    it('keeps the first entry of an id, and adds the others of the same call', async () => {
      await store().add([entry(1, ['cat'])]);
      await store().add([entry(1, ['dog']), entry(2, ['dog'])]);
      expect(await find([whole('dog')])).to.deep.equal(ids(2));
      expect(await find([whole('cat')])).to.deep.equal(ids(1));
    });

    it('never has what was removed, whether it is added before, at the same time or later', async () => {
      await store().add([entry(1, ['cat'])]);
      await store().remove(ids(1, 2));
      await Promise.all([store().remove(ids(3)), store().add([entry(3, ['cat'])]), store().remove(ids(1))]);
      await store().add([entry(1, ['cat']), entry(2, ['cat']), entry(3, ['cat']), entry(4, ['cat'])]);
      expect(await find([whole('cat')])).to.deep.equal(ids(4));
    });

    it('forgets what was removed and nothing else', async () => {
      await store().add([entry(1, ['cat'])]);
      await store().remove(ids(2));
      await store().forget(ids(1, 2, 3));
      await store().add([entry(1, ['dog']), entry(2, ['dog'])]);
      expect(await find([whole('cat')])).to.deep.equal(ids(1));
      expect(await find([whole('dog')])).to.deep.equal(ids(2));
    });

    it('finds what is common by steps and what is rare at once, in pages of any size', async () => {
      const count = 6_000;
      const all = Array.from({ length: count }, (_, n) =>
        entry(n, ['common', `n${n % 7}`, ...(n % 1_000 === 0 ? ['rare'] : []), ...(n === 5 ? ['single'] : [])]),
      );
      for (let at = 0; at < count; at += 500) await store().add(all.slice(at, at + 500));
      const cases: readonly (readonly SearchTerm[])[] = [
        [whole('common')],
        [prefix('c'), whole('n3')],
        [prefix('com'), prefix('rare')],
        [whole('single'), whole('common')],
        [whole('common'), prefix('none')],
      ];
      for (const terms of cases) {
        const expected = all.filter((one) => matchesTerms(one.terms, terms)).map((one) => one.generationId);
        const query = { accountId: ACCOUNT, terms, before: LAST, from: FIRST };
        for (const limit of [50, 1_000])
          expect(await findAll({ ...query, limit }), JSON.stringify(terms)).to.deep.equal(expected.toReversed());
      }
    });

    it('finds the same as a filter of all entries', async () => {
      const term = fc.string({ unit: fc.constantFrom('a', 'b', '猫', '\u{1f408}'), minLength: 1, maxLength: 3 });
      const added = fc.array(fc.record({ n: fc.nat(30), terms: fc.uniqueArray(term, { minLength: 1, maxLength: 4 }) }));
      const asked = fc.array(fc.record({ text: term, isPrefix: fc.boolean() }), { minLength: 1, maxLength: 3 });
      let round = 0;
      await forAll(20, [added, asked, fc.integer({ min: 1, max: 9 })], async (all, terms, limit) => {
        round += 1;
        const accountId = uuidAt(1_000 + round);
        const entries = new Map<string, SearchEntry>();
        for (const one of all) {
          const made = { ...entry(round * 100 + one.n, one.terms), accountId };
          if (!entries.has(made.generationId)) entries.set(made.generationId, made);
        }
        await store().add([...entries.values()]);
        const expected = [...entries.values()]
          .filter((one) => matchesTerms(one.terms, terms))
          .map((one) => one.generationId)
          .toSorted()
          .toReversed();
        const query = { accountId, terms, before: LAST, from: FIRST, limit };
        expect(await findAll(query)).to.deep.equal(expected);
      });
    });

    it('writes its progress onto the expected version only', async () => {
      const progress: SearchProgress = { version: 1, newest: LAST, oldest: FIRST, holder: uuidAt(9), heldUntil: 5 };
      expect(await store().replaceProgress({ ...progress, version: 2 }, 1)).to.equal('conflict');
      expect(await store().replaceProgress(progress, 0)).to.equal('applied');
      expect(await store().replaceProgress({ ...progress, heldUntil: 6 }, 0)).to.equal('conflict');
      const next = { ...progress, version: 2, oldest: uuidAt(3) };
      const outcomes = await Promise.all([store().replaceProgress(next, 1), store().replaceProgress(next, 1)]);
      expect(outcomes.toSorted()).to.deep.equal(['applied', 'conflict']);
      expect(await store().readProgress()).to.deep.equal(next);
    });

    endedCalls(async () => {
      await store().add([entry(1, ['cat'])]);
      const query = { accountId: ACCOUNT, terms: [whole('cat')], before: LAST, from: FIRST, limit: 1 };
      return { find: (call) => store().find(query, call) };
    });
  });
}
