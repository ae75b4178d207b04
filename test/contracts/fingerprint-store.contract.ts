// Goal: every store of requests without an idempotency key keeps one record a fingerprint, which of many concurrent
// writers exactly one writes onto a version, and one lease a process; it removes both when they expire, and the records
// of an account on request.
// Method: the checks shared by all stores of named records, cases one by one, then random sequences of calls against
// plain maps.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Fingerprint, ProcessLease, SharedCreate } from '../../core/idempotency/fingerprint.js';
import type { FingerprintStore } from '../../core/ports/stores.js';
import { aFingerprint, aProcessLease, uuidAt } from '../fixtures/stored-records.js';
import { forAll } from '../harness/for-all.js';
import { contract, type ContractSubject, isRefused } from './subject.js';
import { namedRecords } from './versioned-records.js';

const HOUR_MS = 3_600_000;

/** The `n`th fingerprint. */
function digestAt(n: number): string {
  return aFingerprint(n).fingerprint;
}

export function fingerprintStoreContract(subject: ContractSubject<FingerprintStore>): void {
  contract('FingerprintStore contract', subject, (store) => {
    const make = (version: number, fingerprint: string) => aFingerprint(1, { version, fingerprint });
    // The second one would be taken for a number by a store that guesses types.
    namedRecords({ store, make, names: ['f'.repeat(64), `${'0'.repeat(62)}1e`] });
    contents(store);
    racing(store);
    renewing(store);
    expiring(store);
    removingOfAccounts(store);
    sequences(store);
  });
}

function contents(store: () => FingerprintStore): void {
  it('starts at any version, 1 to 2^48, and goes on from there', async () => {
    for (const [n, version] of [1, 2 ** 48].entries()) {
      expect(await store().replace(aFingerprint(n, { version }), 0)).to.equal('applied');
      expect(await store().replace(aFingerprint(n, { version: version + 1 }), version)).to.equal('applied');
      expect(await store().read(digestAt(n))).to.deep.equal(aFingerprint(n, { version: version + 1 }));
    }
  });

  it('keeps a record without creates, and one with as many as clients can cause', async () => {
    const create = aFingerprint(1).creates[2] as SharedCreate;
    for (const [n, count] of [0, 500].entries()) {
      const record = aFingerprint(n, { creates: Array.from({ length: count }, () => create) });
      await store().replace(record, 0);
      expect(await store().read(digestAt(n))).to.deep.equal(record);
    }
  });

  it('replaces the whole record: what the next one does not have is gone', async () => {
    await store().replace(aFingerprint(1, { version: 5 }), 0);
    const next = aFingerprint(1, { version: 6, creates: [{ key: 'silent x', createdAt: 1, waits: [] }], removeAt: 3 });
    await store().replace(next, 5);
    expect(await store().read(digestAt(1))).to.deep.equal(next);
  });

  it('keeps its own copy: shares neither its arguments nor its answers', async () => {
    const given = structuredClone(aFingerprint(1));
    await store().replace(given, 0);
    Object.assign(given, { removeAt: 0, creates: [] });
    const answered = await store().read(digestAt(1));
    expect(answered).to.deep.equal(aFingerprint(1));
    const changed = Reflect.set(answered as object, 'creates', []) ? await store().read(digestAt(1)) : answered;
    expect(changed).to.deep.equal(aFingerprint(1));
  });
}

