// Goal: every claim store gives a key to one claim, guards it by version, frees it on request, and removes expired
// claims.
// Method: failure cases one by one, then random sequences of calls compared with a plain map.
import { expect } from 'chai';
import fc from 'fast-check';
import type { Claim } from '../../core/idempotency/claim.js';
import type { ClaimStore } from '../../core/ports/stores.js';
import { aClaim, uuidAt } from '../fixtures/stored-records.js';
import { contract, type ContractSubject } from './subject.js';
import { forAll } from '../harness/for-all.js';

export function claimStoreContract(subject: ContractSubject<ClaimStore>): void {
  contract('ClaimStore contract', subject, (store) => {
    taking(store);
    changing(store);
    expiring(store);
    sequences(store);
    ofAccount(store);
  });
}

function ofAccount(store: () => ClaimStore): void {
  it('removes claims of one account alone, and where it does not know the accounts, none', async () => {
    const own = [1, 2, 3].map((n) => aClaim(n, { key: `key ${n}` }));
    const other = aClaim(4, { accountId: uuidAt(77) });
    for (const claim of [...own, other]) await store().insert(claim);
    const removed = await store().removeOfAccount(own[0]?.accountId ?? '', 2);
    expect(removed).to.be.oneOf([0, 2]);
    const left = (await Promise.all(own.map((claim) => store().read(claim)))).filter((claim) => claim !== null);
    expect(left).to.have.length(3 - removed);
    expect(await store().read(other)).to.deep.equal(other);
  });
}

function taking(store: () => ClaimStore): void {
  it('answers the claim that has the key, every field of it, and writes nothing', async () => {
    expect(await store().insert(aClaim(1))).to.deep.equal({ inserted: true });
    const other = aClaim(1, { digest: '00'.repeat(32), subjectId: uuidAt(9), version: 4 });
    expect(await store().insert(other)).to.deep.equal({ inserted: false, existing: aClaim(1) });
    expect(await store().insert(other)).to.deep.equal({ inserted: false, existing: aClaim(1) });
  });

  it('treats the same key of another account, App or operation as another key', async () => {
    const others: Partial<Claim>[] = [
      {},
      { accountId: uuidAt(7) },
      { appId: uuidAt(7) },
      { operation: 'create-compatible' },
      { operation: 'prepare' },
      { operation: 'complete' },
    ];
    for (const other of others) expect(await store().insert(aClaim(1, other))).to.deep.equal({ inserted: true });
    for (const other of others)
      expect(await store().insert(aClaim(1, other))).to.deep.equal({ inserted: false, existing: aClaim(1, other) });
  });

  it('replaces, removes and expires claims of every operation alike', async () => {
    for (const operation of ['create', 'create-compatible', 'prepare', 'complete'] as const) {
      // As the keys that the service makes itself, for requests that have none.
      const claim = aClaim(1, { operation, key: `silent ${uuidAt(1)}` });
      const next = { ...claim, version: 1, leaseExpiresAt: 0 };
      await store().insert(claim);
      expect(await store().replace(next, 0), operation).to.equal('applied');
      expect(await store().read(claim)).to.deep.equal(next);
      expect(await store().remove(claim, 1)).to.equal('applied');
      await store().insert({ ...claim, removeAt: 10 });
      expect(await store().removeExpired(10, 10)).to.equal(1);
      expect(await store().read(claim)).to.equal(null);
    }
  });

  it('distinguishes similar keys: by case, by length, by quotes and slashes', async () => {
    const keys = ['a', 'A', 'a ', 'aa', '"', '\\', '/', 'a/b', "'", '%', '_', '*', '~'.repeat(255), '~'.repeat(254)];
    for (const key of keys) expect(await store().insert(aClaim(1, { key })), key).to.deep.equal({ inserted: true });
    for (const key of keys)
      expect(await store().insert(aClaim(1, { key })), key).to.have.nested.property('existing.key', key);
  });

  it('gives a key to exactly one of many concurrent claims, and shows it to the others', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, n) => store().insert(aClaim(1, { subjectId: uuidAt(n) }))),
    );
    const winner = aClaim(1, { subjectId: uuidAt(outcomes.findIndex(({ inserted }) => inserted)) });
    expect(outcomes.filter(({ inserted }) => inserted)).to.have.length(1);
    for (const outcome of outcomes) if (!outcome.inserted) expect(outcome.existing).to.deep.equal(winner);
  });

  it('reads the claim of a key as it is now, or null', async () => {
    expect(await store().read(aClaim(1))).to.equal(null);
    await store().insert(aClaim(1));
    expect(await store().read(aClaim(1))).to.deep.equal(aClaim(1));
    expect(await store().read(aClaim(1, { operation: 'prepare' }))).to.equal(null);
    await store().replace(aClaim(1, { version: 1, leaseExpiresAt: 0 }), 0);
    expect(await store().read(aClaim(1))).to.deep.equal(aClaim(1, { version: 1, leaseExpiresAt: 0 }));
    await store().remove(aClaim(1), 1);
    expect(await store().read(aClaim(1))).to.equal(null);
  });
}

