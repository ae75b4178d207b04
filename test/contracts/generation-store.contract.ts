// Goal: every generation store keeps one record per id, guards it by version, finds due records and lists an account's
// generations newest first.
// Method: the shared contract of versioned records, then tombstones and lists, with properties against a sorted array.
import { expect } from 'chai';
import fc from 'fast-check';
import {
  type Attempt,
  END_STATUSES,
  type Generation,
  type GenerationRecord,
  isTerminal,
  type Output,
  STATUSES,
  thumbnailBytesOf,
} from '../../core/generation/generation.js';
import type { AppGenerations, GenerationStore, ListedGenerations, OpenCount } from '../../core/ports/stores.js';
import { countedOpen } from '../adapters/memory/generation-stores.js';
import { outputs } from '../core/generation/generations.js';
import { aGeneration, aTombstone, uuidAt } from '../fixtures/stored-records.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject, isRefused } from './subject.js';
import { allPages, versionedRecords } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

export function generationStoreContract(subject: ContractSubject<GenerationStore>): void {
  contract('GenerationStore contract', subject, (store) => {
    versionedRecords<GenerationRecord>({ store, make: aGeneration, idAt: uuidAt });
    describe('tombstones', () => tombstones(store));
    describe('what is due', () => pagesOfDue(store));
    describe('lists', () => lists(store));
    describe('cursors of lists of more than one App', () => cursorsOfIds(store));
    describe('uncharged content', () => unchargedContent(store));
    describe('open generations', () => openGenerations(store));
    describe('reads for a call', () =>
      endedCalls(async () => {
        await store().insert(aGeneration(1));
        return {
          read: (call) => store().read(uuidAt(1), call),
          list: (call) => store().list({ of: 'account', accountId: uuidAt(1) }, { limit: 5 }, call),
          stored: (call) => store().stored(uuidAt(1), 'uncharged', call),
          countOpen: (call) => store().countOpen(call),
        };
      }));
  });
}

/** Searches continue after ids that no list has given out. */
function cursorsOfIds(store: () => GenerationStore): void {
  it('start after any id, whether or not a generation has it', async () => {
    for (const n of [1, 3, 5]) await store().insert(aGeneration(n));
    for (const wanted of [{ of: 'all' }, { of: 'account', accountId: uuidAt(1) }] as const) {
      const after = async (cursor: string) =>
        (await store().list(wanted, { limit: 5, cursor })).items.map(({ generationId }) => generationId);
      expect(await after(uuidAt(4))).to.deep.equal([uuidAt(3), uuidAt(1)]);
      expect(await after(uuidAt(3))).to.deep.equal([uuidAt(1)]);
      expect(await after('ffffffff-ffff-ffff-ffff-ffffffffffff')).to.have.length(3);
      expect(await after(uuidAt(0))).to.deep.equal([]);
    }
  });
}

function tombstones(store: () => GenerationStore): void {
  it('refuses a generation at the id of a void for ever', async () => {
    expect(await store().insert(aTombstone(1))).to.deep.equal({ inserted: true });
    expect(await store().insert(aGeneration(1))).to.deep.equal({ inserted: false, existing: aTombstone(1) });
    expect(await store().read(uuidAt(1))).to.deep.equal(aTombstone(1));
  });

  it('finds tombstones when they are due, and does not list them', async () => {
    await store().insert(aTombstone(1, { dueAt: 5 }));
    expect(await store().due(5, 10)).to.deep.equal([aTombstone(1, { dueAt: 5 })]);
    expect(await store().list({ of: 'account', accountId: uuidAt(1) }, { limit: 10 })).to.deep.equal({ items: [] });
  });

  it('removes a generation from the list when it expires', async () => {
    await store().insert(aGeneration(1));
    expect(await store().replace(aTombstone(1, { kind: 'expired', version: 1 }), 0)).to.equal('applied');
    expect(await store().read(uuidAt(1))).to.deep.equal(aTombstone(1, { kind: 'expired', version: 1 }));
    for (const wanted of listsOf(aGeneration(1)))
      expect((await store().list(wanted, { limit: 10 })).items, JSON.stringify(wanted)).to.deep.equal([]);
  });
}

