import { assert } from '../assert.js';
import type { Call, Machine, Money } from '../context.js';
import { type AccountTotals, type Entry, FAILED } from '../credits/account.js';
import { busy, orThrow, ServiceError, StoreUnavailable } from '../errors.js';
import type { UsageChange } from '../ports/stores.js';
import {
  isTrace,
  NO_USAGE,
  textOfKey,
  type UsageKey,
  usageKeyOf,
  type UsageList,
  type UsageRow,
  wholeAccount,
  withEntry,
} from './usage.js';

export interface Projection {
  readonly accountId: string;
  readonly list: UsageList;
  /** The number of the last entry to take in. */
  readonly through: number;
  /** The most entries that one call takes in. */
  readonly maxEntries?: number;
  /** How often other processes may conflict before it fails. */
  readonly maxConflicts?: number;
}

const PAGE = 500;
/** Entries and rows that are written together, at most: the more, the fewer writes a long ledger costs. */
const BATCH = 5_000;
const MAX_ROWS = 1_000;
/** A list of traces may have a row for each generation, the other one few for each day. */
const MAX_ENTRIES: Readonly<Record<UsageList, number>> = { uses: 20_000, traces: 10_000 };
const MAX_CONFLICTS = 100;

/**
 * Takes the entries of an account up to number `through` into its rows of a list. `behind`: there were more than one call
 * takes in; what it took in is kept.
 *
 * May run many times concurrently, be cut anywhere, and be repeated: each row remembers its last entry and takes in only
 * later ones, in the ledger's order. The row of the whole account is written after the others of a batch, so that all of
 * them have come at least as far as it says. Throws `SERVICE_UNAVAILABLE` when other processes are in the way too often.
 */
export async function projectUsage(
  ports: Pick<Money, 'accounts' | 'usage'> & Call,
  projection: Projection,
): Promise<'current' | 'behind'> {
  return orThrow(await tryProject(ports, projection));
}

async function tryProject(
  ports: Pick<Money, 'accounts' | 'usage'> & Call,
  { accountId, list, through, maxEntries = MAX_ENTRIES[list], maxConflicts = MAX_CONFLICTS }: Projection,
): Promise<'current' | 'behind' | ServiceError> {
  let budget = maxEntries;
  for (let conflicts = 0; conflicts < maxConflicts;) {
    const whole = await rowOf(ports, wholeAccount(accountId, list));
    const from = whole.lastSequence;
    if (from >= through) return 'current';
    if (budget <= 0) return 'behind';
    // The row of the whole account must exist before other rows are written, or their removal could not be noticed.
    const last = list === 'traces' && from === 0 ? 1 : Math.min(through, from + budget);
    const batch = await batchOf(ports, { accountId, list, from, through: last });
    budget -= batch.entries.length;
    if ((await takeIn(ports, whole, batch)) === 'conflict') conflicts += 1;
  }
  return busy('The usage is being computed by too many processes; try again.');
}

/** Entries in a row, with the rows that they belong to. */
interface Batch {
  /** Each with the text of its key, which grants and adjustments do not have. */
  readonly entries: readonly (readonly [entry: Entry, text: string | undefined])[];
  readonly keys: ReadonlyMap<string, UsageKey>;
}

/** The next batch of entries, bounded by batch size and rows per write. */
async function batchOf(
  ports: Pick<Money, 'accounts' | 'usage'> & Call,
  { accountId, list, from, through }: Projection & { readonly from: number },
): Promise<Batch> {
  const entries: [Entry, string | undefined][] = [];
  const keys = new Map<string, UsageKey>();
  while (entries.length < BATCH && keys.size + PAGE <= MAX_ROWS) {
    const last = from + entries.length;
    if (last >= through) break;
    const page = { limit: Math.min(PAGE, through - last), cursor: String(last) };
    const { items } = await ports.accounts.entries(accountId, page, ports.call);
    assert(items.length > 0, 'every entry up to the last of an account is in its ledger');
    for (const entry of items) {
      const key = usageKeyOf(entry, list);
      const text = key && textOfKey(key);
      entries.push([entry, text]);
      if (key !== undefined && text !== undefined) keys.set(text, key);
    }
  }
  return { entries, keys };
}

async function takeIn(
  ports: Pick<Money, 'accounts' | 'usage'> & Call,
  whole: UsageRow,
  { entries, keys }: Batch,
): Promise<'applied' | 'conflict'> {
  const rows = new Map<string, UsageChange>();
  const found = await rowsOf(ports, keys);
  // An erasure removes the account's row of traces before the others: once it has begun, a row that is missing is not new.
  if (isTrace(whole) && (await rowOf(ports, whole)).lastSequence !== whole.lastSequence) return 'conflict';
  for (const [text, row] of found) rows.set(text, { row, expectedSequence: row.lastSequence });
  for (const [entry, text = ''] of entries) {
    const change = rows.get(text);
    if (change !== undefined) rows.set(text, { ...change, row: withEntry(change.row, entry) });
  }
  const changes = [...rows.values()].filter(({ row, expectedSequence }) => row.lastSequence > expectedSequence);
  if (changes.length > 0 && (await ports.usage.apply(changes)) === 'conflict') return 'conflict';
  const row = entries.reduce((sums, [entry]) => withEntry(sums, entry), whole);
  return ports.usage.apply([{ row, expectedSequence: whole.lastSequence }]);
}

