import { throwIfAborted } from '../cancellation.js';
import type { Call, Identity, Machine, Money, Work } from '../context.js';
import type { Account } from '../credits/account.js';
import type { AccountCommand } from '../credits/decide.js';
import { ERASED_NAME } from '../erasure/erasure.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid, isText } from '../fields.js';
import { derivedUuid, isUuid } from '../ids.js';
import { matchingPage, type Page, type PageRequest } from '../paging.js';
import { readSignInEmail } from '../people/manage-people.js';
import {
  accountErased,
  API_KEY_BYTES,
  type ApiKey,
  type App,
  DEFAULT_SCOPES,
  formatApiKey,
  type Scope,
  SCOPES,
  secretHint,
} from './credential.js';

const MAX_NAME = 100;
const MAX_TRIES = 5;
const END_OF_DATES = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * The operators' actions on access. Every method throws FIELD_INVALID, NOT_FOUND or CONFLICT with one sentence, and
 * `CallOver` before it writes for a call that is over.
 */
export async function createAccount(
  context: Money & Machine & Call,
  { name, currency = 'credits' }: { readonly name: string; readonly currency?: string },
): Promise<Account> {
  const account: Account = {
    accountId: context.ids.uuid(),
    name: readName(name),
    currency: readName(currency, '/currency'),
    createdAt: context.clock.now(),
    version: 0,
    issued: 0,
    available: 0,
    reserved: 0,
    spent: 0,
    lastSequence: 0,
    holds: new Map(),
  };
  throwIfAborted(context.call);
  if ((await context.accounts.create(account)) === 'exists') throw new ServiceError('CONFLICT');
  return account;
}

export async function createApp(
  context: Money & Identity & Machine & Call,
  { accountId, name }: { readonly accountId: string; readonly name: string },
): Promise<App> {
  await requireUsableAccount(context, accountId);
  const app: App = { appId: context.ids.uuid(), accountId, name: readName(name), createdAt: context.clock.now() };
  throwIfAborted(context.call);
  if ((await context.credentials.insertApp(app)) === 'exists') throw new ServiceError('CONFLICT');
  return app;
}

/**
 * Renames an App. Throws NOT_FOUND, FIELD_INVALID, and CONFLICT for an App of an account that was erased, also while the
 * name was being written: it is then removed again.
 */
export async function renameApp(
  context: Money & Identity & Call,
  { appId, name }: { readonly appId: string; readonly name: string },
): Promise<App> {
  const { credentials, call } = context;
  const app = await credentials.readApp(appId, call);
  if (!app) throw new ServiceError('NOT_FOUND', `There is no App ${appId}.`);
  const next = { ...app, name: readName(name) };
  await requireUsableAccount(context, app.accountId);
  throwIfAborted(call);
  await credentials.renameApp(appId, next.name);
  const account = await context.accounts.read(app.accountId, undefined, 'totals');
  if (account?.erasedAt === undefined) return next;
  await credentials.renameApp(appId, ERASED_NAME);
  throw accountErased(app.accountId);
}

/** Throws NOT_FOUND, and CONFLICT for an account that was erased. */
async function requireUsableAccount({ accounts, call }: Money & Call, accountId: string): Promise<void> {
  const account = await accounts.read(accountId, call, 'totals');
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  if (account.erasedAt !== undefined) throw accountErased(accountId);
}

/** An App whose id follows from the text `of`, so that no concurrent requests make two of them. */
export async function derivedApp(
  { credentials, digests, clock, call }: Identity & Machine & Call,
  of: string,
  { accountId, name }: Pick<App, 'accountId' | 'name'>,
): Promise<App> {
  const appId = derivedUuid(digests.keyed(of));
  const known = await credentials.readApp(appId, call);
  if (known) return known;
  const app: App = { appId, accountId, name, createdAt: clock.now() };
  throwIfAborted(call);
  await credentials.insertApp(app);
  return app;
}