function unchargedContent(store: () => GenerationStore): void {
  it('is 0 for an account without any, and for a malformed id', async () => {
    await store().insert(aGeneration(1));
    await store().insert(aTombstone(2));
    for (const account of [uuidAt(1), uuidAt(9), '', 'x'])
      expect(await store().stored(account, 'uncharged')).to.deep.equal({ generations: 0, bytes: 0 });
  });

  it('sums the counted generations of one account, after any writes', async () => {
    const accounts = [uuidAt(1), uuidAt(9)];
    const write = fc.record({
      n: fc.integer({ min: 1, max: 4 }),
      accountId: fc.constantFrom(...accounts),
      unchargedBytes: fc.option(fc.integer({ min: 1, max: 300_000 }), { nil: undefined }),
      thumbnailBytes: fc.option(fc.integer({ min: 1, max: 300_000 }), { nil: undefined }),
      isGone: fc.boolean(),
    });
    await forAll(30, [fc.array(write, { maxLength: 12 })], async (writes) => {
      const model = new Map<number, GenerationRecord>();
      for (const { n, accountId, unchargedBytes, thumbnailBytes, isGone } of writes) {
        const before = model.get(n);
        const owner = { accountId: before?.accountId ?? accountId, version: (before?.version ?? -1) + 1 };
        const next =
          isGone && before
            ? aTombstone(n, { ...owner, kind: 'expired' })
            : aGeneration(n, {
                ...owner,
                ...(unchargedBytes === undefined ? {} : { unchargedBytes }),
                // A new generation has no thumbnails; they are removed with its outputs.
                ...(before === undefined ? {} : thumbnailsOf(thumbnailBytes)),
              });
        if (before) await store().replace(next, before.version);
        else await store().insert(next);
        model.set(n, next);
      }
      for (const account of accounts) {
        const kept = [...model.values()].flatMap((record) =>
          record.kind === 'generation' && record.accountId === account ? [record] : [],
        );
        for (const [content, bytes] of [
          ['uncharged', kept.flatMap((g) => g.unchargedBytes ?? [])],
          ['thumbnails', kept.flatMap((g) => thumbnailBytesOf(g) ?? [])],
        ] as const)
          expect(await store().stored(account, content), content).to.deep.equal({
            generations: bytes.length,
            bytes: bytes.reduce((sum, one) => sum + one, 0),
          });
      }
      for (const { generationId, version } of model.values()) await store().remove(generationId, version);
      expect(await store().stored(uuidAt(1), 'uncharged')).to.deep.equal({ generations: 0, bytes: 0 });
    });
  });
}

/** Thumbnails of two of three outputs, with so many bytes together. */
function thumbnailsOf(byteSize: number | undefined): Partial<Generation> {
  if (byteSize === undefined) return { status: 'succeeded', outputs: [], outputsRemovedAt: 5 };
  const [first, second, third] = outputs(3) as [Output, Output, Output];
  const half = Math.floor(byteSize / 2);
  return {
    status: 'succeeded',
    outputs: [
      { ...first, thumbnailBytes: { 320: half } },
      second,
      { ...third, thumbnailBytes: { 640: 0, 1280: byteSize - half } },
    ],
  };
}

const LEASE = { worker: 'w', fence: 1, renewedAt: 1, expiresAt: 2 };
const attemptAt = (provider?: string): Attempt => ({
  number: 1,
  phase: 'submitting',
  token: 't',
  startedAt: 1,
  ...(provider === undefined ? {} : { provider }),
});

/** A started one without lease and attempt, unless they are given. */
function openGeneration(n: number, given: Partial<Generation>): Generation {
  const { lease: _lease, attempt: _attempt, ...rest } = aGeneration(n, { status: 'running' });
  return { ...rest, ...given };
}

