import type { Collection, Db, UUID } from 'mongodb';
import type { Account, CapUse, Entry } from '../../../core/credits/account.js';
import { canonical } from '../../history/values.js';
import type { AtRest } from '../../history/recorded/history.js';

/** Documents as the program writes them; the driver gives 64-bit integers as numbers. */
interface EntryRow extends Omit<Entry, 'accountId' | 'generationId' | 'operationId' | 'attribution'> {
  readonly generation?: UUID;
  readonly operation?: string;
  readonly credential?: string;
  readonly model?: string;
  readonly trace?: string;
  readonly capPeriod?: string;
  readonly app?: string;
}

/** One entry, or several that were moved out of their account together. */
type LedgerRow = { readonly account: UUID } & (EntryRow | { readonly entries: readonly EntryRow[] });

interface AccountRow extends Omit<Account, 'accountId' | 'holds' | 'capUses'> {
  readonly _id: UUID;
  readonly holds: readonly { readonly generation: UUID; readonly credits: number; readonly heldAt: number }[];
  readonly outbox: readonly EntryRow[];
  readonly capUses?: Readonly<Record<string, Omit<CapUse, 'credentialId'>>>;
}

/**
 * All accounts with their entries, read from the database without the program: entries already moved to the ledger
 * collection and entries still in the account. An entry that is in both places and differs is returned twice, for the
 * checker to find. If only its attribution differs, the account's version is returned, because the previous release
 * does not move attributions.
 */
export async function booksIn(db: Db): Promise<AtRest['accounts']> {
  const accounts: Collection<AccountRow> = db.collection('accounts');
  const ledger: Collection<LedgerRow> = db.collection('entries');
  const moved = new Map<string, EntryRow[]>();
  for (const row of await ledger.find().toArray()) {
    const accountId = row.account.toString();
    moved.set(accountId, [...(moved.get(accountId) ?? []), ...('entries' in row ? row.entries : [row])]);
  }
  const rows = await accounts.find().toArray();
  return rows.map((row) => accountOf(row, moved.get(row._id.toString()) ?? []));
}

function accountOf(
  { _id, holds, outbox, capUses = {}, ...rest }: AccountRow,
  moved: readonly EntryRow[],
): AtRest['accounts'][number] {
  const accountId = _id.toString();
  const entries = new Map<string, Entry>();
  for (const row of [...moved, ...outbox]) {
    const entry = entryOf(accountId, row);
    entries.set(canonical({ ...entry, attribution: null }), entry);
  }
  return {
    ...rest,
    accountId,
    holds: new Map(
      holds.map(({ generation, credits, heldAt }) => [
        generation.toString(),
        { generationId: generation.toString(), credits, heldAt },
      ]),
    ),
    capUses: new Map(Object.entries(capUses).map(([credentialId, use]) => [credentialId, { credentialId, ...use }])),
    entries: [...entries.values()].sort((a, b) => a.sequence - b.sequence),
  };
}

function entryOf(
  accountId: string,
  { sequence, kind, from, to, credits, at, availableAfter, generation, operation, reason, ...by }: EntryRow,
): Entry {
  return {
    accountId,
    sequence,
    kind,
    from,
    to,
    credits,
    at,
    availableAfter,
    ...(generation === undefined ? {} : { generationId: generation.toString() }),
    ...(operation === undefined ? {} : { operationId: operation }),
    ...(reason === undefined ? {} : { reason }),
    ...attributionOf(by),
  };
}

function attributionOf({ credential, model, trace, capPeriod, app }: Partial<EntryRow>): Pick<Entry, 'attribution'> {
  if (credential === undefined || model === undefined) return {};
  return {
    attribution: {
      credentialId: credential,
      ...(app === undefined ? {} : { appId: app }),
      modelKey: model,
      ...(trace === undefined ? {} : { clientTraceId: trace }),
      ...(capPeriod === undefined ? {} : { capPeriod }),
    },
  };
}