export interface NewKey {
  readonly appId: string;
  readonly name: string;
  /** All scopes when absent. */
  readonly scopes?: readonly string[];
  readonly expiresAt?: number;
  /** Whole credits, 0 to 2^53 − 1; no cap when absent. */
  readonly monthlyCap?: number;
}

/** The key and its secret. The secret is nowhere else, now or later, but for its hint. */
export async function createKey(
  context: Money & Identity & Machine & Call,
  request: NewKey,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  const app = await context.credentials.readApp(request.appId, context.call);
  if (!app) throw new ServiceError('NOT_FOUND', `There is no App ${request.appId}.`);
  await requireUsableAccount(context, app.accountId);
  const now = context.clock.now();
  if (request.expiresAt !== undefined && request.expiresAt <= now)
    throw fieldInvalid('/expires_at', 'The expiry of a new key must lie in the future.');
  checkExpiry(request.expiresAt);
  checkCap(request.monthlyCap);
  const secret = formatApiKey(context.ids.random(API_KEY_BYTES));
  const key: ApiKey = {
    keyId: context.ids.uuid(),
    accountId: app.accountId,
    appId: app.appId,
    version: 1,
    name: readName(request.name),
    digest: context.digests.keyed(secret),
    hint: secretHint(secret),
    scopes: readScopes(request.scopes),
    ...(request.monthlyCap === undefined ? {} : { monthlyCap: request.monthlyCap }),
    createdAt: now,
    ...(request.expiresAt === undefined ? {} : { expiresAt: request.expiresAt }),
  };
  throwIfAborted(context.call);
  if ((await context.credentials.insertKey(key)) === 'exists') throw new ServiceError('CONFLICT');
  return { key, secret };
}

/** Revokes permanently. Revoking again changes nothing. Every process refuses the key within 5 seconds. */
export function revokeKey(context: Identity & Machine & Call, keyId: string): Promise<ApiKey> {
  return changeKey(context, keyId, (key) =>
    key.revokedAt === undefined ? { ...key, revokedAt: context.clock.now() } : key,
  );
}

/** Sets when the key ends by itself; a time that has passed ends it now. A revoked key stays revoked. */
export async function expireKey(context: Identity & Call, keyId: string, expiresAt: number): Promise<ApiKey> {
  checkExpiry(expiresAt);
  return changeKey(context, keyId, (key) => ({ ...key, expiresAt }));
}

/** Throws NOT_FOUND, and CONFLICT for a key that others change all the time. */
export async function changeKey(
  context: Identity & Call,
  keyId: string,
  edit: (key: ApiKey) => ApiKey,
): Promise<ApiKey> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const key = await context.credentials.findKey({ keyId });
    if (!key) throw new ServiceError('NOT_FOUND', `There is no key ${keyId}.`);
    const edited = edit(key);
    if (edited === key) return key;
    const next = { ...edited, version: key.version + 1 };
    throwIfAborted(context.call);
    if ((await context.credentials.replaceKey(next, key.version)) === 'applied') return next;
  }
  throw new ServiceError('CONFLICT');
}

/** Later times can neither be shown as dates nor kept by every store. */
function checkExpiry(expiresAt: number | undefined): void {
  if (expiresAt !== undefined && !(expiresAt <= END_OF_DATES))
    throw fieldInvalid('/expires_at', 'The expiry of a key must lie before the year 10000.');
}

function checkCap(monthlyCap: number | undefined): void {
  if (monthlyCap !== undefined && !(Number.isSafeInteger(monthlyCap) && monthlyCap >= 0))
    throw fieldInvalid('/monthly_cap', 'A cap must be a whole number of credits, not below 0.');
}

export function readName(name: string, pointer = '/name'): string {
  const trimmed = name.trim();
  if (trimmed === '' || trimmed.length > MAX_NAME || /[\p{Cc}\p{Surrogate}]/u.test(trimmed)) {
    throw fieldInvalid(pointer, `A name must have 1 to ${MAX_NAME} characters, none of them a control character.`);
  }
  return trimmed;
}

