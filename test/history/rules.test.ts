// Goal: the rules that the simulation and the fault runs share find each thing they are for, and nothing else.
// Method: a short ledger and two views of a task in which all is right, and the same with one thing wrong.
import { expect } from 'chai';
import type { Entry } from '../../core/credits/account.js';
import { AccountLedger } from './account-ledger.js';
import { brokenBy, rankOf, type Shown } from './task-order.js';

const COMMON = { accountId: 'a', at: 1 };
const LEDGER: readonly Entry[] = [
  {
    ...COMMON,
    sequence: 1,
    kind: 'grant',
    from: 'issued',
    to: 'available',
    credits: 10,
    availableAfter: 10,
    operationId: 'o',
    reason: 'r',
  },
  {
    ...COMMON,
    sequence: 2,
    kind: 'hold',
    from: 'available',
    to: 'reserved',
    credits: 4,
    availableAfter: 6,
    generationId: 'g',
  },
  {
    ...COMMON,
    sequence: 3,
    kind: 'charge',
    from: 'reserved',
    to: 'spent',
    credits: 3,
    availableAfter: 6,
    generationId: 'g',
  },
  {
    ...COMMON,
    sequence: 4,
    kind: 'release',
    from: 'reserved',
    to: 'available',
    credits: 1,
    availableAfter: 7,
    generationId: 'g',
  },
];

function invariantsOf(entries: readonly Entry[]): number[] {
  const ledger = new AccountLedger('a', new Map());
  return entries.flatMap((entry) => ledger.add(entry).map(({ invariant }) => invariant));
}

function changed(index: number, change: Partial<Entry>): number[] {
  return invariantsOf(LEDGER.map((entry, at) => (at === index ? { ...entry, ...change } : entry)));
}

describe('the ledger of an account', () => {
  it('finds nothing wrong in a sound ledger', () => {
    expect(invariantsOf(LEDGER)).to.deep.equal([]);
  });

  it('finds an entry that is missing, or of another account', () => {
    expect(invariantsOf(LEDGER.slice(1))).to.include(1);
    expect(changed(0, { accountId: 'b' })).to.deep.equal([1]);
  });

  it('finds a wrong balance, a wrong book and a fraction', () => {
    expect(changed(1, { availableAfter: 7 })).to.deep.equal([1]);
    expect(changed(3, { to: 'spent' })).to.include(1);
    expect(changed(1, { credits: 0.5 })).to.include(2);
  });

  it('finds a book below zero', () => {
    expect(changed(1, { credits: 11, availableAfter: -1 })).to.include(2);
  });

  it('finds a second hold, a second charge and a release of more than is held', () => {
    expect(
      invariantsOf([
        ...LEDGER,
        {
          ...COMMON,
          sequence: 5,
          kind: 'hold',
          from: 'available',
          to: 'reserved',
          credits: 1,
          availableAfter: 6,
          generationId: 'g',
        },
      ]),
    ).to.deep.equal([4]);
    expect(changed(3, { kind: 'charge', to: 'spent', availableAfter: 6 })).to.include(5);
    expect(changed(3, { credits: 2, availableAfter: 8 })).to.include(4);
  });

  it('finds a charge without a hold', () => {
    expect(changed(2, { generationId: 'h' })).to.include(4);
  });
});

const RUNNING: Shown = { rank: rankOf('running'), charged: 0, updatedAt: 5, constant: 'c', end: 'running' };
const ENDED: Shown = { rank: rankOf('succeeded'), charged: 3, updatedAt: 6, constant: 'c', end: 'succeeded 3' };

describe('what clients are shown of a generation', () => {
  it('may go on, or stay as it is', () => {
    expect([brokenBy(RUNNING, ENDED), brokenBy(RUNNING, RUNNING), brokenBy(ENDED, ENDED)]).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('may not go back in status, charge or time', () => {
    expect(brokenBy(ENDED, RUNNING)).to.equal(8);
    expect(brokenBy({ ...RUNNING, charged: 1 }, RUNNING)).to.equal(8);
    expect(brokenBy({ ...RUNNING, updatedAt: 6 }, RUNNING)).to.equal(8);
  });

  it('may not change its end, nor what never changes', () => {
    expect(brokenBy(ENDED, { ...ENDED, end: 'failed' })).to.equal(7);
    expect(brokenBy(RUNNING, { ...RUNNING, constant: 'd' })).to.equal(3);
  });

  it('may not come back once it is gone', () => {
    expect(brokenBy({ rank: 3, charged: 0, updatedAt: 0, end: 'gone' }, ENDED)).to.equal(8);
  });
});
