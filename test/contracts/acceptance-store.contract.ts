// Goal: every acceptance store writes claims, account and generations of a batch in that order or at once, and nothing
// past a claim that is taken or an account that has moved on.
// Method: failure cases one by one, then random sequences of batches compared with plain maps; the stores of the three
// kinds of records show the result.
import { expect } from 'chai';
import fc from 'fast-check';
import type { AccountChange } from '../../core/credits/account.js';
import type { Claim } from '../../core/idempotency/claim.js';
import type { AcceptanceBatch, AcceptanceOutcome } from '../../core/ports/stores.js';
import type { Ports } from '../../core/ports/ports.js';
import {
  aChange,
  aClaim,
  aGeneration,
  anAccount,
  aTombstone,
  ATTRIBUTION,
  uuidAt,
} from '../fixtures/stored-records.js';
import { contract, type ContractSubject } from './subject.js';
import { forAll } from '../harness/for-all.js';

/** The store under the contract, with the stores that show its writes. */
export type AcceptanceSubject = Pick<Ports, 'accounts' | 'claims' | 'generations' | 'acceptances'>;

interface Supports {
  /** A generation that is not accepted leaves no claim. */
  readonly oneStep: boolean;
}

const ACCOUNT = anAccount(1, { issued: 1_000_000, available: 1_000_000 });
const CREDITS = 4;

export function acceptanceStoreContract(subject: ContractSubject<AcceptanceSubject, Supports>): void {
  contract('AcceptanceStore contract', subject, (stores) => {
    beforeEach(async () => {
      await stores().accounts.create({ ...ACCOUNT, version: 0 });
      await stores().accounts.read(ACCOUNT.accountId);
    });
    writing(stores);
    refusing(stores, subject.supports);
    sequences(stores, subject.supports);
  });
}

interface At {
  readonly version: number;
  readonly lastSequence: number;
}

const FRESH: At = { version: 0, lastSequence: 0 };

/** The change of an account, at this place in its ledger, that holds the price of generations. */
function holding(place: At, numbers: readonly number[], values: Partial<AccountChange> = {}): AccountChange {
  const held = CREDITS * numbers.length;
  const at = 1_700_000_000_000;
  return aChange(
    { ...ACCOUNT, ...place },
    {
      available: ACCOUNT.available - held,
      reserved: held,
      lastSequence: place.lastSequence + numbers.length,
      holdsOpened: numbers.map((n) => ({
        generationId: uuidAt(n),
        credits: CREDITS,
        heldAt: at,
        attribution: ATTRIBUTION,
      })),
      entries: numbers.map((n, index) => ({
        accountId: ACCOUNT.accountId,
        sequence: place.lastSequence + index + 1,
        kind: 'hold',
        from: 'available',
        to: 'reserved',
        credits: CREDITS,
        at,
        availableAfter: ACCOUNT.available - CREDITS * (index + 1),
        generationId: uuidAt(n),
        attribution: ATTRIBUTION,
      })),
      ...values,
    },
  );
}

function batchOf(place: At, ...numbers: readonly number[]): AcceptanceBatch {
  return {
    claims: numbers.map((n) => aClaim(n)),
    change: holding(place, numbers),
    generations: numbers.map((n) => aGeneration(n)),
  };
}

