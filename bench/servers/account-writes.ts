import type { AccountChange } from '../../core/credits/account.js';
import type { AcceptanceStore, AccountStore } from '../../core/ports/stores.js';
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

/** Counts the writes of accounts that pass through it, those of accepted generations among them. */
export class AccountWrites {
  readonly accounts: AccountStore;
  readonly acceptances: AcceptanceStore;
  readonly counts = { applied: 0, conflicts: 0, settled: 0, lastSettledAtMicros: 0 };
  private readonly settledAtMicros = new Map<string, number>();

  constructor(store: AccountStore, acceptances: AcceptanceStore) {
    this.acceptances = {
      accept: async (batch) => {
        const accepted = await acceptances.accept(batch);
        if (accepted.outcome === 'accepted') this.applied(batch.change);
        else if (accepted.outcome === 'conflict') this.counts.conflicts += 1;
        return accepted;
      },
    };
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
      removeTexts: (accountId, entries) => store.removeTexts(accountId, entries),
    };
  }

  /** Hands over when the hold of each generation was closed, and forgets it. */
  takeSettled(): (readonly [generationId: string, atMicros: number])[] {
    const taken = [...this.settledAtMicros];
    this.settledAtMicros.clear();
    return taken;
  }

  private applied({ holdsClosed }: AccountChange): void {
    this.counts.applied += 1;
    this.counts.settled += holdsClosed.length;
    if (holdsClosed.length === 0) return;
    const atMicros = machineMicros();
    this.counts.lastSettledAtMicros = atMicros;
    for (const generationId of holdsClosed) this.settledAtMicros.set(generationId, atMicros);
  }
}