function openGenerations(store: () => GenerationStore): void {
  it('are none without generations, and when only tombstones and ended ones are there', async () => {
    expect(await store().countOpen()).to.deep.equal([]);
    await store().insert(aTombstone(1));
    for (const [index, status] of END_STATUSES.entries())
      await store().insert(aGeneration(2 + index, { status, attempt: attemptAt('p'), lease: LEASE }));
    expect(await store().countOpen()).to.deep.equal([]);
  });

  it('are counted with the oldest by state, model and provider of the attempt, over all accounts and Apps', async () => {
    const records = [
      openGeneration(1, { status: 'queued', modelKey: 'a', createdAt: 30 }),
      openGeneration(2, { status: 'queued', modelKey: 'a', createdAt: 10, accountId: uuidAt(8), appId: uuidAt(9) }),
      openGeneration(3, { status: 'queued', modelKey: 'b', createdAt: 20 }),
      openGeneration(4, { modelKey: 'a', createdAt: 7, lease: LEASE, attempt: attemptAt('p') }),
      openGeneration(5, { modelKey: 'a', createdAt: 8, lease: LEASE, attempt: attemptAt('q') }),
      openGeneration(6, { modelKey: 'a', createdAt: 9, lease: LEASE, attempt: attemptAt() }),
      openGeneration(7, { modelKey: 'a', createdAt: 5, retryAt: 90 }),
      openGeneration(8, { modelKey: 'a', createdAt: 6, attempt: attemptAt('p') }),
    ];
    for (const record of records) await store().insert(record);
    expect(inOrder(await store().countOpen())).to.deep.equal(
      inOrder([
        { state: 'queued', modelKey: 'a', generations: 2, oldestCreatedAt: 10 },
        { state: 'queued', modelKey: 'b', generations: 1, oldestCreatedAt: 20 },
        { state: 'running', modelKey: 'a', provider: 'p', generations: 1, oldestCreatedAt: 7 },
        { state: 'running', modelKey: 'a', provider: 'q', generations: 1, oldestCreatedAt: 8 },
        { state: 'running', modelKey: 'a', generations: 1, oldestCreatedAt: 9 },
        { state: 'requeued', modelKey: 'a', generations: 1, oldestCreatedAt: 5 },
        { state: 'requeued', modelKey: 'a', provider: 'p', generations: 1, oldestCreatedAt: 6 },
      ]),
    );
  });

  it('are those of the newest versions, after any writes', async () => {
    const write = fc.record({
      n: fc.integer({ min: 1, max: 5 }),
      createdAt: fc.integer({ min: 1, max: 9 }),
      modelKey: fc.constantFrom('a', 'b'),
      status: fc.constantFrom(...STATUSES),
      isLeased: fc.boolean(),
      provider: fc.constantFrom(null, undefined, 'p', 'q'),
      isGone: fc.boolean(),
    });
    await forAll(30, [fc.array(write, { maxLength: 15 })], async (writes) => {
      const model = new Map<number, GenerationRecord>();
      for (const { n, isGone, isLeased, provider, status, ...first } of writes) {
        const before = model.get(n);
        const version = (before?.version ?? -1) + 1;
        // The model and the time of acceptance never change, and an end is final.
        const kept = before?.kind === 'generation' ? { modelKey: before.modelKey, createdAt: before.createdAt } : first;
        const end = before?.kind === 'generation' && isTerminal(before.status) ? { status: before.status } : {};
        const next =
          before?.kind === 'expired' || (before !== undefined && isGone)
            ? aTombstone(n, { kind: 'expired', version })
            : openGeneration(n, {
                ...kept,
                version,
                status,
                ...end,
                ...(isLeased ? { lease: LEASE } : {}),
                ...(provider === null ? {} : { attempt: attemptAt(provider) }),
              });
        if (before) await store().replace(next, before.version);
        else await store().insert(next);
        model.set(n, next);
      }
      expect(inOrder(await store().countOpen())).to.deep.equal(inOrder(countedOpen([...model.values()])));
      for (const { generationId, version } of model.values()) await store().remove(generationId, version);
      expect(await store().countOpen()).to.deep.equal([]);
    });
  });
}

/** The counts, sorted, and each with its members in one order. */
function inOrder(counts: readonly OpenCount[]): string[] {
  return counts
    .map(({ state, modelKey, provider = null, generations, oldestCreatedAt }) =>
      JSON.stringify({ state, modelKey, provider, generations, oldestCreatedAt }),
    )
    .toSorted();
}

function pagesOfDue(store: () => GenerationStore): void {
  it('continues after the last record seen, complete and in order, in pages of any size', async () => {
    const times = [30, 10, 20, 20, 20, 40, 10, 50];
    for (const [n, dueAt] of times.entries()) await store().insert(aGeneration(n, { dueAt }));
    await forAll(40, [fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 60 })], async (limit, now) => {
      const seen: GenerationRecord[] = [];
      for (
        let page = await store().due(now, limit);
        page.length > 0;
        page = await store().due(now, limit, seen.at(-1))
      ) {
        expect(page.length).to.be.at.most(limit);
        seen.push(...page);
      }
      const expected = times
        .map((dueAt, n) => ({ dueAt, generationId: uuidAt(n) }))
        .filter(({ dueAt }) => dueAt <= now);
      expected.sort((a, b) => a.dueAt - b.dueAt || (a.generationId < b.generationId ? -1 : 1));
      expect(seen.map(({ dueAt, generationId }) => ({ dueAt, generationId }))).to.deep.equal(expected);
    });
  });

  it('continues though the last record seen was removed, or is due later now', async () => {
    for (const n of [1, 2, 3, 4]) await store().insert(aGeneration(n, { dueAt: 10 * n }));
    const [first, second] = await store().due(40, 2);
    await store().remove(uuidAt(1), 0);
    await store().replace(aGeneration(2, { version: 1, dueAt: 35 }), 0);
    expect((await store().due(40, 10, first)).map(({ dueAt }) => dueAt)).to.deep.equal([30, 35, 40]);
    expect((await store().due(40, 10, second)).map(({ dueAt }) => dueAt)).to.deep.equal([30, 35, 40]);
    expect(await store().due(20, 10, { dueAt: 30, generationId: uuidAt(0) })).to.deep.equal([]);
  });

  it('refuses a limit that is not 1 to 1,000 there too', async () => {
    for (const limit of [0, 1001]) {
      expect(await isRefused(store().due(1, limit, { dueAt: 0, generationId: uuidAt(1) }))).to.equal(true);
    }
  });
}

