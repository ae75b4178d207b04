// Goal: every account store applies a change as a whole to the version it was decided on or not at all, keeps exact
// amounts, and finds ledgers, operations, accounts and old holds, in order and complete.
// Method: failure cases one by one, concurrent writers, then random sequences of changes compared with a small model.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Account, Entry, Hold } from '../../core/credits/account.js';
import type { AccountStore } from '../../core/ports/stores.js';
import { aChange, anAccount, ATTRIBUTION, MAX_AMOUNT, uuidAt } from '../fixtures/stored-records.js';
import { accountSequences } from './account-sequences.js';
import { endedCalls } from './ended-calls.js';
import { contract, type ContractSubject, isRefused } from './subject.js';
import { allPages } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

export function accountStoreContract(subject: ContractSubject<AccountStore>): void {
  contract('AccountStore contract', subject, (store) => {
    creating(store);
    describe('changes', () => applying(store));
    describe('ledgers', () => ledgers(store));
    describe('removed texts', () => removedTexts(store));
    describe('lists of accounts', () => listing(store));
    describe('old holds', () => oldHolds(store));
    accountSequences(store);
    describe('reads for a call', () =>
      endedCalls(async () => {
        await store().create(anAccount(1));
        return {
          read: (call) => store().read(uuidAt(1), call),
          entries: (call) => store().entries(uuidAt(1), { limit: 5 }, call),
          list: (call) => store().list({ limit: 5 }, call),
        };
      }));
  });
}

export function aHold(n: number, values: Partial<Hold> = {}): Hold {
  return { generationId: uuidAt(n), credits: 1, heldAt: 1_000 + n, ...values };
}

export function anEntry(account: Account, sequence: number, values: Partial<Entry> = {}): Entry {
  return {
    accountId: account.accountId,
    sequence,
    kind: 'grant',
    from: 'issued',
    to: 'available',
    credits: 1,
    at: sequence,
    availableAfter: sequence,
    ...values,
  };
}

/** Entries of every kind, with all the texts that they may have, more than fit into one document of a store. */
function entriesWithTexts(account: Account): Entry[] {
  return Array.from({ length: 300 }, (_, index) => {
    const sequence = index + 1;
    if (sequence % 3 === 1) return anEntry(account, sequence, { operationId: `op ${sequence}`, reason: 'for $Ada' });
    const generationId = uuidAt(sequence);
    const move = {
      kind: 'release',
      from: 'reserved',
      to: 'available',
      generationId,
      attribution: ATTRIBUTION,
    } as const;
    return anEntry(account, sequence, sequence % 3 === 2 ? move : { ...move, reason: 'failed' });
  });
}

function bare({ operationId: _operationId, reason: _reason, attribution, ...entry }: Entry): Entry {
  if (attribution === undefined) return entry;
  const { clientTraceId: _clientTraceId, ...kept } = attribution;
  return { ...entry, attribution: kept };
}

function removedTexts(store: () => AccountStore): void {
  it('leave everything else of an entry, and other entries, as they were', async () => {
    const account = anAccount(1);
    await store().create(account);
    const entries = entriesWithTexts(account);
    await store().apply(aChange(account, { lastSequence: 300, entries }));
    // One has no reason any more and keeps its operation id.
    const { reason: _reason, ...withoutReason } = entries[0] as Entry;
    const chosen = entries.slice(100, 220).map(bare);
    for (const removed of [[withoutReason], chosen, chosen]) await store().removeTexts(account.accountId, removed);
    const expected = [withoutReason, ...entries.slice(1, 100), ...chosen, ...entries.slice(220)];
    expect((await store().entries(account.accountId, { limit: 1_000 })).items).to.deep.equal(expected);
    expect(await store().findOperation(account.accountId, 'op 1')).to.deep.equal(withoutReason);
    expect(await store().findOperation(account.accountId, 'op 103')).to.equal(null);
  });

  it('of the same entries, removed at the same time, are all removed, while others are written', async () => {
    const account = anAccount(1);
    await store().create(account);
    const entries = entriesWithTexts(account).slice(0, 90);
    await store().apply(aChange(account, { lastSequence: 90, entries }));
    const traceless = entries.map((entry) => ({ ...bare(entry), ...texts(entry) }));
    const changed = { ...account, version: 1, lastSequence: 90 };
    const others = [anEntry(account, 91, { operationId: 'later', reason: 'kept' })];
    await Promise.all([
      store().removeTexts(
        account.accountId,
        entries.map((entry) => ({ ...entry, ...NO_TEXTS })),
      ),
      store().removeTexts(account.accountId, traceless),
      store().apply(aChange(changed, { lastSequence: 91, entries: others })),
    ]);
    const { items } = await store().entries(account.accountId, { limit: 1_000 });
    expect(items).to.deep.equal([...entries.map(bare), ...others]);
  });
}

