import type { AccountChange } from '../../core/credits/account.js';
import type { AccountStore } from '../../core/ports/account-store.js';
import { machineMicros } from '../usage.js';

export interface AccountWriteCounts {
  /** Writes that stand. */
  readonly applied: number;
  /** Writes that another process was faster than, decided again by the writer. */
  readonly conflicts: number;
  /** Holds closed by writes that stand, and when the last of these was answered. */
  readonly settled: number;
  readonly lastSettledAtMicros: number;
}

/** Counts the writes of accounts that pass through it. */
export class AccountWrites {
  readonly accounts: AccountStore;
  readonly counts = { applied: 0, conflicts: 0, settled: 0, lastSettledAtMicros: 0 };

  constructor(store: AccountStore) {
    this.accounts = {
      create: (account) => store.create(account),
      read: store.read.bind(store),
      apply: async (change) => {
        const outcome = await store.apply(change);
        if (outcome === 'applied') this.applied(change);
        else this.counts.conflicts += 1;
        return outcome;
      },
      entries: (accountId, page) => store.entries(accountId, page),
      findOperation: (accountId, operationId) => store.findOperation(accountId, operationId),
      list: (page) => store.list(page),
      holdsBefore: (heldBefore, page) => store.holdsBefore(heldBefore, page),
    };
  }

  private applied({ holdsClosed }: AccountChange): void {
    this.counts.applied += 1;
    this.counts.settled += holdsClosed.length;
    if (holdsClosed.length > 0) this.counts.lastSettledAtMicros = machineMicros();
  }
}
