// Goal: an account whose ledger entries cannot be moved does not block those of other accounts, and is logged once.
// Method: an in-memory ledger whose flushes fail for chosen accounts.
import { expect } from 'chai';
import { LedgerFlushes } from '../../../adapters/mongo/mongo-ledger.js';
import { StoreUnavailable } from '../../../core/errors.js';

describe('moving ledger entries by age', () => {
  const failures = new Map<string, Error>();
  let moved: string[];
  let warned: unknown[];
  let flushes: LedgerFlushes;

  beforeEach(() => {
    [moved, warned] = [[], []];
    failures.clear();
    flushes = new LedgerFlushes(
      {
        waitingSince: () => Promise.resolve(['broken', 'b', 'c']),
        flush: (accountId) => {
          const error = failures.get(accountId);
          if (error) return Promise.reject(error);
          moved.push(accountId);
          return Promise.resolve();
        },
      },
      {
        info: () => undefined,
        warn: (_, { accountId }) => {
          warned.push(accountId);
        },
      },
    );
  });

  it('continues with the others when one fails, and reports it until it succeeds', async () => {
    failures.set('broken', new Error('Entry 7 is there with other content.'));
    for (const round of [1, 2]) expect(await flushes.flushOld(0, 200), `round ${round}`).to.equal(2);
    expect([moved, warned]).to.deep.equal([['b', 'c', 'b', 'c'], ['broken']]);
    failures.clear();
    expect(await flushes.flushOld(0, 200)).to.equal(3);
    failures.set('broken', new Error('Entry 8 is there with other content.'));
    await flushes.flushOld(0, 200);
    expect(warned).to.deep.equal(['broken', 'broken']);
  });

  it('ends immediately when the database is unavailable', async () => {
    failures.set('broken', new StoreUnavailable('It does not answer.'));
    expect(await flushes.flushOld(0, 200).catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    expect(moved).to.deep.equal([]);
  });
});
