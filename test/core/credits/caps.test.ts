// Goal: a capped credential never uses more than its cap in one period; uncharged credits return to the period in which
// they were held; credentials without a cap are not counted.
// Method: random holds and settlements of several credentials over four months, with clocks that differ, in random
// batches, against sums over the list of holds; then each boundary alone.
import { expect } from 'chai';
import fc from 'fast-check';
import { type Cap, type CapUse, type Entry, MAX_CAP_USES } from '../../../core/credits/account.js';
import { type AccountCommand, AccountDraft, decideAccount, type OwnedAccount } from '../../../core/credits/decide.js';
import { Replay } from '../../../core/credits/verify.js';
import { forAllSync } from '../../harness/for-all.js';

const GRANTED = 1_000_000;
const NOVEMBER = Date.UTC(2026, 10, 15);
const DAY_MS = 86_400_000;
const MONTHLY: Cap = { credits: 100, per: 'month' };
const FOR_LIFE: Cap = { credits: 150, per: 'life' };
const CAPS: Readonly<Record<string, Cap | undefined>> = {
  a: MONTHLY,
  b: { ...MONTHLY, credits: 0 },
  c: FOR_LIFE,
  d: undefined,
};

interface Step {
  readonly credentialId: string;
  readonly credits: number;
  /** The current day according to the deciding process's clock. */
  readonly day: number;
  /** The open hold that is settled first, if there is one; `charged` is the charged fraction of it. */
  readonly settles: number;
  readonly charged: number;
  readonly endsBatch: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    credentialId: fc.constantFrom('a', 'b', 'c', 'd'),
    credits: fc.integer({ min: 0, max: 60 }),
    day: fc.integer({ min: 0, max: 90 }),
    settles: fc.nat(4),
    charged: fc.double({ min: 0, max: 1, noNaN: true }),
    endsBatch: fc.boolean(),
  }),
  { maxLength: 60 },
);

function accountWith(capUses?: ReadonlyMap<string, CapUse>): OwnedAccount {
  return {
    accountId: 'account',
    name: 'Test',
    currency: 'credits',
    createdAt: 0,
    version: 1,
    issued: GRANTED,
    available: GRANTED,
    reserved: 0,
    spent: 0,
    lastSequence: 1,
    holds: new Map(),
    ...(capUses === undefined ? {} : { capUses: new Map(capUses) }),
  };
}

function hold(generationId: string, credentialId: string, credits: number, cap: Cap | undefined): AccountCommand {
  const attribution = { credentialId, modelKey: 'm' };
  return {
    kind: 'hold',
    generationId,
    credits,
    maxOpenHolds: 1_000,
    attribution,
    ...(cap === undefined ? {} : { cap }),
  };
}

/** One hold as the model remembers it: what it counts for its credential in its period. */
interface Counted {
  readonly credentialId: string;
  readonly period: string;
  counts: number;
}

/** The rule a second time, over the list of all holds. */
class CapModel {
  readonly holds = new Map<string, Counted>();
  private readonly newest = new Map<string, string>();

  accepts(generationId: string, { credentialId, credits, day }: Step): boolean {
    const cap = CAPS[credentialId];
    if (cap === undefined) return true;
    const month = new Date(NOVEMBER + day * DAY_MS).toISOString().slice(0, 7);
    const known = this.newest.get(credentialId) ?? '';
    const period = cap.per === 'life' ? 'life' : ([month, known].toSorted().at(-1) ?? month);
    if (this.used(credentialId, period) + credits > cap.credits) return false;
    this.newest.set(credentialId, period);
    this.holds.set(generationId, { credentialId, period, counts: credits });
    return true;
  }

  used(credentialId: string, period: string): number {
    const held = [...this.holds.values()].filter((one) => one.credentialId === credentialId && one.period === period);
    return held.reduce((sum, { counts }) => sum + counts, 0);
  }

  /** The cap usage shown for each credential: its newest period. */
  get uses(): CapUse[] {
    return [...this.newest].map(([credentialId, period]) => ({
      credentialId,
      period,
      used: this.used(credentialId, period),
    }));
  }
}

