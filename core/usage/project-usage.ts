import { assert } from '../assert.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { UsageChange } from '../ports/usage-store.js';
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
  /** How often others may be in the way before it gives up. */
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
  ports: Ports,
  { accountId, list, through, maxEntries = MAX_ENTRIES[list], maxConflicts = MAX_CONFLICTS }: Projection,
): Promise<'current' | 'behind'> {
  let budget = maxEntries;
  for (let conflicts = 0; conflicts < maxConflicts;) {
    const whole = await rowOf(ports, wholeAccount(accountId, list));
    const from = whole.lastSequence;
    if (from >= through) return 'current';
    if (budget <= 0) return 'behind';
    const batch = await batchOf(ports, { accountId, list, from, through: Math.min(through, from + budget) });
    budget -= batch.entries.length;
    if ((await takeIn(ports, whole, batch)) === 'conflict') conflicts += 1;
  }
  throw busy();
}

/** Entries in a row, with the rows that they belong to. */
interface Batch {
  /** Each with the text of its key, which grants and adjustments do not have. */
  readonly entries: readonly (readonly [entry: Entry, text: string | undefined])[];
  readonly keys: ReadonlyMap<string, UsageKey>;
}

/** The next entries: as many as a batch may have, and as belong to as many rows as one write may have. */
async function batchOf(
  ports: Ports,
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

async function takeIn(ports: Ports, whole: UsageRow, { entries, keys }: Batch): Promise<'applied' | 'conflict'> {
  const rows = new Map<string, UsageChange>();
  for (const [text, row] of await rowsOf(ports, keys)) rows.set(text, { row, expectedSequence: row.lastSequence });
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
async function rowsOf(ports: Ports, keys: Batch['keys']): Promise<ReadonlyMap<string, UsageRow>> {
  const rows = new Map<string, UsageRow>();
  for (const [text, key] of keys) rows.set(text, { ...key, ...NO_USAGE, lastSequence: 0 });
  if (rows.size === 0) return rows;
  for (const row of await ports.usage.read([...keys.values()], ports.call)) rows.set(textOfKey(row), row);
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