function racing(store: () => FingerprintStore): void {
  it('lets exactly one of 64 concurrent writers make a record, and shows what that one wrote', async () => {
    const records = Array.from({ length: 64 }, (_, n) => aFingerprint(1, { version: n + 1, removeAt: n }));
    const outcomes = await Promise.all(records.map((record) => store().replace(record, 0)));
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
    expect(await store().read(digestAt(1))).to.deep.equal(records[outcomes.indexOf('applied')]);
  });

  it('loses no change of writers that each read, add a wait and try again on a conflict', async () => {
    await store().replace(aFingerprint(1, { version: 1, creates: [{ key: 'silent x', createdAt: 1, waits: [] }] }), 0);
    const numbers = Array.from({ length: 16 }, (_, number) => number);
    await Promise.all(numbers.map((number) => addWait(store(), number)));
    const record = await store().read(digestAt(1));
    expect(record?.version).to.equal(17);
    expect(record?.creates[0]?.waits.map(({ number }) => number).toSorted((a, b) => a - b)).to.deep.equal(numbers);
  });

  it('makes a removed record again, once, and no late writer writes onto it', async () => {
    await store().replace(aFingerprint(1, { version: 5, removeAt: 10 }), 0);
    expect(await store().removeExpired(10, 10)).to.equal(1);
    expect(await store().replace(aFingerprint(1, { version: 6 }), 5)).to.equal('conflict');
    expect(await store().read(digestAt(1))).to.equal(null);
    expect(await store().replace(aFingerprint(1, { version: 900 }), 0)).to.equal('applied');
    expect(await store().replace(aFingerprint(1, { version: 6 }), 5)).to.equal('conflict');
    expect(await store().read(digestAt(1))).to.deep.equal(aFingerprint(1, { version: 900 }));
  });
}

async function addWait(store: FingerprintStore, number: number): Promise<void> {
  for (;;) {
    const record = await store.read(digestAt(1));
    if (record === null) throw new Error('the record is missing');
    const creates = record.creates.map((create) => ({
      ...create,
      waits: [...create.waits, { bootId: uuidAt(number), number }],
    }));
    const next = { ...record, version: record.version + 1, creates };
    if ((await store.replace(next, record.version)) === 'applied') return;
  }
}

function renewing(store: () => FingerprintStore): void {
  it('has no lease of a process that never renewed one', async () => {
    await store().renewLease(aProcessLease(1));
    for (const bootId of [uuidAt(2), '', 'x', uuidAt(1).replaceAll('-', '')])
      expect(await store().readLease(bootId), bootId).to.equal(null);
  });

  it('keeps the last renewal of each process', async () => {
    await store().renewLease(aProcessLease(1));
    await store().renewLease(aProcessLease(2, { renewals: 8 }));
    await store().renewLease(aProcessLease(1, { renewals: 2, renewedAt: 2_000, removeAt: 2 * HOUR_MS }));
    const renewed = aProcessLease(1, { renewals: 2, renewedAt: 2_000, removeAt: 2 * HOUR_MS });
    expect(await store().readLease(uuidAt(1))).to.deep.equal(renewed);
    expect(await store().readLease(uuidAt(2))).to.deep.equal(aProcessLease(2, { renewals: 8 }));
  });

  it('accepts the first renewals of one process when they are concurrent', async () => {
    await Promise.all(Array.from({ length: 16 }, (_, n) => store().renewLease(aProcessLease(1, { renewals: n }))));
    expect((await store().readLease(uuidAt(1)))?.renewals).to.be.within(0, 15);
  });
}

function expiring(store: () => FingerprintStore): void {
  it('refuses a limit that is not 1 to 1,000', async () => {
    for (const limit of [0, -1, 1001, 1.5, Number.NaN]) {
      expect(await isRefused(store().removeExpired(0, limit)), String(limit)).to.equal(true);
      expect(await isRefused(store().removeOfAccount(uuidAt(1), limit)), String(limit)).to.equal(true);
    }
  });

  it('removes records and leases that are due at or before now, no more than asked for, and says how many', async () => {
    for (const [n, removeAt] of [30, 10, 20, 40].entries()) await store().replace(aFingerprint(n, { removeAt }), 0);
    for (const [n, removeAt] of [30, 40].entries()) await store().renewLease(aProcessLease(n, { removeAt }));
    expect(await store().removeExpired(9, 10)).to.equal(0);
    expect(await store().removeExpired(30, 2)).to.equal(2);
    expect(await store().removeExpired(30, 10)).to.equal(2);
    expect(await store().removeExpired(30, 10)).to.equal(0);
    expect(await store().read(digestAt(3))).to.deep.equal(aFingerprint(3, { removeAt: 40 }));
    expect(await store().readLease(uuidAt(1))).to.deep.equal(aProcessLease(1, { removeAt: 40 }));
    for (const n of [0, 1, 2]) expect(await store().read(digestAt(n))).to.equal(null);
    expect(await store().readLease(uuidAt(0))).to.equal(null);
  });

  it('uses the time of the last write', async () => {
    await store().replace(aFingerprint(1, { version: 1, removeAt: 10 }), 0);
    await store().replace(aFingerprint(1, { version: 2, removeAt: 30 }), 1);
    await store().renewLease(aProcessLease(1, { removeAt: 10 }));
    await store().renewLease(aProcessLease(1, { removeAt: 30 }));
    expect(await store().removeExpired(29, 10)).to.equal(0);
    expect(await store().removeExpired(30, 10)).to.equal(2);
  });
}

