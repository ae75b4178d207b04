// Goal: the rules that the simulation and the fault runs share find each thing they are for, and nothing else.
// Method: a short ledger and two views of a task in which all is right, and the same with one thing wrong.
import { expect } from 'chai';
import type { Entry } from '../../core/credits/account.js';
import { AccountLedger } from './account-ledger.js';
import { checkAccepted, checkBalance, checkShortage } from './credits.js';
import type { Finding } from './finding.js';
import { brokenBy, rankOf, type Shown } from './task-order.js';

function invariants(findings: Iterable<Finding>): number[] {
  return [...findings].map(({ invariant }) => invariant);
}

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

describe('what clients are told of credits', () => {
  const answer = { told: 'request 1', accountId: 'a', available: [5, 3] };
  const balance = { balance_credits: 3, available_credits: 3, remaining_credits: 3 };
  const burst = { told: 'by a', creates: 4, accepted: 2, cost: 2, balance: 5, returned: 2, isExact: true };

  it('takes a refusal for true when there was too little at some moment', () => {
    expect(invariants(checkShortage(answer, 4))).to.deep.equal([]);
  });

  it('finds a refusal although there was enough at every moment, or no price', () => {
    expect(invariants(checkShortage(answer, 3))).to.deep.equal([13]);
    expect(invariants(checkShortage(answer, undefined))).to.deep.equal([13]);
    expect(invariants(checkShortage({ ...answer, available: [] }, 4))).to.deep.equal([13]);
  });

  it('takes a balance for true that was there at some moment', () => {
    expect(invariants(checkBalance(answer, balance))).to.deep.equal([]);
  });

  it('finds a balance that never was, and members that differ', () => {
    expect(invariants(checkBalance({ ...answer, available: [5] }, balance))).to.deep.equal([1]);
    expect(invariants(checkBalance(answer, { ...balance, available_credits: 5 }))).to.deep.equal([1]);
    expect(invariants(checkBalance(answer, { ...balance, remaining_credits: undefined }))).to.deep.equal([1]);
  });

  it('takes as many concurrent creates as the balance pays', () => {
    expect(invariants(checkAccepted(burst))).to.deep.equal([]);
    expect(invariants(checkAccepted({ ...burst, creates: 2, balance: 50 }))).to.deep.equal([]);
    expect(invariants(checkAccepted({ ...burst, accepted: 3, isExact: false }))).to.deep.equal([]);
    expect(invariants(checkAccepted({ ...burst, accepted: 0, isExact: false }))).to.deep.equal([]);
  });

  it('finds concurrent creates that are too many, and too few at rest', () => {
    expect(invariants(checkAccepted({ ...burst, accepted: 3 }))).to.deep.equal([13]);
    expect(invariants(checkAccepted({ ...burst, accepted: 1 }))).to.deep.equal([13]);
    expect(invariants(checkAccepted({ ...burst, accepted: 4, isExact: false }))).to.deep.equal([13]);
  });
});