const NO_TEXTS = { operationId: undefined, reason: undefined } as unknown as Partial<Entry>;

function texts({ operationId, reason }: Entry): Pick<Entry, 'operationId' | 'reason'> {
  return { ...(operationId === undefined ? {} : { operationId }), ...(reason === undefined ? {} : { reason }) };
}

function creating(store: () => AccountStore): void {
  it('reads null where there is no account', async () => {
    await store().create(anAccount(1));
    for (const id of [uuidAt(2), '', 'x', uuidAt(1).replaceAll('-', '')])
      expect(await store().read(id), id).to.equal(null);
  });

  it('keeps the first account of an id, every field of it', async () => {
    const account = anAccount(1, { name: 'Größe 水 🐈', currency: 'EUR', createdAt: 0 });
    expect(await store().create(account)).to.equal('created');
    expect(await store().create(anAccount(1, { name: 'other' }))).to.equal('exists');
    expect(await store().read(uuidAt(1))).to.deep.equal(account);
  });

  it('reads the totals of an account as they are with its holds, or null', async () => {
    const account = anAccount(1);
    await store().create(account);
    const grant = { issued: 9, available: 9, reserved: 0, spent: 0 };
    await store().apply(
      aChange(account, {
        ...grant,
        lastSequence: 1,
        entries: [anEntry(account, 1, { credits: 9, availableAfter: 9 })],
      }),
    );
    const held = { issued: 9, available: 7, reserved: 2, spent: 0 };
    const hold = anEntry(account, 2, {
      kind: 'hold',
      from: 'available',
      to: 'reserved',
      credits: 2,
      availableAfter: 7,
      generationId: uuidAt(7),
    });
    await store().apply(
      aChange(
        { ...account, ...grant, version: 1, lastSequence: 1 },
        { ...held, lastSequence: 2, holdsOpened: [aHold(7, { credits: 2 })], entries: [hold] },
      ),
    );
    const { holds, ...totals } = (await store().read(uuidAt(1))) as Account;
    expect(holds.size).to.equal(1);
    expect(await store().read(uuidAt(1), undefined, 'totals')).to.deep.equal(totals);
    expect(await store().read(uuidAt(2), undefined, 'totals')).to.equal(null);
  });
}

