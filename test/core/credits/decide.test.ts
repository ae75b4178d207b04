// Goal: one account's books follow the rules: the four books always add up, are never below zero or above 2^53 - 1, and
// a repeated command changes nothing.
// Method: random command sequences folded through decideAccount and AccountDraft, against a model with exact integers;
// entries are summed separately.
import { expect } from 'chai';
import type { Account, Entry } from '../../../core/credits/account.js';
import {
  type AccountCommand,
  AccountDraft,
  type AccountView,
  decideAccount,
  type DoneOperation,
  type OwnedAccount,
} from '../../../core/credits/decide.js';
import { BooksModel, expectBooksRight } from '../../fixtures/ledgers.js';
import { ATTRIBUTION } from '../../fixtures/stored-records.js';
import { anyBatches } from './commands.js';
import { forAllSync } from '../../harness/for-all.js';

const EDGE = Number.MAX_SAFE_INTEGER;

/** An account on which no operation was done before. */
function emptyAccount(changes: Partial<Omit<Account, 'capUses'>> = {}): OwnedAccount & AccountView {
  return {
    operations: new Map(),
    capUses: new Map(),
    accountId: 'account',
    name: 'Test',
    currency: 'credits',
    createdAt: 0,
    version: 0,
    issued: 0,
    available: 0,
    reserved: 0,
    spent: 0,
    lastSequence: 0,
    ...changes,
    holds: new Map(changes.holds),
  };
}

/** Ten issued credits, of which seven are held. */
const HELD = {
  issued: 10,
  available: 3,
  reserved: 7,
  holds: new Map([['a', { generationId: 'a', credits: 7, heldAt: 1 }]]),
};

/** Five credits to spend, and a hold of none. */
const FULL_QUEUE = { issued: 5, available: 5, holds: new Map([['a', { generationId: 'a', credits: 0, heldAt: 1 }]]) };

function hold(generationId: string, credits: number, maxOpenHolds = 9): AccountCommand {
  return { kind: 'hold', generationId, credits, maxOpenHolds, attribution: ATTRIBUTION };
}

function grant(credits: number): Extract<AccountCommand, { kind: 'grant' }> {
  return { kind: 'grant', operationId: 'x', credits, reason: '' };
}

function expectDecided(account: AccountView, command: AccountCommand, decision: object, message?: string): void {
  expect(decideAccount(account, command, 9), message).to.deep.equal(decision);
}

/** Folds one batch as a writer does. `operations` is what a store would return about operations done before. */
function foldBatch(
  account: OwnedAccount,
  batch: readonly AccountCommand[],
  operations: Map<string, DoneOperation>,
  entries: Entry[],
  model: BooksModel,
): OwnedAccount {
  const draft = new AccountDraft(account, operations);
  for (const command of batch) {
    const expected = model.apply(command);
    const decision = decideAccount(draft, command, 5);
    expect('refused' in decision ? decision.refused : undefined).to.equal(expected);
    if (!('moves' in decision)) continue;
    draft.add(command, decision, 5);
  }
  const change = draft.change();
  entries.push(...change.entries);
  expect(change.version).to.equal(account.version + 1);
  return draft.written();
}