function readScopes(scopes: readonly string[] = DEFAULT_SCOPES): Scope[] {
  const unknown = scopes.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined || scopes.length === 0)
    throw fieldInvalid('/scopes', `Scopes must be among ${SCOPES.join(', ')}.`);
  return SCOPES.filter((known) => scopes.includes(known));
}

/**
 * The operators' actions on an account other than on its credits; each throws NOT_FOUND, and `CallOver` before it
 * writes for a call that is over.
 *
 * Suspends until the account is resumed: once this has returned no generation is accepted, and every process refuses
 * the account's keys within 5 seconds. Generations accepted before continue and are charged. Suspending again changes
 * nothing.
 */
export function suspendAccount(context: Money & Call, accountId: string): Promise<Account> {
  return change(context, accountId, { kind: 'suspend' });
}

/**
 * Ends a suspension: keys that are not revoked or expired open the account again within 5 seconds. Again, it changes
 * nothing.
 */
export function resumeAccount(context: Money & Call, accountId: string): Promise<Account> {
  return change(context, accountId, { kind: 'resume' });
}

/** Renames an account. Throws FIELD_INVALID for an invalid name. */
export async function renameAccount(context: Money & Call, accountId: string, name: string): Promise<Account> {
  return change(context, accountId, { kind: 'rename', name: readName(name) });
}

async function change(
  context: Money & Call,
  accountId: string,
  command: Extract<AccountCommand, { kind: 'suspend' | 'resume' | 'rename' }>,
): Promise<Account> {
  throwIfAborted(context.call);
  const { refused } = await context.accountWriter.execute(accountId, command);
  if (refused === 'ACCOUNT_ERASED') throw accountErased(accountId);
  const account = await context.accounts.read(accountId);
  if (!account) throw new ServiceError('NOT_FOUND', `There is no account ${accountId}.`);
  return account;
}

const MAX_SEARCH = 254;

/**
 * Finds accounts for an operator: by their id, or that of an App, a key, a person or a generation of theirs, by the
 * e-mail address of a person, or by a part of their name in any case. Names are searched in a bounded number of reads,
 * so a page may hold fewer than requested, or none, although there are more. Throws FIELD_INVALID.
 */
export async function findAccounts(
  ports: Money & Work & Identity & Call,
  search: string,
  page: PageRequest,
): Promise<Page<Account>> {
  const text = search.trim();
  if (text === '' || text.length > MAX_SEARCH || !isText(text))
    throw fieldInvalid('/search', `A search must have 1 to ${MAX_SEARCH} characters.`);
  const accountId = isUuid(text) ? await accountOf(ports, text.toLowerCase()) : await accountOfEmail(ports, text);
  if (accountId !== undefined || isUuid(text)) {
    const account = accountId === undefined ? null : await ports.accounts.read(accountId, ports.call);
    return { items: account === null ? [] : [account] };
  }
  const part = text.toLowerCase();
  return matchingPage(
    (asked) => ports.accounts.list(asked, ports.call),
    ({ name }) => name.toLowerCase().includes(part),
    page,
  );
}

/** Finds the account that an id belongs to. An id is unique across all kinds of records. */
async function accountOf(
  { accounts, credentials, people, generations, call }: Money & Work & Identity & Call,
  id: string,
) {
  if (await accounts.read(id, call, 'totals')) return id;
  const thing =
    (await credentials.readApp(id, call)) ??
    (await credentials.findKey({ keyId: id })) ??
    (await people.read(id, call)) ??
    (await generations.read(id, call));
  return thing?.accountId;
}

async function accountOfEmail({ people }: Identity, text: string): Promise<string | undefined> {
  return text.includes('@') ? (await people.findByEmail(readSignInEmail(text)))?.accountId : undefined;
}
