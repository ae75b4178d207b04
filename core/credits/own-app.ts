import type { Caller } from '../access/credential.js';
import { assert } from '../assert.js';
import type { Call, Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import type { PageRequest } from '../paging.js';
import { findGrant } from '../people/grants.js';
import { changeOf, listEntries, SERVICE, type Statement, type StatementEntry } from './operate.js';

/** Who reads the books of an account: an operator names the account alone. */
export type BooksReader = Pick<Caller, 'accountId'> & Partial<Pick<Caller, 'appId' | 'seesOwnAppOnly'>>;

/** An App whose program sees nothing else of its account's books. */
export type OwnApp = Pick<Caller, 'accountId' | 'appId'>;

/** The App to which a connected program is bound; undefined for readers that see the books of the whole account. */
export function ownAppOf({ accountId, appId, seesOwnAppOnly }: BooksReader): OwnApp | undefined {
  if (seesOwnAppOnly !== true) return undefined;
  assert(appId !== undefined, 'a program that sees only its own App has one');
  return { accountId, appId };
}

/** How a credential's use counts for an App. */
interface Use {
  readonly isOwn: boolean;
  /** The name of the program itself. Keys of its App were named by others. */
  readonly name?: string;
}

const OF_OTHERS: Use = { isOwn: false };

/**
 * Finds out by which credentials an App was used: its connections and the keys that were made for it. What belongs to a
 * credential that is no longer known is not shown. Each credential is looked up once.
 */
export class UseOfApp {
  private readonly uses = new Map<string, Promise<Use>>();

  constructor(
    private readonly ports: Identity & Machine,
    private readonly app: OwnApp,
  ) {}

  of(credentialId: string): Promise<Use> {
    const known = this.uses.get(credentialId) ?? this.find(credentialId);
    this.uses.set(credentialId, known);
    return known;
  }

  private async find(credentialId: string): Promise<Use> {
    if (credentialId === '' || credentialId.startsWith(SERVICE)) return OF_OTHERS;
    const { accountId, appId } = this.app;
    const isOwn = (found: OwnApp): boolean => found.appId === appId && found.accountId === accountId;
    const grant = await findGrant(this.ports, credentialId);
    if (grant !== undefined) return isOwn(grant) ? { isOwn: true, name: grant.clientName } : OF_OTHERS;
    const key = await this.ports.credentials.findKey({ keyId: credentialId });
    return key !== null && isOwn(key) ? { isOwn: true } : OF_OTHERS;
  }
}

/** A page of the ledger without what credits were available then, where entries of others are left out. */
export type ShownStatement = Omit<Statement, 'openingCredits' | 'closingCredits'> &
  Partial<Pick<Statement, 'openingCredits' | 'closingCredits'>>;

/**
 * The ledger as its reader may see it: the account's, as `listEntries` has it, or the entries of a connected program's
 * own App. The latter may be fewer than the page takes, or none, while there is a next page.
 */
export async function readStatement(
  ports: Money & Identity & Machine & Call,
  reader: BooksReader,
  page: PageRequest,
): Promise<ShownStatement> {
  const app = ownAppOf(reader);
  return app === undefined ? listEntries(ports, reader, page) : listOwnEntries(ports, app, page);
}

const CHUNK = 500;
/** The entries of the account that one request looks at. */
const MAX_SCANNED = 5_000;

async function listOwnEntries(
  ports: Money & Identity & Machine & Call,
  app: OwnApp,
  { limit, cursor }: PageRequest,
): Promise<ShownStatement> {
  const account = await ports.accounts.read(app.accountId, ports.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  const newest = Math.min(account.lastSequence, Number(cursor ?? account.lastSequence));
  const oldest = Math.max(0, newest - MAX_SCANNED);
  const use = new UseOfApp(ports, app);
  const entries: StatementEntry[] = [];
  let next = newest >= 1 ? newest : 0;
  while (next > oldest && entries.length < limit) {
    const before = Math.max(oldest, next - CHUNK);
    const page = { limit: next - before, cursor: String(before) };
    const { items } = await ports.accounts.entries(app.accountId, page, ports.call);
    assert(items.length > 0, 'every entry up to the last of an account is in its ledger');
    for (const entry of items.toReversed()) {
      if (entries.length === limit) break;
      next = entry.sequence - 1;
      const { isOwn, name } = await use.of(entry.attribution?.credentialId ?? '');
      if (!isOwn) continue;
      entries.push({
        entry,
        availableChange: changeOf(entry),
        ...(name === undefined ? {} : { credentialName: name }),
      });
    }
  }
  return { entries, ...(next === 0 ? {} : { nextCursor: String(next) }) };
}
