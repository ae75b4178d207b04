import type { Context } from '../context.js';
import type { AccountTotals } from '../credits/account.js';
import { ServiceError, StoreUnavailable } from '../errors.js';
import { projectUsage } from './project-usage.js';
import { wholeAccount, type UsageList } from './usage.js';

type Ports = Pick<Context, 'accounts' | 'usage' | 'log'>;

type Totals = Pick<AccountTotals, 'accountId' | 'lastSequence'>;

export interface CatchUpBounds {
  /** Accounts that one pass looks at, 1 to 1,000. */
  readonly accounts: number;
  /** Entries that one pass takes in at most. */
  readonly entries: number;
  /** A list that lacks fewer entries is left to who asks for it. */
  readonly behind: number;
}

const BOUNDS: CatchUpBounds = { accounts: 50, entries: 100_000, behind: 1_000 };
/** Entries that are taken in at a time; between them it can be stopped. */
const AT_ONCE = 10_000;

/**
 * Takes entries of long ledgers into the rows of usage before anyone asks: after an upgrade, the first who asks would be
 * refused until as many requests have done it. Its passes look at all accounts in turn. Any number of processes may do it
 * at a time: one that meets another at an account leaves it to that one.
 */
export class UsageCatchUp {
  private cursor: string | undefined;
  private isStopped = false;

  constructor(
    private readonly ports: Ports,
    private readonly bounds: CatchUpBounds = BOUNDS,
  ) {}

  /** One bounded pass, which the next one goes on from. Throws `StoreUnavailable`; what else fails ends its account's alone. */
  async pass(): Promise<void> {
    const { cursor, bounds } = this;
    const page = { limit: bounds.accounts, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor } = await this.ports.accounts.list(page);
    let left = bounds.entries;
    for (const account of items) {
      left -= await this.takeInAll(account, left);
      if (left <= 0 || this.isStopped) return;
    }
    this.cursor = nextCursor;
  }

  stop(): void {
    this.isStopped = true;
  }

  /** Answers how many entries it took in, of both lists. */
  private async takeInAll(account: Totals, most: number): Promise<number> {
    let taken = 0;
    try {
      for (const list of ['uses', 'traces'] as const)
        if (taken < most && !this.isStopped) taken += await this.takeIn(account, list, most - taken);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.ports.log.warn('usage not brought up to date', { accountId: account.accountId, error });
    }
    return taken;
  }

  /** Answers how many entries it took in. */
  private async takeIn({ accountId, lastSequence }: Totals, list: UsageList, most: number): Promise<number> {
    const { behind } = this.bounds;
    if (lastSequence < behind) return 0;
    const [whole] = await this.ports.usage.read([wholeAccount(accountId, list)]);
    // Traces are only made for accounts that have asked for them.
    if (whole === undefined && list === 'traces') return 0;
    const lacking = lastSequence - (whole?.lastSequence ?? 0);
    if (lacking < behind) return 0;
    const { accounts, usage } = this.ports;
    let taken = 0;
    while (taken < Math.min(lacking, most) && !this.isStopped) {
      const maxEntries = Math.min(AT_ONCE, most - taken);
      const projection = { accountId, list, through: lastSequence, maxEntries, maxConflicts: 1 };
      if (!(await isTakenIn(projectUsage({ accounts, usage, call: undefined }, projection)))) break;
      taken += maxEntries;
    }
    return taken;
  }
}

/** False where another process was in the way. */
async function isTakenIn(projecting: Promise<unknown>): Promise<boolean> {
  try {
    await projecting;
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'SERVICE_UNAVAILABLE') return false;
    throw error;
  }
}
