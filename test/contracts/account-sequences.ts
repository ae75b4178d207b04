import { expect } from 'chai';
import fc from 'fast-check';
import type { Account, AccountChange, AccountProfile, CapUse, Entry, Hold } from '../../core/credits/account.js';
import type { AccountStore } from '../../core/ports/stores.js';
import { aChange, anAccount, uuidAt } from '../fixtures/stored-records.js';
import { allPages } from './versioned-records.js';
import { forAll } from '../harness/for-all.js';

/**
 * One attempt to change the account: onto the right version or one beside it, with any amounts, opening and closing
 * holds.
 */
interface Step {
  readonly versionOff: number;
  readonly amount: number;
  readonly opens: number;
  readonly closes: number;
  readonly writesEntry: boolean;
  readonly profile: AccountProfile | undefined;
  readonly capUses: readonly CapUse[];
  readonly capUsesDropped: readonly string[];
}

interface Model {
  account: Account;
  readonly entries: Entry[];
}

const CREDENTIALS = [uuidAt(901), uuidAt(902), 'grant-3_X'];

const step = fc.record<Step>({
  versionOff: fc.constantFrom(0, 0, 0, -1, 1),
  amount: fc.maxSafeInteger(),
  opens: fc.integer({ min: 0, max: 2 }),
  closes: fc.integer({ min: 0, max: 2 }),
  writesEntry: fc.boolean(),
  profile: fc.option(
    fc.record({ name: fc.constantFrom('Größe 水', 'x'), suspendedAt: fc.nat() }, { requiredKeys: ['name'] }),
    { nil: undefined, freq: 2 },
  ),
  capUses: fc.uniqueArray(
    fc.record<CapUse>(
      {
        credentialId: fc.constantFrom(...CREDENTIALS),
        period: fc.constantFrom('2026-11', '2026-12', 'life'),
        used: fc.maxSafeNat(),
      },
      { noNullPrototype: true },
    ),
    { maxLength: 2, selector: ({ credentialId }) => credentialId },
  ),
  capUsesDropped: fc.subarray(CREDENTIALS, { maxLength: 1 }),
});

/** Random changes, right and wrong versions among them, leave exactly what a model that is a few lines long expects. */
export function accountSequences(store: () => AccountStore): void {
  let accounts = 0;

  it('answers random sequences of changes as a plain object would', async () => {
    await forAll(60, [fc.array(step, { maxLength: 12 }), fc.integer({ min: 1, max: 5 })], async (steps, limit) => {
      accounts += 1;
      const model: Model = { account: anAccount(accounts), entries: [] };
      await store().create(model.account);
      for (const [index, taken] of steps.entries()) {
        const change = changeOf(taken, index, model);
        expect(await store().apply(change)).to.equal(taken.versionOff === 0 ? 'applied' : 'conflict');
        if (taken.versionOff === 0) advance(model, change);
        expect(await store().read(model.account.accountId)).to.deep.equal(model.account);
      }
      expect(await allPages((page) => store().entries(model.account.accountId, page), limit)).to.deep.equal(
        model.entries,
      );
    });
  });
}

function changeOf(
  { versionOff, amount, opens, closes, writesEntry, profile, capUses, capUsesDropped }: Step,
  index: number,
  { account }: Model,
): AccountChange {
  const sequence = account.lastSequence + 1;
  const holdsOpened = Array.from({ length: opens }, (_, n): Hold => ({
    generationId: uuidAt(1_000 * index + n),
    credits: Math.abs(amount),
    heldAt: index,
  }));
  const entry: Entry = {
    accountId: account.accountId,
    sequence,
    kind: 'adjustment',
    from: 'available',
    to: 'issued',
    credits: amount,
    at: index,
    availableAfter: 0 - amount,
  };
  return aChange(account, {
    expectedVersion: account.version + versionOff,
    issued: amount,
    available: 0 - amount,
    reserved: amount,
    spent: index,
    holdsOpened,
    holdsClosed: [...account.holds.keys()].slice(0, closes),
    ...(writesEntry ? { lastSequence: sequence, entries: [entry] } : {}),
    ...(profile === undefined ? {} : { profile }),
    ...(capUses.length === 0 ? {} : { capUses }),
    ...(capUsesDropped.length === 0 ? {} : { capUsesDropped: capUsesDropped.filter((id) => !isSet(capUses, id)) }),
  });
}

function advance(model: Model, change: AccountChange): void {
  const { version, issued, available, reserved, spent, lastSequence } = change;
  const holds = new Map(model.account.holds);
  for (const hold of change.holdsOpened) holds.set(hold.generationId, hold);
  for (const generationId of change.holdsClosed) holds.delete(generationId);
  const uses = new Map(model.account.capUses);
  for (const credentialId of change.capUsesDropped ?? []) uses.delete(credentialId);
  for (const use of change.capUses ?? []) uses.set(use.credentialId, use);
  const { suspendedAt, capUses: _before, ...rest } = model.account;
  const profile = change.profile ?? (suspendedAt === undefined ? {} : { suspendedAt });
  const capUses = uses.size === 0 ? {} : { capUses: uses };
  const totals = { version, issued, available, reserved, spent, lastSequence };
  model.account = { ...rest, ...profile, ...totals, holds, ...capUses };
  model.entries.push(...change.entries);
}

function isSet(uses: readonly CapUse[], credentialId: string): boolean {
  return uses.some((use) => use.credentialId === credentialId);
}