function applying(store: () => AccountStore): void {
  it('refuses a change of a missing account', async () => {
    expect(await store().apply(aChange(anAccount(1)))).to.equal('conflict');
    expect(await store().read(uuidAt(1))).to.equal(null);
  });

  it('writes nothing at all onto another version', async () => {
    const account = anAccount(1);
    await store().create(account);
    const change = aChange(account, {
      expectedVersion: 1,
      version: 2,
      issued: 5,
      available: 5,
      holdsOpened: [aHold(1)],
      entries: [anEntry(account, 1, { operationId: 'op' })],
    });
    expect(await store().apply(change)).to.equal('conflict');
    expect(await store().read(account.accountId)).to.deep.equal(account);
    expect(await store().entries(account.accountId, { limit: 10 })).to.deep.equal({ items: [] });
    expect(await store().findOperation(account.accountId, 'op')).to.equal(null);
    expect(await store().holdsBefore(MAX_AMOUNT, { limit: 10 })).to.deep.equal({ items: [] });
  });

  it('writes totals, holds and entries together, and amounts to the last credit', async () => {
    const account = anAccount(1);
    await store().create(account);
    const totals = {
      issued: MAX_AMOUNT,
      available: MAX_AMOUNT - 1,
      reserved: 2 ** 31 + 1,
      spent: -MAX_AMOUNT,
      lastSequence: 1,
    };
    const hold = aHold(9, { credits: MAX_AMOUNT, heldAt: MAX_AMOUNT - 2 });
    const entry = anEntry(account, 1, {
      credits: MAX_AMOUNT,
      at: 2 ** 53 - 3,
      availableAfter: MAX_AMOUNT,
      generationId: uuidAt(9),
      operationId: 'op',
      reason: 'why "not"',
    });
    expect(await store().apply(aChange(account, { ...totals, holdsOpened: [hold], entries: [entry] }))).to.equal(
      'applied',
    );
    expect(await store().read(account.accountId)).to.deep.equal({
      ...account,
      ...totals,
      version: 1,
      holds: new Map([[hold.generationId, hold]]),
    });
    expect(await store().entries(account.accountId, { limit: 10 })).to.deep.equal({ items: [entry] });
    expect(await store().holdsBefore(MAX_AMOUNT, { limit: 10 })).to.deep.equal({
      items: [{ ...hold, accountId: account.accountId }],
    });
  });

  it('keeps the attribution of holds and entries, and its absence', async () => {
    const account = anAccount(1);
    await store().create(account);
    const { clientTraceId: _, ...untraced } = ATTRIBUTION;
    const { actor: __, ...own } = untraced;
    const { appId: ___, ...ofEarlierRelease } = own;
    const attributions = [ATTRIBUTION, untraced, own, ofEarlierRelease];
    const holds = [...attributions.map((attribution, index) => aHold(10 + index, { attribution })), aHold(9)];
    const entries = holds.map(({ generationId, attribution }, index) =>
      anEntry(account, index + 1, {
        kind: 'hold',
        from: 'available',
        to: 'reserved',
        generationId,
        ...(attribution === undefined ? {} : { attribution }),
      }),
    );
    expect(await store().apply(aChange(account, { lastSequence: 5, holdsOpened: holds, entries }))).to.equal('applied');
    expect((await store().read(account.accountId))?.holds).to.deep.equal(
      new Map(holds.map((hold) => [hold.generationId, hold])),
    );
    expect((await store().entries(account.accountId, { limit: 10 })).items).to.deep.equal(entries);
    expect((await store().holdsBefore(MAX_AMOUNT, { limit: 10 })).items).to.deep.equal(
      holds
        .toSorted((a, b) => (a.generationId < b.generationId ? -1 : 1))
        .map((hold) => ({ ...hold, accountId: account.accountId })),
    );
  });

  it('writes a profile without entries, and ends a suspension with the next one', async () => {
    const account = anAccount(1);
    await store().create(account);
    const suspended = { name: "O'Größe 水 $x", suspendedAt: MAX_AMOUNT };
    expect(await store().apply(aChange(account, { profile: suspended }))).to.equal('applied');
    expect(await store().read(account.accountId)).to.deep.equal({ ...account, ...suspended, version: 1 });
    expect((await store().list({ limit: 5 })).items).to.deep.equal([{ ...account, ...suspended, version: 1 }]);
    expect(await store().apply(aChange({ ...account, version: 1 }))).to.equal('applied');
    expect(await store().read(account.accountId), 'a change without one leaves it').to.deep.equal({
      ...account,
      ...suspended,
      version: 2,
    });
    expect(await store().apply(aChange(account, { profile: { name: 'late' } }))).to.equal('conflict');
    expect(await store().apply(aChange({ ...account, version: 2 }, { profile: { name: 'Other' } }))).to.equal(
      'applied',
    );
    expect(await store().read(account.accountId)).to.deep.equal({ ...account, name: 'Other', version: 3 });
    const erased = { name: 'erased', suspendedAt: 5, erasedAt: 6 };
    expect(await store().apply(aChange({ ...account, version: 3 }, { profile: erased }))).to.equal('applied');
    expect(await store().read(account.accountId)).to.deep.equal({ ...account, ...erased, version: 4 });
    expect(await store().entries(account.accountId, { limit: 5 })).to.deep.equal({ items: [] });
  });

  it('closes holds before it opens others, so that an ended one may be opened again in the same change', async () => {
    const account = anAccount(1);
    await store().create(account);
    await store().apply(aChange(account, { holdsOpened: [aHold(1, { credits: 2, heldAt: 3 })] }));
    const again = aHold(1, { credits: 5, heldAt: 4 });
    expect(
      await store().apply(
        aChange(account, { expectedVersion: 1, version: 2, holdsClosed: [again.generationId], holdsOpened: [again] }),
      ),
    ).to.equal('applied');
    expect((await store().read(account.accountId))?.holds).to.deep.equal(new Map([[again.generationId, again]]));
    expect((await store().holdsBefore(MAX_AMOUNT, { limit: 10 })).items).to.deep.equal([
      { ...again, accountId: account.accountId },
    ]);
  });

  it('accepts any version a number can hold', async () => {
    const account = anAccount(1);
    await store().create(account);
    await store().apply(aChange(account, { version: MAX_AMOUNT - 1 }));
    expect(await store().apply(aChange(account, { expectedVersion: MAX_AMOUNT - 2, version: MAX_AMOUNT }))).to.equal(
      'conflict',
    );
    expect(await store().apply(aChange(account, { expectedVersion: MAX_AMOUNT - 1, version: MAX_AMOUNT }))).to.equal(
      'applied',
    );
    expect((await store().read(account.accountId))?.version).to.equal(MAX_AMOUNT);
  });

  it('applies exactly one of 64 concurrent changes of one version', async () => {
    const account = anAccount(1);
    await store().create(account);
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        store().apply(
          aChange(account, {
            issued: n,
            holdsOpened: [aHold(n)],
            lastSequence: 1,
            entries: [anEntry(account, 1, { credits: n })],
          }),
        ),
      ),
    );
    const winner = outcomes.indexOf('applied');
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
    expect(await store().read(account.accountId)).to.deep.include({
      version: 1,
      issued: winner,
      holds: new Map([[uuidAt(winner), aHold(winner)]]),
    });
    expect((await store().entries(account.accountId, { limit: 10 })).items.map(({ credits }) => credits)).to.deep.equal(
      [winner],
    );
  });

  it('accepts 1,000 entries and as many holds in one change, and refuses one more', async () => {
    const account = anAccount(1);
    await store().create(account);
    const entries = Array.from({ length: 1001 }, (_, index) => anEntry(account, index + 1));
    const holds = Array.from({ length: 1000 }, (_, n) => aHold(n));
    expect(await isRefused(store().apply(aChange(account, { lastSequence: 1001, entries })))).to.equal(true);
    expect(
      await store().apply(
        aChange(account, { lastSequence: 1000, entries: entries.slice(0, 1000), holdsOpened: holds }),
      ),
    ).to.equal('applied');
    expect((await store().read(account.accountId))?.holds.size).to.equal(1000);
    expect((await store().entries(account.accountId, { limit: 1000 })).items).to.deep.equal(entries.slice(0, 1000));
  });

  it('refuses a second entry of one operation, and writes nothing of that change', async () => {
    const account = anAccount(1);
    await store().create(account);
    await store().apply(aChange(account, { lastSequence: 1, entries: [anEntry(account, 1, { operationId: 'op' })] }));
    const again = aChange(
      { ...account, version: 1 },
      { issued: 9, lastSequence: 2, holdsOpened: [aHold(1)], entries: [anEntry(account, 2, { operationId: 'op' })] },
    );
    expect(await isRefused(store().apply(again))).to.equal(true);
    expect(await store().read(account.accountId)).to.deep.include({ version: 1, issued: 0, holds: new Map() });
    expect((await store().entries(account.accountId, { limit: 10 })).items).to.have.length(1);
  });

  it('isolates a refused unit from those written with it', async () => {
    const account = anAccount(1);
    await store().create(account);
    await store().apply(aChange(account, { lastSequence: 1, entries: [anEntry(account, 1, { operationId: 'op' })] }));
    const refused = store().apply(
      aChange({ ...account, version: 1 }, { lastSequence: 2, entries: [anEntry(account, 2, { operationId: 'op' })] }),
    );
    const [outcome, ...created] = await Promise.all([
      isRefused(refused),
      ...[2, 3, 4].map((n) => store().create(anAccount(n))),
    ]);
    expect(outcome).to.equal(true);
    expect(created).to.deep.equal(['created', 'created', 'created']);
    for (const n of [2, 3, 4]) expect(await store().read(uuidAt(n))).to.deep.equal(anAccount(n));
  });

  it('returns accounts that later changes do not modify', async () => {
    const account = anAccount(1);
    await store().create(account);
    const before = await store().read(account.accountId);
    await store().apply(aChange(account, { issued: 3, holdsOpened: [aHold(1)] }));
    expect(before).to.deep.equal(account);
  });
}