describe('spending caps', () => {
  it('follow a model of all holds, in any batches, and the ledger adds up to them', () => {
    forAllSync(300, [steps], (taken) => {
      const model = new CapModel();
      let account = accountWith();
      const entries: Entry[] = [];
      let draft = new AccountDraft(account);
      const give = (command: AccountCommand, now: number) => {
        const decision = decideAccount(draft, command, now);
        if ('moves' in decision) draft.add(command, decision, now);
        return 'refused' in decision ? decision.refused : undefined;
      };
      for (const [index, step] of taken.entries()) {
        const now = NOVEMBER + step.day * DAY_MS;
        const open = [...account.holds.values()][step.settles];
        if (open !== undefined && draft.holds.get(open.generationId)) {
          const charge = Math.floor(open.credits * step.charged);
          expect(give({ kind: 'settle', generationId: open.generationId, charge }, now)).to.equal(undefined);
          const counted = model.holds.get(open.generationId);
          if (counted) counted.counts = charge;
        }
        const id = `g${index}`;
        const refused = give(hold(id, step.credentialId, step.credits, CAPS[step.credentialId]), now);
        expect(refused).to.equal(model.accepts(id, step) ? undefined : 'CAP_REACHED');
        if (!step.endsBatch || draft.isEmpty) continue;
        entries.push(...draft.change().entries);
        account = draft.written();
        expect([...(account.capUses?.values() ?? [])]).to.have.deep.members(model.uses);
        draft = new AccountDraft(account);
      }
      const replay = new Replay('account');
      for (const entry of entries) replay.add(entry);
      expect([...replay.compare(account)].filter((finding) => finding?.includes('credential'))).to.deep.equal([]);
    });
  });

  it('refuse for credits that the account lacks before they refuse for the cap', () => {
    const draft = new AccountDraft({ ...accountWith(), available: 5 });
    expect(decideAccount(draft, hold('g', 'a', 101, MONTHLY), NOVEMBER)).to.deep.equal({
      refused: 'CREDITS_INSUFFICIENT',
    });
    const rich = new AccountDraft(accountWith());
    expect(decideAccount(rich, hold('g', 'a', 101, MONTHLY), NOVEMBER)).to.deep.equal({ refused: 'CAP_REACHED' });
    expect(decideAccount(rich, hold('g', 'a', 100, MONTHLY), NOVEMBER)).to.have.property('moves');
  });

  it('give nothing back to a month that has ended, and do not begin a month again', () => {
    const decemberUse = { credentialId: 'a', period: '2026-12', used: 90 };
    const base = accountWith(new Map([['a', decemberUse]]));
    const attribution = { credentialId: 'a', modelKey: 'm', capPeriod: '2026-11' };
    base.holds.set('old', { generationId: 'old', credits: 50, heldAt: 0, attribution });
    const draft = new AccountDraft(base);
    const settled = decideAccount(draft, { kind: 'settle', generationId: 'old', charge: 0 }, NOVEMBER + 20 * DAY_MS);
    expect(settled).to.have.property('moves').and.not.to.have.property('capUse');
    // The clock of this process is still in November.
    expect(decideAccount(draft, hold('g', 'a', 11, MONTHLY), NOVEMBER)).to.deep.equal({ refused: 'CAP_REACHED' });
    expect(decideAccount(draft, hold('g', 'a', 10, MONTHLY), NOVEMBER)).to.deep.include({
      capUse: { credentialId: 'a', period: '2026-12', used: 100 },
    });
  });

  it(`drop the use of past months once an account keeps ${MAX_CAP_USES}, and refuse when none is past`, () => {
    const uses = (period: string) =>
      new Map(
        Array.from({ length: MAX_CAP_USES }, (_, index) => [
          `k${index}`,
          { credentialId: `k${index}`, period, used: 1 },
        ]),
      );
    const past = new AccountDraft(accountWith(uses('2026-09')));
    const decision = decideAccount(past, hold('g', 'new', 1, MONTHLY), NOVEMBER);
    expect(decision).to.have.property('dropsCapUses').with.lengthOf(MAX_CAP_USES);
    if (!('moves' in decision)) expect.fail('it is accepted');
    past.add(hold('g', 'new', 1, MONTHLY), decision, NOVEMBER);
    expect([past.capUses.size, past.change().capUsesDropped?.length]).to.deep.equal([1, MAX_CAP_USES]);
    expect([...(past.written().capUses?.keys() ?? [])]).to.deep.equal(['new']);
    for (const period of ['2026-11', 'life']) {
      const full = new AccountDraft(accountWith(uses(period)));
      expect(decideAccount(full, hold('g', 'new', 1, MONTHLY), NOVEMBER), period).to.deep.equal({
        refused: 'CAP_REACHED',
      });
      expect(decideAccount(full, hold('g', 'k7', 1, MONTHLY), NOVEMBER), period).to.have.property('moves');
    }
  });
});
