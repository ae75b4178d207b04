// Goal: every store of usage keeps each row whole, writes a row onto the expected sequence only and each by itself, also
// for concurrent writers, and lists the days of one account without the row of the whole account.
// Method: failure cases one by one, writers that race for one row, and pages of every size.
import { expect } from 'chai';
import type { UsageStore } from '../../core/ports/stores.js';
import { type TraceRow, type UsageRow, type UseRow, wholeAccount } from '../../core/usage/usage.js';
import { uuidAt } from '../fixtures/stored-records.js';
import { contract, type ContractSubject } from './subject.js';

const [ACCOUNT, OTHER] = [uuidAt(1), uuidAt(2)];

function row(day: string, modelKey: string, lastSequence: number, accountId = ACCOUNT): UseRow {
  return {
    accountId,
    day,
    appUse: '',
    modelKey,
    credentialId: 'service:a/b c',
    lastSequence,
    generations: 3,
    failed: 1,
    reservedCredits: Number.MAX_SAFE_INTEGER,
    chargedCredits: 2 ** 40,
    releasedCredits: 0,
  };
}

function trace(day: string, clientTraceId: string, lastSequence = 1, accountId = ACCOUNT): TraceRow {
  const { modelKey: _, credentialId: __, ...sums } = row(day, '', lastSequence, accountId);
  return { ...sums, clientTraceId };
}

/** Uses of two Apps, by their own credentials and by others. */
const APP_USES = [uuidAt(7), `${uuidAt(7)}/others`, uuidAt(8)];

const added = (...rows: readonly UsageRow[]) => rows.map((one) => ({ row: one, expectedSequence: 0 }));
const always = { from: '0000-00-00', to: '9999-99-99' };