function ledgers(store: () => AccountStore): void {
  it('finds no ledger and no operation of a missing account', async () => {
    expect(await store().entries(uuidAt(1), { limit: 10 })).to.deep.equal({ items: [] });
    expect(await store().findOperation(uuidAt(1), 'op')).to.equal(null);
  });

  it('finds an operation in its own account only, by its exact id', async () => {
    const [one, two] = [anAccount(1), anAccount(2)];
    for (const account of [one, two]) await store().create(account);
    await store().apply(
      aChange(one, { lastSequence: 1, entries: [anEntry(one, 1, { operationId: 'op', reason: 'first' })] }),
    );
    await store().apply(
      aChange(two, { lastSequence: 1, entries: [anEntry(two, 1, { operationId: 'op', reason: 'second' })] }),
    );
    expect(await store().findOperation(one.accountId, 'op')).to.deep.equal(
      anEntry(one, 1, { operationId: 'op', reason: 'first' }),
    );
    expect(await store().findOperation(two.accountId, 'op')).to.deep.equal(
      anEntry(two, 1, { operationId: 'op', reason: 'second' }),
    );
    for (const id of ['OP', 'op ', '']) expect(await store().findOperation(one.accountId, id), id).to.equal(null);
  });

  it('lists a ledger oldest first and complete in pages of any size, though entries come meanwhile', async () => {
    const account = anAccount(1);
    await store().create(account);
    const entries = Array.from({ length: 12 }, (_, index) => anEntry(account, index + 1, { credits: index }));
    await store().apply(aChange(account, { lastSequence: 11, entries: entries.slice(0, 11) }));
    const first = await store().entries(account.accountId, { limit: 4 });
    await store().apply(aChange({ ...account, version: 1 }, { lastSequence: 12, entries: entries.slice(11) }));
    const rest = await store().entries(account.accountId, { limit: 100, cursor: first.nextCursor as string });
    expect([...first.items, ...rest.items]).to.deep.equal(entries);
    await forAll(20, [fc.integer({ min: 1, max: 13 })], async (limit) => {
      expect(await allPages((page) => store().entries(account.accountId, page), limit)).to.deep.equal(entries);
    });
  });
}

