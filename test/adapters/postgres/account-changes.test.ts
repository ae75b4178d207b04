import { expect } from 'chai';
import type { PostgresStores } from '../../../adapters/postgres/open-postgres.js';
import type { AcceptanceBatch } from '../../../core/ports/stores.js';
import { aChange, aClaim, aGeneration, anAccount, ATTRIBUTION, uuidAt } from '../../fixtures/stored-records.js';
import { onPostgres } from './on-postgres.js';

// Goal: account changes that are requested together are written by one statement, and each has the same outcome as on its own,
// regardless of the outcomes of the others.
// Method: one turn of the event loop requests a change for each kind of outcome; the test reads what the stores have written.

const CREDITS = 4;
const at = 1_700_000_000_000;
/** Account numbers; the number of an account's generation is higher by a thousand. */
const [FINE, MOVED_ON, TAKEN, EXISTING, WRONG, SETTLED] = [1, 2, 3, 4, 5, 6];
const ALL = [FINE, MOVED_ON, TAKEN, EXISTING, WRONG, SETTLED];

const accountAt = (n: number) => anAccount(n, { issued: 100, available: 100 });
const claimOf = (n: number) => aClaim(n, { accountId: uuidAt(n), subjectId: uuidAt(1_000 + n) });

function batchOf(n: number, trace = 'trace'): AcceptanceBatch {
  const generationId = uuidAt(1_000 + n);
  const attribution = { ...ATTRIBUTION, clientTraceId: trace };
  const change = aChange(accountAt(n), {
    available: 100 - CREDITS,
    reserved: CREDITS,
    lastSequence: 1,
    holdsOpened: [{ generationId, credits: CREDITS, heldAt: at, attribution }],
    entries: [
      {
        accountId: uuidAt(n),
        sequence: 1,
        kind: 'hold',
        from: 'available',
        to: 'reserved',
        credits: CREDITS,
        at,
        availableAfter: 100 - CREDITS,
        generationId,
        attribution,
      },
    ],
  });
  return { claims: [claimOf(n)], change, generations: [aGeneration(1_000 + n, { accountId: uuidAt(n) })] };
}

onPostgres('Changes of accounts', (place) => {
  let stores: PostgresStores;
  beforeEach(async () => {
    stores = await place().open();
    for (const n of ALL) await stores.accounts.create(accountAt(n));
  });

  it('in one statement each have their own outcome', async () => {
    await stores.accounts.apply(aChange(accountAt(MOVED_ON)));
    await stores.claims.insert({ ...claimOf(TAKEN), subjectId: uuidAt(9_000) });
    await stores.generations.insert(aGeneration(1_000 + EXISTING, { version: 7 }));
    const opened = await stores.acceptances.accept(batchOf(SETTLED));
    expect(opened).to.deep.equal({ outcome: 'accepted', existing: [] });

    const settling = aChange(
      { ...accountAt(SETTLED), version: 1, lastSequence: 1, available: 96, reserved: CREDITS },
      { available: 100, reserved: 0, holdsClosed: [uuidAt(1_000 + SETTLED)] },
    );
    const [fine, movedOn, taken, existing, wrong, settled] = await Promise.allSettled([
      stores.acceptances.accept(batchOf(FINE)),
      stores.acceptances.accept(batchOf(MOVED_ON)),
      stores.acceptances.accept(batchOf(TAKEN)),
      stores.acceptances.accept(batchOf(EXISTING)),
      // PostgreSQL cannot store a text with a NUL.
      stores.acceptances.accept(batchOf(WRONG, 'trace \0')),
      stores.accounts.apply(settling),
    ]);
    expect(fine).to.have.deep.property('value', { outcome: 'accepted', existing: [] });
    expect(movedOn).to.have.deep.property('value', { outcome: 'conflict', claimsStand: true });
    expect(taken).to.have.nested.property('value.outcome', 'taken');
    expect(taken).to.have.nested.property('value.taken[0].subjectId', uuidAt(9_000));
    expect(existing).to.have.nested.property('value.outcome', 'accepted');
    expect(existing).to.have.nested.property('value.existing[0].version', 7);
    expect(wrong).to.have.property('status', 'rejected');
    expect(settled).to.have.property('value', 'applied');

    const holds = await stores.accounts.holdsBefore(at + 1, { limit: 100 });
    expect(holds.items.map(({ accountId }) => accountId)).to.have.members([FINE, EXISTING].map(uuidAt));
    for (const n of ALL) {
      const { items } = await stores.accounts.entries(uuidAt(n), { limit: 100 });
      expect(items, `entries of account ${n}`).to.have.length([FINE, EXISTING, SETTLED].includes(n) ? 1 : 0);
    }
    expect((await stores.accounts.read(uuidAt(SETTLED)))?.holds.size).to.equal(0);
    for (const n of [FINE, SETTLED])
      expect(await stores.generations.read(uuidAt(1_000 + n))).to.have.property('version');
    for (const n of [MOVED_ON, TAKEN, WRONG]) expect(await stores.generations.read(uuidAt(1_000 + n))).to.equal(null);
  });

  it('are written although one of them cannot be sent', async () => {
    const { change, ...rest } = batchOf(WRONG);
    const entries = change.entries.map((entry) => ({ ...entry, credits: 0.5 }));
    const [fine, wrong] = await Promise.allSettled([
      stores.acceptances.accept(batchOf(FINE)),
      stores.acceptances.accept({ ...rest, change: { ...change, entries } }),
    ]);
    expect(fine).to.deep.equal({ status: 'fulfilled', value: { outcome: 'accepted', existing: [] } });
    expect(wrong).to.have.property('status', 'rejected');
    expect((await stores.accounts.read(uuidAt(WRONG)))?.version).to.equal(0);
  });

  it('of one account are applied in order', async () => {
    const account = accountAt(FINE);
    const versions = Array.from({ length: 20 }, (_, version) => version);
    const outcomes = await Promise.all(
      versions.map((version) => stores.accounts.apply(aChange({ ...account, version }, {}))),
    );
    expect(outcomes).to.deep.equal(versions.map(() => 'applied'));
    expect((await stores.accounts.read(uuidAt(FINE)))?.version).to.equal(versions.length);
  });
});