function lists(store: () => GenerationStore): void {
  it('lists nothing of an account without generations, and nothing of others', async () => {
    await store().insert(aGeneration(1, { accountId: uuidAt(8) }));
    expect(await store().list({ of: 'account', accountId: uuidAt(9) }, { limit: 10 })).to.deep.equal({ items: [] });
    expect(await store().list({ of: 'app', appId: uuidAt(9) }, { limit: 10 })).to.deep.equal({ items: [] });
    for (const id of ['', 'x']) {
      expect(await store().list({ of: 'account', accountId: id }, { limit: 10 })).to.deep.equal({ items: [] });
      expect(await store().list({ of: 'app', appId: id }, { limit: 10 })).to.deep.equal({ items: [] });
    }
  });

  it('refuses a limit that is not 1 to 1,000', async () => {
    for (const [limit, wanted] of [0, 1001].flatMap((n) => listsOf(aGeneration(1)).map((one) => [n, one] as const))) {
      expect(await isRefused(store().list(wanted, { limit }))).to.equal(true);
    }
  });

  it('lists an account by id, newest first and complete, in pages of any size', async () => {
    const inserted = [5, 3, 9, 1, 7, 2, 8].map((n) => aGeneration(n, { createdAt: 1_000 - n }));
    for (const generation of [...inserted, aGeneration(4, { accountId: uuidAt(8) })]) await store().insert(generation);
    const expected = inserted.toSorted((a, b) => (a.generationId < b.generationId ? 1 : -1));
    for (const limit of [1, 2, 3, 6, 7, 8])
      expect(
        await allPages((page) => store().list({ of: 'account', accountId: uuidAt(1) }, page), limit),
      ).to.deep.equal(expected);
  });

  it('lists an App by creation and id, all of it and by each field and time, whatever was written', async () => {
    const write = fc.record({
      n: fc.integer({ min: 1, max: 9 }),
      appId: fc.constantFrom(uuidAt(901), uuidAt(902)),
      createdAt: fc.integer({ min: 100, max: 104 }),
      status: fc.constantFrom('queued' as const, 'running' as const, 'succeeded' as const),
      modelKey: fc.constantFrom('sandbox-image', 'other.model'),
      clientTraceId: fc.constantFrom(undefined, 'trace:1', "it's"),
      isGone: fc.boolean(),
    });
    const time = fc.option(fc.integer({ min: 99, max: 106 }), { nil: undefined });
    const only = fc.constantFrom<AppGenerations['only']>(
      undefined,
      { field: 'status', value: 'running' },
      { field: 'modelKey', value: 'other.model' },
      { field: 'clientTraceId', value: "it's" },
      { field: 'clientTraceId', value: 'none' },
    );
    const asked = fc.record({ only, createdFrom: time, createdBefore: time, limit: fc.integer({ min: 1, max: 9 }) });
    await forAll(
      40,
      [fc.array(write, { maxLength: 14 }), fc.array(asked, { minLength: 4, maxLength: 4 })],
      async (writes, questions) => {
        const kept = await writeAll(store(), writes);
        for (const { limit, ...question } of questions) {
          const wanted = { of: 'app', appId: uuidAt(901), ...defined(question) } as AppGenerations;
          const listed = await allPages((page) => store().list(wanted, page), limit);
          expect(listed, JSON.stringify(wanted)).to.deep.equal(expectedOf(kept, wanted));
        }
        for (const { generationId, version } of kept) await store().remove(generationId, version);
      },
    );
  });

  it('continues the list of an App behind the cursor, though newer ones and tombstones came', async () => {
    for (const n of [1, 2, 3, 4]) await store().insert(aGeneration(n, { createdAt: 7 }));
    const wanted = { of: 'app', appId: uuidAt(2) } as const;
    const { items, nextCursor } = await store().list(wanted, { limit: 2 });
    expect(items.map(({ generationId }) => generationId)).to.deep.equal([uuidAt(4), uuidAt(3)]);
    await store().insert(aGeneration(5, { createdAt: 7 }));
    await store().replace(aTombstone(3, { kind: 'expired', version: 1 }), 0);
    await store().replace(aTombstone(2, { kind: 'expired', version: 1 }), 0);
    const next = await store().list(wanted, { limit: 2, cursor: nextCursor as string });
    expect(next).to.deep.equal({ items: [aGeneration(1, { createdAt: 7 })] });
  });

  it('answers nothing behind a cursor that no list has given out', async () => {
    await store().insert(aGeneration(1));
    for (const cursor of ['', 'x', '5', `1e99.${uuidAt(1)}`, `5.${uuidAt(1)}x`])
      expect(await store().list({ of: 'app', appId: uuidAt(2) }, { limit: 2, cursor }), cursor).to.deep.equal({
        items: [],
      });
  });

  it('lists the generations of all accounts, newest first and complete, in pages of any size, and no tombstones', async () => {
    const inserted = [5, 3, 9, 1, 7].map((n) => aGeneration(n, { accountId: uuidAt(900 + (n % 3)) }));
    for (const record of [...inserted, aTombstone(4), aTombstone(8)]) await store().insert(record);
    const expected = inserted.toSorted((a, b) => (a.generationId < b.generationId ? 1 : -1));
    for (const limit of [1, 2, 3, 5, 8]) {
      expect(await allPages((page) => store().list({ of: 'all' }, page), limit), String(limit)).to.deep.equal(expected);
    }
  });

  it('continues after the cursor though newer ones were added and the one at the cursor was removed', async () => {
    for (const n of [1, 2, 3, 4]) await store().insert(aGeneration(n));
    const first = await store().list({ of: 'account', accountId: uuidAt(1) }, { limit: 2 });
    await store().insert(aGeneration(5));
    await store().remove(uuidAt(3), 0);
    const second = await store().list(
      { of: 'account', accountId: uuidAt(1) },
      { limit: 2, cursor: first.nextCursor as string },
    );
    expect(second).to.deep.equal({ items: [aGeneration(2), aGeneration(1)] });
  });
}