function listing(store: () => AccountStore): void {
  it('refuses a limit that is not 1 to 1,000', async () => {
    for (const limit of [0, 1001, 1.5]) {
      const calls = [store().list({ limit }), store().entries(uuidAt(1), { limit }), store().holdsBefore(1, { limit })];
      for (const call of calls) expect(await isRefused(call), String(limit)).to.equal(true);
    }
  });

  it('lists all accounts in order of id, with their holds, in pages of any size', async () => {
    expect(await store().list({ limit: 10 })).to.deep.equal({ items: [] });
    const numbers = [5, 3, 9, 1, 7];
    for (const n of numbers) {
      await store().create(anAccount(n));
      await store().apply(aChange(anAccount(n), { holdsOpened: [aHold(n)] }));
    }
    const expected = numbers
      .toSorted((a, b) => a - b)
      .map((n) => ({ ...anAccount(n), version: 1, holds: new Map([[uuidAt(n), aHold(n)]]) }));
    for (const limit of [1, 2, 4, 5, 6])
      expect(await allPages((page) => store().list(page), limit)).to.deep.equal(expected);
  });
}

function oldHolds(store: () => AccountStore): void {
  it('finds open holds of all accounts held before a time, oldest first, in pages of any size, and none that closed', async () => {
    const accounts = [anAccount(1), anAccount(2)];
    const held = [
      [9, 50],
      [8, 10],
      [7, 30],
      [6, 30],
      [5, 30],
    ].map(([n = 0, heldAt = 0]) => aHold(n, { heldAt }));
    for (const account of accounts) {
      await store().create(account);
      await store().apply(aChange(account, { holdsOpened: [...held, aHold(4, { heldAt: 1 })] }));
      await store().apply(aChange({ ...account, version: 1 }, { holdsClosed: [uuidAt(4)] }));
    }
    for (const [before, count] of [
      [10, 0],
      [11, 2],
      [30, 2],
      [31, 8],
      [51, 10],
    ] as const) {
      for (const limit of [1, 3, 100]) {
        const found = await allPages((page) => store().holdsBefore(before, page), limit);
        expect(found.map(({ heldAt }) => heldAt)).to.deep.equal(
          found.map(({ heldAt }) => heldAt).toSorted((a, b) => a - b),
        );
        expect(new Set(found.map((hold) => `${hold.accountId}/${hold.generationId}`)).size, `${before}`).to.equal(
          count,
        );
        expect(found).to.have.length(count);
      }
    }
  });

  it('continues after the cursor though the hold at the cursor closed', async () => {
    const account = anAccount(1);
    await store().create(account);
    await store().apply(aChange(account, { holdsOpened: [1, 2, 3, 4].map((n) => aHold(n)) }));
    const first = await store().holdsBefore(MAX_AMOUNT, { limit: 2 });
    await store().apply(aChange({ ...account, version: 1 }, { holdsClosed: [uuidAt(2)] }));
    const second = await store().holdsBefore(MAX_AMOUNT, { limit: 2, cursor: first.nextCursor as string });
    expect(second.items.map(({ generationId }) => generationId)).to.deep.equal([uuidAt(3), uuidAt(4)]);
    expect(second).not.to.have.property('nextCursor');
  });
}
