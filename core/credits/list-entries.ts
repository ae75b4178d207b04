import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { PageRequest } from '../paging.js';
import { findGrant } from '../people/grants.js';
import type { Entry } from './account.js';

/** An entry of the ledger, as its account sees it. */
export interface StatementEntry {
  readonly entry: Entry;
  /** What it changed the available credits by. */
  readonly availableChange: number;
  /** Name of the credential whose use it is; absent in grants and adjustments, and for a credential that is gone. */
  readonly credentialName?: string;
}

/** A page of entries, newest first, with the credits that were available before its oldest and after its newest entry. */
export interface Statement {
  readonly entries: readonly StatementEntry[];
  readonly openingCredits: number;
  readonly closingCredits: number;
  readonly nextCursor?: string;
}

type Ports = Pick<Context, 'accounts' | 'credentials' | 'artefacts' | 'people' | 'call'>;

const SERVICE = 'service:';

/**
 * A page of the ledger of the caller's account. The opening credits and the changes of all entries sum to the closing
 * credits, and the opening credits of a page are the closing credits of the next one. Entries that are written between
 * two pages change neither.
 */
export async function listEntries(
  ports: Ports,
  { accountId }: Pick<Caller, 'accountId'>,
  page: PageRequest,
): Promise<Statement> {
  const account = await ports.accounts.read(accountId, ports.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  const newest = Math.min(account.lastSequence, Number(page.cursor ?? account.lastSequence));
  if (!(newest >= 1)) return { entries: [], openingCredits: 0, closingCredits: 0 };
  const before = Math.max(0, newest - page.limit);
  const { items } = await ports.accounts.entries(
    accountId,
    { limit: newest - before, cursor: String(before) },
    ports.call,
  );
  const found = items.toReversed();
  const nameOf = await namesOf(ports, accountId, found);
  const [first, last] = [found[0], found.at(-1)];
  return {
    entries: found.map((entry) => ({ entry, availableChange: changeOf(entry), ...nameOf(entry) })),
    openingCredits: last === undefined ? 0 : last.availableAfter - changeOf(last),
    closingCredits: first?.availableAfter ?? 0,
    ...(before === 0 ? {} : { nextCursor: String(before) }),
  };
}

function changeOf({ from, to, credits }: Entry): number {
  if (to === 'available') return credits;
  return from === 'available' ? 0 - credits : 0;
}

async function namesOf(ports: Ports, accountId: string, entries: readonly Entry[]) {
  const ids = new Set(entries.flatMap(({ attribution }) => attribution?.credentialId ?? []));
  const found = await Promise.all(
    [...ids].map(async (id) => [id, await nameOfCredential(ports, accountId, id)] as const),
  );
  const names = new Map(found);
  return ({ attribution }: Entry): Pick<StatementEntry, 'credentialName'> => {
    const credentialName = attribution && names.get(attribution.credentialId);
    return credentialName === undefined ? {} : { credentialName };
  };
}

/** That of a key, of an internal service, of the program that a person has allowed to act for them, or of the person. */
export async function nameOfCredential(
  ports: Pick<Context, 'credentials' | 'artefacts' | 'people' | 'call'>,
  accountId: string,
  id: string,
): Promise<string | undefined> {
  if (id.startsWith(SERVICE)) return id.slice(SERVICE.length);
  const key = await ports.credentials.findKey({ keyId: id });
  if (key !== null) return key.accountId === accountId ? key.name : undefined;
  const grant = await findGrant(ports, id);
  if (grant !== undefined) return grant.accountId === accountId ? grant.clientName : undefined;
  const person = await ports.people.read(id);
  return person?.accountId === accountId ? person.email : undefined;
}