export function usageStoreContract(subject: ContractSubject<UsageStore>): void {
  contract('UsageStore contract', subject, (store) => {
    it('is empty for an account without use, and for a malformed id', async () => {
      for (const list of ['uses', 'traces'] as const)
        expect(await store().read([wholeAccount(ACCOUNT, list)])).to.deep.equal([]);
      expect(await store().read([])).to.deep.equal([]);
      expect(await store().apply([])).to.equal('applied');
      expect(await store().list(ACCOUNT, always, { limit: 10 })).to.deep.equal({ items: [] });
      expect(await store().list('no-account', always, { limit: 10 })).to.deep.equal({ items: [] });
      expect(await store().listTraces(ACCOUNT, always, { limit: 10 })).to.deep.equal([]);
      expect(await store().listTraces('no-account', always, { limit: 10 })).to.deep.equal([]);
    });

    it('keeps every field of each row, also without a model, and reads those that it has', async () => {
      const rows = [row('2026-01-31', 'a/b', 4), row('2026-01-31', '', 5), { ...row('', '', 9), credentialId: '' }];
      expect(await store().apply(added(...rows))).to.equal('applied');
      const read = await store().read([...rows, row('2026-01-30', 'a/b', 0)]);
      expect(read).to.have.deep.members(rows);
    });

    it('keeps the rows of each App apart, and of those without one', async () => {
      for (const one of [row('2026-01-31', 'a', 4), trace('2026-01-31', 'a', 4)]) {
        const rows = ['', ...APP_USES].map((appUse, index) => ({ ...one, appUse, generations: index }));
        expect(await store().apply(added(...rows))).to.equal('applied');
        expect(await store().read(rows)).to.have.deep.members(rows);
        const [, second = one] = rows;
        const change = { row: { ...second, lastSequence: 9 }, expectedSequence: 4 };
        expect(await store().apply([change])).to.equal('applied');
        expect(await store().read(rows)).to.have.deep.members([change.row, ...rows.filter((each) => each !== second)]);
      }
      expect((await store().list(ACCOUNT, always, { limit: 10 })).items).to.have.length(4);
    });

    it('removes the traces of one account, that of the whole account first, a bounded number at once', async () => {
      const whole = { ...trace('', '', 9) };
      const own = [trace('2026-01-30', 'b'), trace('2026-01-31', 'a'), trace('2026-01-31', '')];
      const others = [trace('2026-01-31', 'a', 1, OTHER), trace('', '', 1, OTHER)];
      const use = row('2026-01-31', '', 4);
      for (const rows of [[...own, whole], others, [use]])
        expect(await store().apply(added(...rows))).to.equal('applied');
      expect(await store().removeTraces(ACCOUNT, 1)).to.equal(1);
      expect(await store().read([whole, ...own])).to.have.deep.members(own);
      expect(await store().removeTraces(ACCOUNT, 2)).to.equal(2);
      expect(await store().removeTraces(ACCOUNT, 2)).to.equal(1);
      expect(await store().removeTraces(ACCOUNT, 2)).to.equal(0);
      expect(await store().removeTraces('no-account', 2)).to.equal(0);
      expect(await store().read(own)).to.deep.equal([]);
      expect(await store().read(others)).to.have.deep.members(others);
      expect(await store().read([use])).to.deep.equal([use]);
    });

    it('keeps uses and traces apart', async () => {
      const [use, traced] = [row('2026-01-31', '', 4), trace('2026-01-31', '', 7)];
      await store().apply(added(use));
      expect(await store().apply(added(traced, trace('2026-01-31', 'a:b.c_D-9', 8)))).to.equal('applied');
      expect(await store().read([traced])).to.deep.equal([traced]);
      expect(await store().read([use])).to.deep.equal([use]);
      expect((await store().list(ACCOUNT, always, { limit: 10 })).items).to.deep.equal([use]);
      expect(await store().listTraces(ACCOUNT, always, { limit: 1 })).to.deep.equal([traced]);
    });

    for (const [kind, make] of [
      ['use', row],
      ['trace', trace],
    ] as const)
      it(`writes a ${kind} onto no other sequence than the expected one, and the others all the same`, async () => {
        const [first, second, third] = [
          make('2026-01-31', 'a', 4),
          make('2026-01-31', 'b', 5),
          make('2026-02-01', 'a', 6),
        ];
        await store().apply(added(first));
        expect(await store().apply(added({ ...first, generations: 9 }, second))).to.equal('conflict');
        const wrong = { row: { ...first, lastSequence: 8 }, expectedSequence: 5 };
        const missing = { row: third, expectedSequence: 1 };
        const right = { row: { ...second, lastSequence: 7 }, expectedSequence: 5 };
        expect(await store().apply([wrong, missing, right])).to.equal('conflict');
        expect(await store().read([first, second, third])).to.have.deep.members([
          first,
          { ...second, lastSequence: 7 },
        ]);
      });

    it('accepts one of twelve concurrent writers onto a sequence', async () => {
      for (const last of [1, 2, 3]) {
        const change = { row: row('2026-01-31', 'a', last), expectedSequence: last - 1 };
        const outcomes = await Promise.all(Array.from({ length: 12 }, () => store().apply([change])));
        expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
      }
    });

    it('lists the rows of the days of a range, both included, in pages of every size', async () => {
      const days = ['2026-01-29', '2026-01-30', '2026-01-31', '2026-02-01'];
      const rows = days.flatMap((day) => ['a', 'b', 'c'].map((model) => row(day, model, 1)));
      const whole = { ...row('', '', 9), credentialId: '' };
      await store().apply(added(...rows, whole));
      await store().apply(added(row('2026-01-30', 'a', 1, OTHER)));
      for (const limit of [1, 2, 3, 5, 6, 1000]) {
        const found: UsageRow[] = [];
        for (let cursor: string | undefined; ;) {
          const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
          const { items, nextCursor } = await store().list(ACCOUNT, { from: '2026-01-30', to: '2026-01-31' }, page);
          expect(items.length).to.be.at.most(limit);
          found.push(...items);
          cursor = nextCursor;
          if (cursor === undefined) break;
        }
        expect(found).to.deep.equal(rows.slice(3, 9));
      }
      expect((await store().list(ACCOUNT, always, { limit: 1000 })).items).to.deep.equal(rows);
    });

    it('lists the traces of the days of a range in the order of their text, from any place, for pages of every size', async () => {
      const days = ['2026-01-29', '2026-01-30', '2026-01-31', '2026-02-01'];
      const texts = ['', '-', '.', '0', '1:', 'A', '_', 'a', 'a-b', 'ab'];
      const rows = days.flatMap((day) => texts.map((text) => trace(day, text)));
      await store().apply(added(...rows.toReversed(), trace('', '', 9)));
      await store().apply(added(trace('2026-01-30', 'a', 1, OTHER)));
      const range = { from: '2026-01-30', to: '2026-01-31' };
      for (const limit of [1, 2, 7, 20, 1000]) {
        const found: TraceRow[] = [];
        for (let after: TraceRow | undefined; ;) {
          const page = await store().listTraces(ACCOUNT, range, { limit, ...(after === undefined ? {} : { after }) });
          expect(page.length).to.be.at.most(limit);
          found.push(...page);
          after = page.at(-1);
          if (after === undefined) break;
        }
        expect(found).to.deep.equal(rows.slice(10, 30));
      }
      const afterTrace = { day: '2026-01-30', clientTraceId: 'a' };
      const [next] = await store().listTraces(ACCOUNT, range, { limit: 1, after: afterTrace });
      expect(next).to.include({ day: '2026-01-30', clientTraceId: 'a-b' });
      const behind = { day: '2026-01-30', clientTraceId: 'Z' };
      expect(
        (await store().listTraces(ACCOUNT, range, { limit: 2, after: behind })).map((one) => one.clientTraceId),
      ).to.deep.equal(['_', 'a']);
    });

    it('lists the traces of one App in the order of their text, from any place, for pages of every size', async () => {
      const [own = '', ...others] = APP_USES;
      const days = ['2026-01-29', '2026-01-30', '2026-01-31'];
      const texts = ['', '-', '.', '1:', 'A', 'a', 'a-b', 'ab'];
      const of = (appUse: string, accountId = ACCOUNT) =>
        days.flatMap((day) => texts.map((text) => ({ ...trace(day, text, 1, accountId), appUse })));
      for (const appUse of ['', ...others, own]) await store().apply(added(...of(appUse).toReversed()));
      await store().apply(added(...of(own, OTHER)));
      const range = { from: '2026-01-30', to: '2026-01-31' };
      const wanted = of(own).slice(texts.length);
      for (const limit of [1, 3, 8, 1000]) {
        const found: TraceRow[] = [];
        for (let after: TraceRow | undefined; ;) {
          const page = { limit, appUse: own, ...(after === undefined ? {} : { after }) };
          const rows = await store().listTraces(ACCOUNT, range, page);
          found.push(...rows);
          after = rows.at(-1);
          if (after === undefined) break;
        }
        expect(found).to.deep.equal(wanted);
      }
      const after = { day: '2026-01-30', clientTraceId: 'a' };
      expect(await store().listTraces(ACCOUNT, range, { limit: 2, appUse: own, after })).to.deep.equal(
        wanted.slice(6, 8),
      );
      // All rows of the account, those of one trace id in the order of their Apps.
      const all = await store().listTraces(ACCOUNT, range, { limit: 1000 });
      expect(all.map(({ day, clientTraceId, appUse }) => [day, clientTraceId, appUse])).to.deep.equal(
        wanted.flatMap(({ day, clientTraceId }) =>
          ['', ...APP_USES].toSorted().map((appUse) => [day, clientTraceId, appUse]),
        ),
      );
      const place = { day: '2026-01-30', clientTraceId: 'a', appUse: own };
      const [next] = await store().listTraces(ACCOUNT, range, { limit: 1, after: place });
      expect(next).to.include({ clientTraceId: 'a', appUse: `${own}/others` });
      const [last] = await store().listTraces(ACCOUNT, range, { limit: 1, after });
      expect(last).to.include({ clientTraceId: 'a-b', appUse: '' });
    });
  });
}
