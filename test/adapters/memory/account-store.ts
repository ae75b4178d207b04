import { assert } from '../../../core/assert.js';
import { type Cancellation, throwIfAborted } from '../../../core/cancellation.js';
import type { Account, AccountChange, AccountTotals, CapUse, Entry, Hold } from '../../../core/credits/account.js';
import { checkedLimit, type Page, pageOf, type PageRequest } from '../../../core/paging.js';
import type { AccountStore } from '../../../core/ports/stores.js';
import { compareText, frozenCopy, OrderedList } from './records.js';

type AccountHold = Hold & { readonly accountId: string };

/** The stored state of one account: its totals, holds by generation id, cap usage by credential id, and its ledger. */
interface Kept {
  totals: AccountTotals;
  readonly holds: Map<string, Hold>;
  readonly capUses: Map<string, CapUse>;
  readonly entries: Entry[];
  readonly operations: Map<string, Entry>;
}

/** Accounts and ledgers in this process's memory; gone when the process ends. */
export class MemoryAccountStore implements AccountStore {
  private readonly accounts = new Map<string, Kept>();
  private readonly accountIds = new OrderedList<string>(compareText);
  private readonly holds = new OrderedList<AccountHold>(
    (a, b) =>
      a.heldAt - b.heldAt || compareText(a.accountId, b.accountId) || compareText(a.generationId, b.generationId),
  );

  async create(account: Account): Promise<'created' | 'exists'> {
    if (this.accounts.has(account.accountId)) return 'exists';
    assert(account.version === 0 && account.holds.size === 0, 'a new account has version 0 and no holds');
    const { holds: _holds, capUses: _capUses, ...totals } = account;
    this.accounts.set(account.accountId, {
      totals: frozenCopy(totals),
      holds: new Map(),
      capUses: new Map(),
      entries: [],
      operations: new Map(),
    });
    this.accountIds.insert(account.accountId);
    return 'created';
  }

  read(accountId: string, call?: Cancellation): Promise<Account | null>;
  read(accountId: string, call: Cancellation | undefined, part: 'totals'): Promise<AccountTotals | null>;
  async read(accountId: string, call?: Cancellation, part?: 'totals'): Promise<Account | AccountTotals | null> {
    throwIfAborted(call);
    const kept = this.accounts.get(accountId);
    if (kept === undefined) return null;
    return part === 'totals' ? kept.totals : accountOf(kept);
  }

  /** The account's version; undefined if the account does not exist. */
  versionOf(accountId: string): number | undefined {
    return this.accounts.get(accountId)?.totals.version;
  }

  async apply(change: AccountChange): Promise<'applied' | 'conflict'> {
    assert(change.entries.length <= 1000, 'a change has at most 1,000 entries');
    const kept = this.accounts.get(change.accountId);
    if (kept?.totals.version !== change.expectedVersion) return 'conflict';
    this.assertApplicable(kept, change);
    const { version, issued, available, reserved, spent, lastSequence } = change;
    kept.totals = frozenCopy({
      ...withProfile(kept.totals, change),
      version,
      issued,
      available,
      reserved,
      spent,
      lastSequence,
    });
    for (const generationId of change.holdsClosed) this.closeHold(kept, generationId);
    for (const hold of change.holdsOpened) this.openHold(kept, hold);
    for (const credentialId of change.capUsesDropped ?? []) kept.capUses.delete(credentialId);
    for (const use of change.capUses ?? []) kept.capUses.set(use.credentialId, frozenCopy(use));
    for (const entry of change.entries) {
      const copy = frozenCopy(entry);
      kept.entries.push(copy);
      if (copy.operationId !== undefined) kept.operations.set(copy.operationId, copy);
    }
    return 'applied';
  }

  async entries(accountId: string, page: PageRequest, call?: Cancellation): Promise<Page<Entry>> {
    throwIfAborted(call);
    const entries = this.accounts.get(accountId)?.entries ?? [];
    // Entries are numbered from 1 without gaps, so the sequence number of one is the index of the next.
    const from = page.cursor === undefined ? 0 : Number(page.cursor);
    return pageOf(entries.slice(from, from + checkedLimit(page.limit) + 1), page, (entry) => String(entry.sequence));
  }