describe('decideAccount and AccountDraft', () => {
  it('follow an exact model of the books through any commands, in any batches', () => {
    forAllSync(300, [anyBatches({ batches: 12, commands: 8 })], (batches) => {
      const model = new BooksModel();
      const operations = new Map<string, DoneOperation>();
      const entries: Entry[] = [];
      let account: OwnedAccount = emptyAccount();
      for (const batch of batches) {
        account = foldBatch(account, batch, operations, entries, model);
        expectBooksRight(account, entries);
        expect(BigInt(account.available)).to.equal(model.available);
        expect(BigInt(account.spent)).to.equal(model.spent);
        expect([account.name, account.suspendedAt !== undefined]).to.deep.equal([model.name, model.isSuspended]);
        expect(
          [...account.holds.values()].map(({ generationId, credits }) => [generationId, BigInt(credits)]),
        ).to.have.deep.members([...model.holds]);
      }
    });
  });

  it('answer a repeated hold or settle alike, and move nothing', () => {
    const account = emptyAccount(HELD);
    expectDecided(account, hold('a', 7, 1), { done: true });
    expectDecided(account, { kind: 'settle', generationId: 'b', charge: 0 }, { done: true });
  });

  it('answer a repeated operation alike, and refuse another one under its id', () => {
    const account: AccountView = {
      ...emptyAccount({ issued: 10, available: 10 }),
      operations: new Map([['x', { kind: 'grant', credits: 10 }]]),
    };
    const operation = { operationId: 'x', reason: 'another' } as const;
    expectDecided(account, { ...operation, kind: 'grant', credits: 10 }, { done: true });
    expectDecided(account, { ...operation, kind: 'grant', credits: 11 }, { refused: 'OPERATION_DIFFERS' });
    expectDecided(account, { ...operation, kind: 'adjust', credits: 10 }, { refused: 'OPERATION_DIFFERS' });
    expectDecided(
      account,
      { ...operation, kind: 'grant', credits: 0.5 },
      { refused: 'OPERATION_DIFFERS' },
      'before its amount is looked at',
    );
  });

  it('move signed credits whose postings add up to zero, into entries without a sign', () => {
    const base = emptyAccount({
      issued: 10,
      available: 3,
      reserved: 7,
      holds: new Map([['a', { generationId: 'a', credits: 7, heldAt: 1, attribution: ATTRIBUTION }]]),
    });
    const draft = new AccountDraft(base);
    const commands: readonly AccountCommand[] = [
      { kind: 'grant', operationId: 'g', credits: 5, reason: '' },
      { kind: 'adjust', operationId: 'd', credits: -2, reason: 'r' },
      {
        kind: 'hold',
        generationId: 'b',
        credits: 0,
        maxOpenHolds: 9,
        attribution: { credentialId: 'k', modelKey: 'm' },
      },
      { kind: 'settle', generationId: 'a', charge: 4 },
    ];
    for (const command of commands) {
      const decision = decideAccount(draft, command, 2);
      if (!('moves' in decision)) expect.fail(`${command.kind} moves credits`);
      for (const {
        postings: [from, to],
      } of decision.moves)
        expect([from.credits + to.credits, Object.is(from.credits, -0)]).to.deep.equal([0, false]);
      draft.add(command, decision, 2);
    }
    const { entries, ...totals } = draft.change();
    expect(totals).to.include({ issued: 13, available: 9, reserved: 0, spent: 4 });
    expect(
      entries.map(({ kind, from, to, credits, attribution }) => [kind, from, to, credits, attribution?.modelKey]),
    ).to.deep.equal([
      ['grant', 'issued', 'available', 5, undefined],
      ['adjustment', 'available', 'issued', 2, undefined],
      ['hold', 'available', 'reserved', 0, 'm'],
      ['charge', 'reserved', 'spent', 4, 'sandbox-image'],
      ['release', 'reserved', 'available', 3, 'sandbox-image'],
    ]);
  });

  it('stop rather than book a charge outside its hold, or a hold of another amount', () => {
    const account = emptyAccount(HELD);
    for (const charge of [8, -1, 0.5, Number.NaN]) {
      expect(() => decideAccount(account, { kind: 'settle', generationId: 'a', charge }, 9), String(charge)).to.throw(
        'Broken invariant',
      );
    }
    expect(() => decideAccount(account, hold('a', 6), 9)).to.throw('Broken invariant');
  });

  it('refuse amounts that are not whole credits', () => {
    const account: AccountView = emptyAccount({ issued: 10, available: 10 });
    for (const credits of [0, 0.5, Number.NaN, Infinity, EDGE + 1, -1])
      expectDecided(account, grant(credits), { refused: 'AMOUNT_INVALID' }, `grant ${credits}`);
    for (const credits of [0.5, Number.NaN, Infinity, EDGE + 1, -1])
      expectDecided(account, hold('x', credits), { refused: 'AMOUNT_INVALID' }, `hold ${credits}`);
  });

  it('accept up to 2^53 - 1 issued credits and not one more', () => {
    const full = emptyAccount({ issued: EDGE, available: EDGE });
    expectDecided(full, grant(1), { refused: 'AMOUNT_INVALID' });
    const nearlyFull = emptyAccount({ issued: EDGE - 1, available: 0, spent: EDGE - 1 });
    expect(decideAccount(nearlyFull, grant(1), 9)).to.have.property('moves');
    expectDecided(nearlyFull, grant(2), { refused: 'AMOUNT_INVALID' });
    const held = new AccountDraft(full);
    const command = hold('a', EDGE);
    const decision = decideAccount(held, command, 1);
    if (!('moves' in decision)) expect.fail('the whole balance can be held');
    held.add(command, decision, 1);
    expect(held.written()).to.include({ available: 0, reserved: EDGE, issued: EDGE });
  });

  it('refuse a new hold on a suspended account before they check its credits, and allow everything else', () => {
    const account = emptyAccount({ ...FULL_QUEUE, suspendedAt: 3 });
    expectDecided(account, hold('b', 6, 1), { refused: 'ACCOUNT_SUSPENDED' });
    expectDecided(account, hold('a', 0, 1), { done: true });
    expect(decideAccount(account, { kind: 'settle', generationId: 'a', charge: 0 }, 9)).to.have.property('closes', 'a');
    for (const command of [grant(1), { ...grant(-1), kind: 'adjust' }] as const)
      expect(decideAccount(account, command, 9)).to.have.property('moves');
  });

  it('suspend once and keep the first time, resume without a trace, and rename without touching a suspension', () => {
    const suspended = emptyAccount({ suspendedAt: 3 });
    expectDecided(emptyAccount(), { kind: 'suspend' }, { moves: [], profile: { name: 'Test', suspendedAt: 9 } });
    expectDecided(suspended, { kind: 'suspend' }, { done: true });
    expectDecided(suspended, { kind: 'resume' }, { moves: [], profile: { name: 'Test' } });
    expectDecided(emptyAccount(), { kind: 'resume' }, { done: true });
    expectDecided(
      suspended,
      { kind: 'rename', name: 'Other' },
      { moves: [], profile: { name: 'Other', suspendedAt: 3 } },
    );
    expectDecided(suspended, { kind: 'rename', name: 'Test' }, { done: true });
  });

  it('write a change of the profile that moves no credits, and count it as a version', () => {
    const draft = new AccountDraft(emptyAccount({ version: 4, suspendedAt: 3 }));
    expect(draft.isEmpty).to.equal(true);
    draft.add({ kind: 'resume' }, { moves: [], profile: { name: 'Test' } }, 9);
    expect(draft.isEmpty).to.equal(false);
    expect(draft.change()).to.deep.include({
      expectedVersion: 4,
      version: 5,
      lastSequence: 0,
      entries: [],
      profile: { name: 'Test' },
    });
    expect(draft.written()).to.include({ version: 5, name: 'Test' }).and.not.to.have.property('suspendedAt');
  });

  it('refuse for insufficient credits before they refuse for a full queue', () => {
    const account = emptyAccount(FULL_QUEUE);
    expectDecided(account, hold('b', 6, 1), { refused: 'CREDITS_INSUFFICIENT' });
    expectDecided(account, hold('b', 5, 1), { refused: 'QUEUE_FULL' });
  });
});