function changing(store: () => ClaimStore): void {
  it('refuses to replace or remove a missing claim', async () => {
    expect(await store().replace(aClaim(1, { version: 1 }), 0)).to.equal('conflict');
    expect(await store().remove(aClaim(1), 0)).to.equal('conflict');
    expect(await store().insert(aClaim(1))).to.deep.equal({ inserted: true });
  });

  it('refuses to replace or remove another version, and changes nothing', async () => {
    await store().insert(aClaim(1, { version: 3 }));
    for (const version of [2, 4]) {
      expect(await store().replace(aClaim(1, { version: version + 1 }), version)).to.equal('conflict');
      expect(await store().remove(aClaim(1), version)).to.equal('conflict');
    }
    expect(await store().insert(aClaim(1))).to.deep.equal({ inserted: false, existing: aClaim(1, { version: 3 }) });
  });

  it('replaces every field but the key', async () => {
    const next = aClaim(1, {
      version: 1,
      digest: '11'.repeat(32),
      subjectId: uuidAt(8),
      createdAt: 1,
      leaseExpiresAt: 2,
      removeAt: 3,
    });
    await store().insert(aClaim(1));
    expect(await store().replace(next, 0)).to.equal('applied');
    expect(await store().insert(aClaim(1))).to.deep.equal({ inserted: false, existing: next });
  });

  it('keeps a claim without a boot id, as older releases wrote it, and one with another boot id', async () => {
    const { bootId: _none, ...older } = aClaim(1);
    await store().insert(older);
    expect(await store().insert(aClaim(1))).to.deep.equal({ inserted: false, existing: older });
    await store().replace(aClaim(1, { version: 1, bootId: uuidAt(701) }), 0);
    expect(await store().insert(aClaim(1))).to.deep.equal({
      inserted: false,
      existing: aClaim(1, { version: 1, bootId: uuidAt(701) }),
    });
    await store().replace({ ...older, version: 2 }, 1);
    expect(await store().insert(aClaim(1))).to.deep.equal({ inserted: false, existing: { ...older, version: 2 } });
  });

  it('accepts exactly one of 64 concurrent replacements of one version', async () => {
    await store().insert(aClaim(1));
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, n) => store().replace(aClaim(1, { version: 1, subjectId: uuidAt(n) }), 0)),
    );
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
    expect(await store().insert(aClaim(1))).to.have.nested.property(
      'existing.subjectId',
      uuidAt(outcomes.indexOf('applied')),
    );
  });

  it('frees a removed key', async () => {
    await store().insert(aClaim(1));
    expect(await store().remove(aClaim(1), 0)).to.equal('applied');
    expect(await store().insert(aClaim(1, { version: 2 }))).to.deep.equal({ inserted: true });
  });
}

function expiring(store: () => ClaimStore): void {
  it('removes what is due at or before now, no more than asked for, and says how many', async () => {
    for (const [n, removeAt] of [30, 10, 20, 40].entries()) await store().insert(aClaim(n, { removeAt }));
    expect(await store().removeExpired(9, 10)).to.equal(0);
    expect(await store().removeExpired(30, 2)).to.equal(2);
    expect(await store().removeExpired(30, 2)).to.equal(1);
    expect(await store().removeExpired(30, 2)).to.equal(0);
    expect(await store().insert(aClaim(3))).to.have.property('inserted', false);
    for (const n of [0, 1, 2]) expect(await store().insert(aClaim(n))).to.have.property('inserted', true);
  });

  it('uses the time of the last replacement', async () => {
    await store().insert(aClaim(1, { removeAt: 10 }));
    await store().replace(aClaim(1, { version: 1, removeAt: 30 }), 0);
    expect(await store().removeExpired(29, 10)).to.equal(0);
    expect(await store().removeExpired(30, 10)).to.equal(1);
  });
}

type Call = {
  readonly kind: 'insert' | 'replace' | 'remove' | 'expire';
  readonly n: number;
  readonly expected: number;
  readonly at: number;
};

function sequences(store: () => ClaimStore): void {
  const call = fc.record<Call>({
    kind: fc.constantFrom('insert', 'insert', 'replace', 'remove', 'expire'),
    n: fc.integer({ min: 1, max: 3 }),
    expected: fc.integer({ min: 0, max: 2 }),
    at: fc.integer({ min: 0, max: 20 }),
  });

  it('answers random sequences of calls as a plain map would', async () => {
    await forAll(60, [fc.array(call, { maxLength: 20 })], async (calls) => {
      const model = new Map<number, Claim>();
      for (const step of calls) await agree(step, model);
      for (const [n, claim] of model) expect(await store().remove(aClaim(n), claim.version)).to.equal('applied');
    });
  });

  async function agree({ kind, n, expected, at }: Call, model: Map<number, Claim>): Promise<void> {
    const current = model.get(n);
    const matches = current?.version === expected;
    if (kind === 'expire') {
      const expired = [...model].filter(([, { removeAt }]) => removeAt <= at);
      expect(await store().removeExpired(at, 1000)).to.equal(expired.length);
      for (const [gone] of expired) model.delete(gone);
    } else if (kind === 'insert') {
      const claim = aClaim(n, { version: expected, removeAt: at });
      expect(await store().insert(claim)).to.deep.equal(
        current === undefined ? { inserted: true } : { inserted: false, existing: current },
      );
      if (current === undefined) model.set(n, claim);
    } else if (kind === 'replace') {
      const claim = aClaim(n, { version: expected + 1, removeAt: at });
      expect(await store().replace(claim, expected)).to.equal(matches ? 'applied' : 'conflict');
      if (matches) model.set(n, claim);
    } else {
      expect(await store().remove(aClaim(n), expected)).to.equal(matches ? 'applied' : 'conflict');
      if (matches) model.delete(n);
    }
  }
}
