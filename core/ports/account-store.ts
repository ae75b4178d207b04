import type { Cancellation } from '../cancellation.js';
import type { Account, AccountChange, AccountTotals, Entry, Hold } from '../credits/account.js';
import type { Page, PageRequest } from '../paging.js';

/**
 * Keeps accounts and their ledgers. Each method is atomic for one account and no more. Every method may throw
 * `StoreUnavailable`; a write that does may or may not have happened. A read that is given the call it is for ends with
 * `CallOver` as soon as that is over.
 */
export interface AccountStore {
  /** Inserts a new account, version 0, without holds or entries. Durable on return. */
  create(account: Account): Promise<'created' | 'exists'>;

  /** The newest committed state, or null. Reads what this process wrote before. */
  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  /** The same without the holds, at a cost that does not grow with their number. */
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;

  /**
   * Writes the totals, the holds closed, then those opened, the entries, which may be none, and the profile where the change
   * has one, all or none, if the account's version still is `expectedVersion`; durable on return. `conflict` means that
   * nothing was written. At most 1,000 entries a change.
   */
  apply(change: AccountChange): Promise<'applied' | 'conflict'>;

  /** The ledger of one account, oldest first. */
  entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>>;

  /** The entry that carries this operator's operation id, or null. */
  findOperation(accountId: string, operationId: string): Promise<Entry | null>;

  /** All accounts, in order of id. */
  list(page: PageRequest, call?: Cancellation): Promise<Page<Account>>;

  /** Open holds of all accounts held before `heldBefore`, oldest first; from an index, never by scanning accounts. */
  holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<Hold & { readonly accountId: string }>>;
}