  async findOperation(accountId: string, operationId: string): Promise<Entry | null> {
    return this.accounts.get(accountId)?.operations.get(operationId) ?? null;
  }

  async list(page: PageRequest, call?: Cancellation): Promise<Page<Account>> {
    throwIfAborted(call);
    const from = page.cursor === undefined ? 0 : this.accountIds.firstNotBefore(`${page.cursor}\0`);
    const ids = this.accountIds.slice(from, checkedLimit(page.limit) + 1);
    return pageOf(
      ids.map((id) => accountOf(this.accounts.get(id) as Kept)),
      page,
      (account) => account.accountId,
    );
  }

  async holdsBefore(heldBefore: number, page: PageRequest): Promise<Page<AccountHold>> {
    const from = page.cursor === undefined ? 0 : this.holds.firstNotBefore(afterHold(page.cursor));
    const found = this.holds.slice(from, checkedLimit(page.limit) + 1).filter((hold) => hold.heldAt < heldBefore);
    return pageOf(found, page, (hold) => `${hold.heldAt}/${hold.accountId}/${hold.generationId}`);
  }

  async removeTexts(accountId: string, entries: readonly Entry[]): Promise<void> {
    const kept = this.accounts.get(accountId);
    for (const { sequence, operationId, reason, attribution } of entries) {
      const stored = kept?.entries[sequence - 1];
      if (kept === undefined || stored === undefined) continue;
      const { operationId: before, reason: said, attribution: by, ...rest } = stored;
      const { clientTraceId: _clientTraceId, ...withoutTrace } = by ?? {};
      const traced = attribution?.clientTraceId === undefined ? withoutTrace : by;
      const next = frozenCopy({
        ...rest,
        operationId: operationId === undefined ? undefined : before,
        reason: reason === undefined ? undefined : said,
        ...(by === undefined ? {} : { attribution: traced }),
      }) as Entry;
      if (before !== undefined) kept.operations.delete(before);
      if (next.operationId !== undefined) kept.operations.set(next.operationId, next);
      kept.entries[sequence - 1] = next;
    }
  }

  /**
   * A change that would violate the ledger's keys is refused as a whole, before any of it is written, as in a database.
   */
  private assertApplicable(kept: Kept, change: AccountChange): void {
    for (const hold of change.holdsOpened) {
      assert(
        !kept.holds.has(hold.generationId) || change.holdsClosed.includes(hold.generationId),
        `generation ${hold.generationId} has no other hold`,
      );
    }
    const seen = new Set<string>();
    change.entries.forEach((entry, index) => {
      assert(entry.sequence === kept.entries.length + 1 + index, 'entries are numbered without gaps');
      if (entry.operationId === undefined) return;
      assert(!kept.operations.has(entry.operationId) && !seen.has(entry.operationId), 'an operation id is used once');
      seen.add(entry.operationId);
    });
  }

  private openHold(kept: Kept, hold: Hold): void {
    kept.holds.set(hold.generationId, frozenCopy(hold));
    this.holds.insert(frozenCopy({ ...hold, accountId: kept.totals.accountId }));
  }

  private closeHold(kept: Kept, generationId: string): void {
    const hold = kept.holds.get(generationId);
    if (hold === undefined) return;
    kept.holds.delete(generationId);
    this.holds.remove({ ...hold, accountId: kept.totals.accountId });
  }
}

/** A profile without a suspension ends the one there was. */
function withProfile(totals: Kept['totals'], { profile }: AccountChange): Kept['totals'] {
  if (profile === undefined) return totals;
  const { suspendedAt: _before, erasedAt: _erased, ...rest } = totals;
  return { ...rest, ...profile };
}

function accountOf({ totals, holds, capUses }: Kept): Account {
  return { ...totals, holds: new Map(holds), ...(capUses.size === 0 ? {} : { capUses: new Map(capUses) }) };
}

/** The place right after the hold a cursor names; NUL sorts before every character an id can continue with. */
function afterHold(cursor: string): AccountHold {
  const [heldAt = '', accountId = '', generationId = ''] = cursor.split('/');
  return { heldAt: Number(heldAt), accountId, generationId: `${generationId}\0`, credits: 0 };
}
