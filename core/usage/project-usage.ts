import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import {
  NO_USAGE,
  textOfKey,
  usageKeyOf,
  wholeAccount,
  withEntry,
  type UsageKey,
  type UsageList,
  type UsageRow,
} from './usage.js';
import type { Entry } from '../credits/account.js';

type Ports = Pick<Context, 'accounts' | 'usage' | 'call'>;

export interface Projection {
  readonly accountId: string;
  readonly list: UsageList;
  /** The number of the last entry to take in. */
  readonly through: number;
  /** Entries that it takes in at most. */
  readonly maxEntries?: number;
}

const PAGE = 500;
/** A list of traces may have a row for each generation, the other one few for each day. */
const MAX_ENTRIES: Readonly<Record<UsageList, number>> = { uses: 50_000, traces: 10_000 };
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
  ports: Ports,
  { accountId, list, through, maxEntries = MAX_ENTRIES[list] }: Projection,
): Promise<'current' | 'behind'> {
  let budget = maxEntries;
  for (let conflicts = 0; conflicts < MAX_CONFLICTS;) {
    const whole = await rowOf(ports, wholeAccount(accountId, list));
    const from = whole.lastSequence;
    if (from >= through) return 'current';
    if (budget <= 0) return 'behind';
    const limit = Math.min(PAGE, through - from, budget);
    const { items } = await ports.accounts.entries(accountId, { limit, cursor: String(from) }, ports.call);
    budget -= limit;
    if ((await takeIn(ports, list, whole, items)) === 'conflict') conflicts += 1;
  }
  throw busy();
}

async function takeIn(
  ports: Ports,
  list: UsageList,
  whole: UsageRow,
  entries: readonly Entry[],
): Promise<'applied' | 'conflict'> {
  const before = await rowsOf(ports, list, entries);
  const after = new Map(before);
  for (const entry of entries) {
    const key = usageKeyOf(entry, list);
    const text = key === undefined ? '' : textOfKey(key);
    const row = after.get(text);
    if (row !== undefined) after.set(text, withEntry(row, entry));
  }
  const changes = [...after]
    .map(([key, row]) => ({ row, expectedSequence: before.get(key)?.lastSequence ?? 0 }))
    .filter(({ row, expectedSequence }) => row.lastSequence > expectedSequence);
  if (changes.length > 0 && (await ports.usage.apply(changes)) === 'conflict') return 'conflict';
  const row = entries.reduce(withEntry, whole);
  return ports.usage.apply([{ row, expectedSequence: whole.lastSequence }]);
}

/** The stored rows of the entries, and empty ones where there are none yet. */
async function rowsOf(
  ports: Ports,
  list: UsageList,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, UsageRow>> {
  const rows = new Map<string, UsageRow>();
  for (const entry of entries) {
    const key = usageKeyOf(entry, list);
    if (key !== undefined) rows.set(textOfKey(key), { ...key, ...NO_USAGE, lastSequence: 0 });
  }
  if (rows.size === 0) return rows;
  for (const row of await ports.usage.read([...rows.values()], ports.call)) rows.set(textOfKey(row), row);
  return rows;
}

async function rowOf(ports: Ports, key: UsageKey): Promise<UsageRow> {
  const [found] = await ports.usage.read([key], ports.call);
  return found ?? { ...key, ...NO_USAGE, lastSequence: 0 };
}

function busy(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', 'The usage is being computed by too many processes; try again.', {
    retryAfterMs: 1_000,
  });
}