/** Every list that a generation is in. */
function listsOf({ accountId, appId, status, modelKey, clientTraceId = '' }: Generation): ListedGenerations[] {
  const app = { of: 'app', appId } as const;
  return [
    { of: 'all' },
    { of: 'account', accountId },
    app,
    { ...app, only: { field: 'status', value: status } },
    { ...app, only: { field: 'modelKey', value: modelKey } },
    { ...app, only: { field: 'clientTraceId', value: clientTraceId } },
  ];
}

type Written = Pick<Generation, 'appId' | 'createdAt' | 'status' | 'modelKey'> & {
  readonly n: number;
  readonly clientTraceId: string | undefined;
  readonly isGone: boolean;
};

/** Inserts, replaces by another status and replaces by tombstones. Returns the stored records. */
async function writeAll(store: GenerationStore, writes: readonly Written[]): Promise<GenerationRecord[]> {
  const kept = new Map<number, GenerationRecord>();
  for (const { n, isGone, status, clientTraceId, ...values } of writes) {
    const before = kept.get(n);
    const { clientTraceId: _, ...first } = aGeneration(n, { ...values, status });
    const next: GenerationRecord =
      before?.kind === 'generation'
        ? { ...before, status, version: before.version + 1 }
        : { ...first, ...(clientTraceId === undefined ? {} : { clientTraceId }) };
    if (before === undefined) await store.insert(next);
    else if (before.kind !== 'generation') continue;
    else if (!isGone) await store.replace(next, before.version);
    else
      await store.replace(
        aTombstone(n, { kind: 'expired', appId: before.appId, version: next.version }),
        before.version,
      );
    kept.set(n, before !== undefined && isGone ? ((await store.read(uuidAt(n))) as GenerationRecord) : next);
  }
  return [...kept.values()];
}

function expectedOf(kept: readonly GenerationRecord[], wanted: AppGenerations): GenerationRecord[] {
  const { appId, only, createdFrom = 0, createdBefore = Infinity } = wanted;
  return kept
    .filter(
      (record) =>
        record.kind === 'generation' &&
        record.appId === appId &&
        record.createdAt >= createdFrom &&
        record.createdAt < createdBefore &&
        (only === undefined || record[only.field] === only.value),
    )
    .sort((a, b) => b.createdAt - a.createdAt || (a.generationId < b.generationId ? 1 : -1));
}

function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