function writing(stores: () => AcceptanceSubject): void {
  const accept = async (batch: AcceptanceBatch) => stores().acceptances.accept(batch);

  it('stores every field of the claims, of the change and of the generations', async () => {
    const { bootId: _none, ...older } = aClaim(8);
    const { clientTraceId: _trace, webhookUrl: _url, ...plain } = aGeneration(8);
    const change = holding(FRESH, [7, 8], {
      capUses: [{ credentialId: 'key', period: '2026-11', used: 9 }],
      profile: { name: 'Renamed' },
    });
    expect(await accept({ claims: [aClaim(7), older], change, generations: [aGeneration(7), plain] })).to.deep.equal({
      outcome: 'accepted',
      existing: [],
    });
    expect(await stores().claims.read(aClaim(7))).to.deep.equal(aClaim(7));
    expect(await stores().claims.read(aClaim(8))).to.deep.equal(older);
    expect(await stores().generations.read(uuidAt(7))).to.deep.equal(aGeneration(7));
    expect(await stores().generations.read(uuidAt(8))).to.deep.equal(plain);
    const account = await stores().accounts.read(ACCOUNT.accountId);
    expect(account).to.include({ version: 1, available: ACCOUNT.available - 8, reserved: 8, name: 'Renamed' });
    expect([...account!.holds.values()]).to.have.deep.members([...change.holdsOpened]);
    expect([...(account!.capUses?.values() ?? [])]).to.deep.equal(change.capUses);
    expect((await stores().accounts.entries(ACCOUNT.accountId, { limit: 10 })).items).to.deep.equal(change.entries);
  });

  it('closes holds, drops the use of caps and accepts generations in one change', async () => {
    await accept(batchOf(FRESH, 7));
    const change = holding({ version: 1, lastSequence: 1 }, [8], { holdsClosed: [uuidAt(7)] });
    await accept({ claims: [aClaim(8)], change, generations: [aGeneration(8)] });
    const account = await stores().accounts.read(ACCOUNT.accountId);
    expect([...account!.holds.keys()]).to.deep.equal([uuidAt(8)]);
  });

  it('stores the most that a batch may have', async () => {
    const numbers = Array.from({ length: 250 }, (_, index) => 10 + index);
    expect(await accept(batchOf(FRESH, ...numbers))).to.deep.equal({ outcome: 'accepted', existing: [] });
    for (const n of [10, 134, 259]) {
      expect(await stores().claims.read(aClaim(n))).to.deep.equal(aClaim(n));
      expect(await stores().generations.read(uuidAt(n))).to.deep.equal(aGeneration(n));
    }
    expect((await stores().accounts.read(ACCOUNT.accountId))?.holds.size).to.equal(250);
  });

  it('accepts under a claim that stands already', async () => {
    await stores().claims.insert(aClaim(7, { version: 4 }));
    expect(await accept({ ...batchOf(FRESH, 7), claims: [] })).to.deep.equal({ outcome: 'accepted', existing: [] });
    expect(await stores().claims.read(aClaim(7))).to.deep.equal(aClaim(7, { version: 4 }));
    expect(await stores().generations.read(uuidAt(7))).to.deep.equal(aGeneration(7));
  });

  it('answers the records that have the ids of generations, and accepts the others', async () => {
    await stores().generations.insert(aTombstone(8));
    expect(await accept(batchOf(FRESH, 7, 8, 9))).to.deep.equal({ outcome: 'accepted', existing: [aTombstone(8)] });
    expect(await stores().generations.read(uuidAt(8))).to.deep.equal(aTombstone(8));
    for (const n of [7, 9]) expect(await stores().generations.read(uuidAt(n))).to.deep.equal(aGeneration(n));
    expect(await stores().accounts.read(ACCOUNT.accountId)).to.have.property('version', 1);
  });
}

function refusing(stores: () => AcceptanceSubject, { oneStep }: Supports): void {
  const accept = async (batch: AcceptanceBatch) => stores().acceptances.accept(batch);

  const expectNothingPastClaims = async (...numbers: readonly number[]) => {
    for (const n of numbers) expect(await stores().generations.read(uuidAt(n)), `generation ${n}`).to.equal(null);
    expect(await stores().accounts.read(ACCOUNT.accountId)).to.include({ version: 0, reserved: 0 });
    expect((await stores().accounts.entries(ACCOUNT.accountId, { limit: 10 })).items).to.deep.equal([]);
  };

  it('answers the claims that have the keys, and writes nothing past the claims', async () => {
    for (const n of [7, 9]) await stores().claims.insert(aClaim(n, { subjectId: uuidAt(70 + n), version: 3 }));
    const outcome = await accept(batchOf(FRESH, 6, 7, 8, 9));
    expect(outcome).to.deep.equal({
      outcome: 'taken',
      taken: [aClaim(7, { subjectId: uuidAt(77), version: 3 }), aClaim(9, { subjectId: uuidAt(79), version: 3 })],
      claimsStand: !oneStep,
    });
    await expectNothingPastClaims(6, 7, 8, 9);
    for (const n of [6, 8])
      expect(await stores().claims.read(aClaim(n)), `claim ${n}`).to.deep.equal(oneStep ? null : aClaim(n));
    const rest = batchOf(FRESH, 6, 8);
    expect(await accept(oneStep ? rest : { ...rest, claims: [] })).to.deep.equal({ outcome: 'accepted', existing: [] });
  });

  it('writes nothing past the claims when the account has another version, or is missing', async () => {
    await expectConflict(batchOf({ version: 1, lastSequence: 0 }, 7));
    const { change, ...batch } = batchOf(FRESH, 8);
    await expectConflict({ ...batch, change: { ...change, accountId: uuidAt(99) } });
    await expectNothingPastClaims(7, 8);
  });

  async function expectConflict(batch: AcceptanceBatch): Promise<void> {
    expect(await accept(batch)).to.deep.equal({ outcome: 'conflict', claimsStand: !oneStep });
    for (const claim of batch.claims) expect(await stores().claims.read(claim)).to.deep.equal(oneStep ? null : claim);
  }

  it('names the taken keys also when the account has another version', async () => {
    await stores().claims.insert(aClaim(7));
    expect(await accept(batchOf({ version: 5, lastSequence: 0 }, 7))).to.have.property('outcome', 'taken');
  });

  it('accepts one of many concurrent batches on one version of an account, and keeps the books of only that one', async () => {
    const outcomes = await Promise.all(Array.from({ length: 16 }, async (_, n) => accept(batchOf(FRESH, 10 + n))));
    const winner = outcomes.findIndex(({ outcome }) => outcome === 'accepted');
    expect(outcomes.filter(({ outcome }) => outcome === 'conflict')).to.have.length(15);
    expect([...(await stores().accounts.read(ACCOUNT.accountId))!.holds.keys()]).to.deep.equal([uuidAt(10 + winner)]);
    for (const [n] of outcomes.entries())
      expect(await stores().generations.read(uuidAt(10 + n))).to.deep.equal(n === winner ? aGeneration(10 + n) : null);
  });

  it('gives a key to one of many concurrent batches, and shows its claim to the others', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, async (_, n) =>
        accept({ ...batchOf(FRESH, 10 + n), claims: [aClaim(1, { subjectId: uuidAt(10 + n) })] }),
      ),
    );
    const winner = outcomes.findIndex(({ outcome }) => outcome === 'accepted');
    for (const [n, outcome] of outcomes.entries())
      if (n !== winner) expect(outcome).to.have.deep.property('taken', [aClaim(1, { subjectId: uuidAt(10 + winner) })]);
  });
}

