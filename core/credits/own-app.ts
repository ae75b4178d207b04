import type { Caller } from '../access/credential.js';
import { assert } from '../assert.js';
import type { Call, Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import type { PageRequest } from '../paging.js';
import { findGrant } from '../people/grants.js';
import { appUseOf, type Attribution, type Entry, othersIn } from './account.js';
import { SERVICE } from './creators.js';
import { changeOf, listEntries, type Statement, type StatementEntry } from './operate.js';

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

/**
 * What the program of an App may see of a use: all of it; the amounts and the model, because a person or a service acted in the
 * App; or nothing, because it belongs to others.
 */
export type View = 'whole' | 'amounts' | 'none';

/** How a credential's use counts for an App. */
interface Use {
  readonly isOwn: boolean;
  /** The name of the program itself. Keys of its App were named by others. */
  readonly name?: string;
}

const OF_OTHERS: Use = { isOwn: false };

/**
 * Decides what is of an App. Entries and rows of usage name their App; those of earlier releases do not, and are the App's if their
 * credential is: one of its connections, or a key that was made for it. Each credential is looked up once.
 */
export class UseOfApp {
  private readonly uses = new Map<string, Promise<Use>>();

  constructor(
    private readonly ports: Identity & Machine,
    private readonly app: OwnApp,
  ) {}

  async viewOf(appUse: string, credentialId: string): Promise<View> {
    const { appId } = this.app;
    if (appUse === appId) return 'whole';
    if (appUse === othersIn(appId)) return 'amounts';
    return appUse === '' && (await this.of(credentialId)).isOwn ? 'whole' : 'none';
  }

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

/** An entry as its reader may see it: what was withheld is missing from its attribution. */
export type ShownEntry = Omit<StatementEntry, 'entry'> & {
  readonly entry: Omit<Entry, 'attribution'> & { readonly attribution?: Partial<Attribution> };
};

/** A page of the ledger without what credits were available then, where entries of others are left out. */
export type ShownStatement = Pick<Statement, 'nextCursor'> &
  Partial<Pick<Statement, 'openingCredits' | 'closingCredits'>> & { readonly entries: readonly ShownEntry[] };

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
  const entries: ShownEntry[] = [];
  let next = newest >= 1 ? newest : 0;
  while (next > oldest && entries.length < limit) {
    const before = Math.max(oldest, next - CHUNK);
    const page = { limit: next - before, cursor: String(before) };
    const { items } = await ports.accounts.entries(app.accountId, page, ports.call);
    assert(items.length > 0, 'every entry up to the last of an account is in its ledger');
    for (const entry of items.toReversed()) {
      if (entries.length === limit) break;
      next = entry.sequence - 1;
      const shown = await shownEntry(use, entry);
      if (shown !== undefined) entries.push(shown);
    }
  }
  return { entries, ...(next === 0 ? {} : { nextCursor: String(next) }) };
}

async function shownEntry(use: UseOfApp, entry: Entry): Promise<ShownEntry | undefined> {
  const { attribution } = entry;
  if (attribution === undefined) return undefined;
  const { credentialId, modelKey } = attribution;
  const view = await use.viewOf(appUseOf(attribution), credentialId);
  if (view === 'none') return undefined;
  const availableChange = changeOf(entry);
  if (view === 'amounts') return { entry: { ...entry, attribution: { modelKey } }, availableChange };
  const { name } = await use.of(credentialId);
  return { entry, availableChange, ...(name === undefined ? {} : { credentialName: name }) };
}