/** The stored rows of these keys, and empty ones where there are none yet. */
async function rowsOf(
  ports: Pick<Money, 'accounts' | 'usage'> & Call,
  keys: Batch['keys'],
): Promise<ReadonlyMap<string, UsageRow>> {
  const rows = new Map<string, UsageRow>();
  for (const [text, key] of keys) rows.set(text, { ...key, ...NO_USAGE, lastSequence: 0 });
  if (rows.size === 0) return rows;
  for (const row of await ports.usage.read([...keys.values()], ports.call)) rows.set(textOfKey(row), row);
  return rows;
}

async function rowOf(ports: Pick<Money, 'accounts' | 'usage'> & Call, key: UsageKey): Promise<UsageRow> {
  const [found] = await ports.usage.read([key], ports.call);
  return found ?? { ...key, ...NO_USAGE, lastSequence: 0 };
}

type Sums = [generations: number, failed: number, reserved: number, charged: number, released: number];

export interface Difference {
  readonly name: string;
  readonly stored: Readonly<Sums>;
  readonly expected: Readonly<Sums>;
}

/**
 * The stored rows of a day beside what entries add up to. Rows may be ahead of the whole account's: what a row must have is
 * what its own last entry says, and at least what the whole account's says, entry `through`.
 */
export class UsageOfDay {
  private readonly expected = new Map<string, Sums>();
  private readonly stored = new Map<string, UsageRow>();
  private lastSequence = 0;

  constructor(
    readonly day: string,
    private readonly through: number,
  ) {}

  /** The last entry that any of its rows took in. */
  get lastTakenIn(): number {
    return this.lastSequence;
  }

  store(row: UsageRow): void {
    this.stored.set(nameOf(row), row);
    this.lastSequence = Math.max(this.lastSequence, row.lastSequence);
  }

  add(name: string, { kind, credits, reason, sequence }: Entry): void {
    if (sequence > Math.max(this.through, this.stored.get(name)?.lastSequence ?? 0)) return;
    const sums = this.expected.get(name) ?? none();
    if (kind === 'hold') {
      sums[0] += 1;
      sums[2] += credits;
    } else {
      sums[1] += reason === FAILED ? 1 : 0;
      sums[kind === 'charge' ? 3 : 4] += credits;
    }
    this.expected.set(name, sums);
  }

  /** Something for each row and each sum without one, so that its caller may rest in between: undefined where they agree. */
  *differences(): Generator<Difference | undefined> {
    for (const [name, row] of this.stored) yield difference(name, sumsOf(row), this.expected.get(name) ?? none());
    for (const [name, expected] of this.expected) if (!this.stored.has(name)) yield difference(name, none(), expected);
  }
}

function difference(name: string, stored: Sums, expected: Sums): Difference | undefined {
  return expected.every((sum, index) => sum === stored[index]) ? undefined : { name, stored, expected };
}

function none(): Sums {
  return [0, 0, 0, 0, 0];
}

function nameOf(row: UsageRow): string {
  if (row.day === '') return '';
  const { day, appUse } = row;
  const name = 'clientTraceId' in row ? `${day} ${row.clientTraceId}` : `${day} ${row.credentialId} ${row.modelKey}`;
  return appUse === '' ? name : `${name} in ${appUse}`;
}

function sumsOf({ generations, failed, reservedCredits, chargedCredits, releasedCredits }: UsageRow): Sums {
  return [generations, failed, reservedCredits, chargedCredits, releasedCredits];
}

type Totals = Pick<AccountTotals, 'accountId' | 'lastSequence'>;

export interface CatchUpBounds {
  /** Accounts that one pass looks at, 1 to 1,000. */
  readonly accounts: number;
  /** The most entries that one pass takes in. */
  readonly entries: number;
  /** A list that lacks fewer entries is left to whoever requests it. */
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
    private readonly ports: Pick<Money, 'accounts' | 'usage'> & Pick<Machine, 'log'>,
    private readonly bounds: CatchUpBounds = BOUNDS,
  ) {}

  /**
   * Runs one bounded pass; the next one continues where it ended. Throws `StoreUnavailable`; any other error ends only
   * the pass of its account.
   */
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

  /** Returns the number of entries it took in, of both lists. */
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

  /** Returns the number of entries it took in. */
  private async takeIn({ accountId, lastSequence }: Totals, list: UsageList, most: number): Promise<number> {
    const { behind } = this.bounds;
    if (lastSequence < behind) return 0;
    const [whole] = await this.ports.usage.read([wholeAccount(accountId, list)]);
    // Traces are only made for accounts that have requested them.
    if (whole === undefined && list === 'traces') return 0;
    const lacking = lastSequence - (whole?.lastSequence ?? 0);
    if (lacking < behind) return 0;
    const { accounts, usage } = this.ports;
    let taken = 0;
    while (taken < Math.min(lacking, most) && !this.isStopped) {
      const maxEntries = Math.min(AT_ONCE, most - taken);
      const projection = { accountId, list, through: lastSequence, maxEntries, maxConflicts: 1 };
      // Another process projects the same account.
      if ((await tryProject({ accounts, usage, call: undefined }, projection)) instanceof ServiceError) break;
      taken += maxEntries;
    }
    return taken;
  }
}