function removingOfAccounts(store: () => FingerprintStore): void {
  it('removes the records of an account, no more than asked for, and those of no other', async () => {
    for (const n of [1, 2, 3]) await store().replace(aFingerprint(n), 0);
    await store().replace(aFingerprint(4, { accountId: uuidAt(8) }), 0);
    expect(await store().removeOfAccount(uuidAt(9), 10)).to.equal(0);
    expect(await store().removeOfAccount('', 10)).to.equal(0);
    expect(await store().removeOfAccount(uuidAt(1), 2)).to.equal(2);
    expect(await store().removeOfAccount(uuidAt(1), 2)).to.equal(1);
    expect(await store().removeOfAccount(uuidAt(1), 2)).to.equal(0);
    for (const n of [1, 2, 3]) expect(await store().read(digestAt(n))).to.equal(null);
    expect(await store().read(digestAt(4))).to.deep.equal(aFingerprint(4, { accountId: uuidAt(8) }));
  });
}

interface Call {
  readonly kind: 'replace' | 'renew' | 'expire' | 'erase';
  readonly n: number;
  readonly expected: number;
  readonly at: number;
}

interface Model {
  readonly records: Map<number, Fingerprint>;
  readonly leases: Map<number, ProcessLease>;
}

function sequences(store: () => FingerprintStore): void {
  const call = fc.record<Call>({
    kind: fc.constantFrom('replace', 'replace', 'replace', 'renew', 'expire', 'erase'),
    n: fc.integer({ min: 1, max: 3 }),
    expected: fc.integer({ min: 0, max: 2 }),
    at: fc.integer({ min: 0, max: 20 }),
  });

  it('answers random sequences of calls as plain maps would', async () => {
    await forAll(60, [fc.array(call, { maxLength: 20 })], async (calls) => {
      const model: Model = { records: new Map(), leases: new Map() };
      for (const step of calls) await agree(step, model);
      await store().removeExpired(HOUR_MS, 1_000);
    });
  });

  async function agree({ kind, n, expected, at }: Call, { records, leases }: Model): Promise<void> {
    if (kind === 'replace') {
      // Records 1 and 2 are of one account.
      const record = aFingerprint(n, { version: expected + 1, removeAt: at, accountId: uuidAt(n < 3 ? 1 : 8) });
      const matches = (records.get(n)?.version ?? 0) === expected;
      expect(await store().replace(record, expected)).to.equal(matches ? 'applied' : 'conflict');
      if (matches) records.set(n, record);
    } else if (kind === 'renew') {
      const lease = aProcessLease(n, { renewals: expected, removeAt: at });
      await store().renewLease(lease);
      leases.set(n, lease);
    } else if (kind === 'expire') {
      const expired = (kept: Map<number, { readonly removeAt: number }>) =>
        [...kept].filter(([, { removeAt }]) => removeAt <= at).map(([key]) => kept.delete(key)).length;
      const count = expired(records) + expired(leases);
      expect(await store().removeExpired(at, 1_000)).to.equal(count);
    } else {
      const own = [...records].filter(([, { accountId }]) => accountId === uuidAt(1));
      expect(await store().removeOfAccount(uuidAt(1), 1_000)).to.equal(own.length);
      for (const [gone] of own) records.delete(gone);
    }
    expect(await store().read(digestAt(n))).to.deep.equal(records.get(n) ?? null);
    expect(await store().readLease(uuidAt(n))).to.deep.equal(leases.get(n) ?? null);
  }
}