interface Step {
  readonly numbers: readonly number[];
  readonly isStale: boolean;
}

function sequences(stores: () => AcceptanceSubject, { oneStep }: Supports): void {
  const step = fc.record<Step>({
    numbers: fc.uniqueArray(fc.integer({ min: 10, max: 16 }), { minLength: 1, maxLength: 4 }),
    isStale: fc.boolean(),
  });

  it('answers random sequences of batches as plain maps would', async () => {
    let account = 100;
    await forAll(30, [fc.array(step, { maxLength: 10 })], async (steps) => {
      account += 1;
      const accountId = uuidAt(account);
      await stores().accounts.create({ ...ACCOUNT, accountId, version: 0 });
      await stores().accounts.read(accountId);
      const model = { ...FRESH, claims: new Set<number>(), generations: new Set<number>() };
      for (const one of steps) await agree(one, { accountId, account, model });
      expect((await stores().accounts.read(accountId))?.version).to.equal(model.version);
    });
  });

  interface Place {
    readonly accountId: string;
    readonly account: number;
    readonly model: {
      version: number;
      lastSequence: number;
      readonly claims: Set<number>;
      readonly generations: Set<number>;
    };
  }

  async function agree({ numbers, isStale }: Step, { accountId, account, model }: Place): Promise<void> {
    const ids = numbers.map((n) => 1_000 * account + n);
    const claims = numbers.map((n) => aClaim(n, { accountId }));
    const change = { ...holding(model, ids), accountId };
    const outcome = await stores().acceptances.accept({
      claims,
      change: {
        ...change,
        expectedVersion: model.version + (isStale ? 7 : 0),
        entries: change.entries.map((entry) => ({ ...entry, accountId })),
      },
      generations: numbers.map((n, index) => aGeneration(ids[index]!, { accountId, chargedCredits: n })),
    });
    const taken = numbers.filter((n) => model.claims.has(n));
    expect(outcome).to.deep.equal(expected(taken, isStale, claims, numbers));
    if (taken.length > 0 || isStale) {
      if (!oneStep) for (const n of numbers) model.claims.add(n);
    } else {
      for (const n of numbers) {
        model.claims.add(n);
        model.generations.add(n);
      }
      model.version += 1;
      model.lastSequence += numbers.length;
    }
    for (const [index, n] of numbers.entries())
      expect((await stores().generations.read(uuidAt(ids[index]!))) !== null).to.equal(model.generations.has(n));
  }

  function expected(
    taken: readonly number[],
    isStale: boolean,
    claims: readonly Claim[],
    numbers: readonly number[],
  ): AcceptanceOutcome {
    if (taken.length > 0)
      return {
        outcome: 'taken',
        taken: claims.filter((_, index) => taken.includes(numbers[index]!)),
        claimsStand: !oneStep,
      };
    return isStale ? { outcome: 'conflict', claimsStand: !oneStep } : { outcome: 'accepted', existing: [] };
  }
}
