import { accountErased, type Caller } from '../access/credential.js';
import { throwIfAborted } from '../cancellation.js';
import type { Call, Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid, isText } from '../fields.js';
import type { PageRequest } from '../paging.js';
import { nameOfCredential } from './creators.js';
import type { Account, Entry } from './account.js';
import type { AccountCommand } from './decide.js';

/** Both are stored in the ledger for ever, and in the account's own record first, which a store may bound. */
const MAX_OPERATION_ID = 255;
const MAX_REASON = 1_000;

export interface CreditOperation {
  readonly accountId: string;
  /** Idempotency id of the operation, 1 to 255 characters: a repeated operation has no effect. */
  readonly operationId: string;
  /** Whole credits; positive for a grant, either way but not 0 for an adjustment. */
  readonly credits: number;
  /** At most 1,000 characters; may be empty for a grant. */
  readonly reason: string;
}

/**
 * Grants credits to an account. Throws FIELD_INVALID, NOT_FOUND, and CONFLICT for an operation id used for something
 * else; `CallOver`, without any effect, if the call is over before the write.
 */
export function grantCredits(context: Money & Call, operation: CreditOperation): Promise<Account> {
  return operate(context, { kind: 'grant', ...operation });
}

/** Corrects what was issued, with a reason. Throws as `grantCredits` does, and CREDITS_INSUFFICIENT below zero. */
export async function adjustCredits(context: Money & Call, operation: CreditOperation): Promise<Account> {
  if (operation.reason.trim() === '') throw fieldInvalid('/reason', 'An adjustment needs a reason.');
  return operate(context, { kind: 'adjust', ...operation });
}

async function operate(
  context: Money & Call,
  operation: CreditOperation & Extract<AccountCommand, { kind: 'grant' | 'adjust' }>,
): Promise<Account> {
  const { accountId, kind, operationId, credits, reason } = operation;
  checkTexts(operation);
  throwIfAborted(context.call);
  const { refused } = await context.accountWriter.execute(accountId, { kind, operationId, credits, reason });
  if (refused === 'CREDITS_INSUFFICIENT')
    throw new ServiceError('CREDITS_INSUFFICIENT', 'The adjustment would take the balance below zero.');
  if (refused === 'OPERATION_DIFFERS')
    throw new ServiceError('CONFLICT', `The operation id ${operationId} was used before, for another amount or kind.`);
  if (refused === 'ACCOUNT_ERASED') throw accountErased(accountId);
  if (refused)
    throw fieldInvalid(
      '/credits',
      `A ${kind} must be a whole number of credits${kind === 'grant' ? ' above 0' : ', not 0'}, and keep all totals within 2^53 - 1.`,
    );
  const account = await context.accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  return account;
}

function checkTexts({ operationId, reason }: CreditOperation): void {
  const isId = operationId !== '' && operationId.length <= MAX_OPERATION_ID && isText(operationId);
  if (!isId)
    throw fieldInvalid(
      '/operation_id',
      `An operation id must have 1 to ${MAX_OPERATION_ID} characters, none of them NUL or half a character.`,
    );
  if (reason.length > MAX_REASON || !isText(reason))
    throw fieldInvalid('/reason', 'A reason must have at most 1,000 characters, none of them NUL or half a character.');
}

export interface Balance {
  readonly availableCredits: number;
  readonly currency: string;
}

/** Returns the credits that the account can still reserve. */
export async function getBalance(context: Money & Call, caller: Caller): Promise<Balance> {
  const account = await context.accounts.read(caller.accountId, context.call, 'totals');
  if (!account) throw new ServiceError('DEVELOPER_TOKEN_INVALID');
  return { availableCredits: account.available, currency: account.currency };
}

/** An entry of the ledger, as its account sees it. */
export interface StatementEntry {
  readonly entry: Entry;
  /** The change of the available credits. */
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

/**
 * A page of the ledger of the caller's account. The opening credits and the changes of all entries sum to the closing
 * credits, and the opening credits of a page are the closing credits of the next one. Entries that are written between
 * two pages change neither.
 */
export async function listEntries(
  ports: Money & Identity & Machine & Call,
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

/** The change of the available credits by an entry. */
export function changeOf({ from, to, credits }: Entry): number {
  if (to === 'available') return credits;
  return from === 'available' ? 0 - credits : 0;
}

async function namesOf(ports: Identity & Machine & Call, accountId: string, entries: readonly Entry[]) {
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
