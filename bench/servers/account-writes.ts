import type { AccountStore } from '../../core/ports/account-store.js';

export interface AccountWriteCounts {
  /** Writes that stand. */
  readonly applied: number;
  /** Writes that another process was faster than, decided again by the desk. */
  readonly conflicts: number;
}

/** Counts the writes of accounts that pass through it. */
export class AccountWrites {
  readonly accounts: AccountStore;
  readonly counts = { applied: 0, conflicts: 0 };

  constructor(store: AccountStore) {
    this.accounts = {
      create: (account) => store.create(account),
      read: (accountId) => store.read(accountId),
      apply: async (change) => {
        const outcome = await store.apply(change);
        this.counts[outcome === 'applied' ? 'applied' : 'conflicts'] += 1;
        return outcome;
      },
      entries: (accountId, page) => store.entries(accountId, page),
      findOperation: (accountId, operationId) => store.findOperation(accountId, operationId),
      list: (page) => store.list(page),
      holdsBefore: (heldBefore, page) => store.holdsBefore(heldBefore, page),
    };
  }
}
