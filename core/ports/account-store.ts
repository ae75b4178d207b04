import type { Cancellation } from '../cancellation.js';
import type { Account, AccountChange, AccountTotals, Entry, Hold } from '../credits/account.js';
import type { Page, PageRequest } from '../paging.js';

/**
 * Keeps accounts and their ledgers. Each method is atomic for one account and no more. Every method may throw
 * `StoreUnavailable`; the outcome of a write that does is unknown. A read that is given a `Cancellation` ends with
 * `CallOver` as soon as the call is over.
 */
export interface AccountStore {
  /** Inserts a new account, version 0, without holds or entries. Durable on return. */
  create(account: Account): Promise<'created' | 'exists'>;

  /** The newest committed state, or null. A process reads its own writes. */
  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  /** The same without the holds. The cost does not depend on their number. */
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;

  /**
   * Writes the change if the account's version still is `expectedVersion`, all of it or nothing: the totals, the closed
   * holds, then the opened ones, the entries, of which there may be none, and the profile where the change has one.
   * Durable on return. `conflict`: nothing was written. At most 1,000 entries a change.
   */
  apply(change: AccountChange): Promise<'applied' | 'conflict'>;

  /**
   * The ledger of one account, oldest first. A cursor is the number of an entry as text: the page begins with the one
   * behind it. Entries have no gaps, so that any stretch of a ledger can be asked for.
   */
  entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>>;

  /** The entry with this operation id, or null. */
  findOperation(accountId: string, operationId: string): Promise<Entry | null>;

  /** All accounts, in order of id. */
  list(page: PageRequest, call?: Cancellation): Promise<Page<Account>>;

  /**
   * Open holds of all accounts from before `heldBefore` (milliseconds since the epoch), oldest first; read from an
   * index, without a scan of accounts.
   */
  holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<Hold & { readonly accountId: string }>>;
}
