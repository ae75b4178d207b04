import { type App, type Audience, DEFAULT_SCOPES, type Scope, SCOPES } from '../access/credential.js';
import { derivedApp, readName } from '../access/manage.js';
import { throwIfAborted } from '../cancellation.js';
import type { Call, Identity, Machine } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { derivedUuid } from '../ids.js';
import { pagesOf } from '../paging.js';
import { startOfDay } from '../settings.js';
import type { Artefact, Person } from './person.js';
import { secretDigest } from './secrets.js';

/** A person's permission for an OAuth client to act for them, until one of the two ends it or it is not used any more. */
export interface Grant {
  /** Also the credential id of every token of the grant: rate limits and caps are the grant's. */
  readonly grantId: string;
  readonly personId: string;
  readonly accountId: string;
  /** The App of this client and this person. */
  readonly appId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: readonly Scope[];
  readonly audience: Audience;
  /** Whole credits that the grant may spend in its whole life; absent for one without a cap. */
  readonly capCredits?: number;
  /** The person's `grantEpoch` when they allowed it: it ends with that epoch. */
  readonly epoch?: string;
  readonly createdAt: number;
  /** Unless it is renewed. */
  readonly expiresAt: number;
  readonly endedAt?: number;
  /** Start of the UTC day of the last use. */
  readonly lastUsedAt?: number;
}

export interface NewGrant extends Pick<Grant, 'clientId' | 'clientName' | 'audience' | 'capCredits'> {
  /** The scopes that the client asked for, as `askedScopes` reads them. */
  readonly asked: readonly Scope[];
  /** What the person ticked. Anything that was not asked for is left out. */
  readonly ticked: readonly string[];
  /** The request that the person answers. Answering it again replaces their grant, rather than making another one. */
  readonly requestId?: string;
}

/** What a client asks for, and whether that is only the default because it named no scope that exists. */
export interface AskedScopes {
  readonly scopes: readonly Scope[];
  readonly isDefault: boolean;
}

/** Reads the scopes of a request, separated by spaces (RFC 6749, 3.3). Unknown ones are left out. */
export function askedScopes(named: string | undefined): AskedScopes {
  const scopes = knownScopes(named);
  return scopes.length === 0 ? { scopes: DEFAULT_SCOPES, isDefault: true } : { scopes, isDefault: false };
}

export function knownScopes(named = ''): readonly Scope[] {
  const names = named.split(' ');
  return SCOPES.filter((scope) => names.includes(scope));
}

const GRANT_KIND = 'grant';
const MAX_LISTED = 1_000;
const DAY_MS = 86_400_000;
const MAX_NAME = 100;

/**
 * Makes a new grant, and the client's App of this person if this is its first. `person` is the one whom the session has
 * found: a grant of somebody who was reset meanwhile has ended already. Throws FIELD_INVALID if nothing that was asked
 * for was ticked, and for a cap that is not a whole number of credits; NOT_FOUND if the person has answered the request
 * before, and the grant was ended since.
 */
export async function createGrant(
  context: Identity & Machine & Call,
  person: Person,
  wanted: NewGrant,
): Promise<Grant> {
  const scopes = SCOPES.filter((scope) => wanted.asked.includes(scope) && wanted.ticked.includes(scope));
  if (scopes.length === 0) throw fieldInvalid('/scope', 'Tick what the program may do, or refuse it.');
  const { capCredits } = wanted;
  if (capCredits !== undefined && !(Number.isSafeInteger(capCredits) && capCredits >= 0))
    throw fieldInvalid('/cap', 'A cap must be a whole number of credits, not below 0.');
  const clientName = shownName(wanted.clientName);
  const app = await appOf(context, person, { clientId: wanted.clientId, clientName });
  const now = context.clock.now();
  const grant: Grant = {
    grantId: grantIdOf(context, person, wanted.requestId),
    personId: person.personId,
    accountId: person.accountId,
    appId: app.appId,
    clientId: wanted.clientId,
    clientName,
    scopes,
    audience: wanted.audience,
    ...(capCredits === undefined ? {} : { capCredits }),
    ...(person.grantEpoch === undefined ? {} : { epoch: person.grantEpoch }),
    createdAt: now,
    expiresAt: now + context.settings.grantIdleMs,
  };
  throwIfAborted(context.call);
  if ((await context.artefacts.put(artefactOf(grant))) === 'ended')
    throw new ServiceError('NOT_FOUND', 'This connection was ended. Go back to the program and start again.');
  return grant;
}

/** Follows from the person and the request, so that no concurrent answers make two grants. Drawn without a request. */
function grantIdOf({ ids, digests }: Machine, { personId }: Person, requestId: string | undefined): string {
  return requestId === undefined ? ids.uuid() : derivedUuid(digests.keyed(`grant of ${personId} ${requestId}`));
}

/** Ends the grant that the person has made by an earlier answer to a request, if there is one: they refuse it now. */
export async function refuseRequest(ports: Identity & Machine, person: Person, requestId: string): Promise<void> {
  const grant = await findGrant(ports, grantIdOf(ports, person, requestId));
  if (grant) await endGrant(ports, grant.grantId);
}

/** One App for each client and person, so that each client sees only what it made for that person. */
function appOf(
  context: Identity & Machine & Call,
  { personId, accountId }: Person,
  { clientId, clientName }: Pick<Grant, 'clientId' | 'clientName'>,
): Promise<App> {
  return derivedApp(context, `app of ${personId} ${clientId}`, { accountId, name: clientName });
}

/**
 * The name that a client gave itself, as people are shown it: without line breaks and other control characters, and
 * without format and invisible characters, which could reverse or hide parts of the text around it. At most 100 UTF-16
 * code units.
 */
export function shownName(text: string): string {
  const clean = text
    .replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Surrogate}]/gu, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  // A character beyond the basic plane is not cut in half.
  const short = clean
    .slice(0, MAX_NAME)
    .replace(/\p{Surrogate}$/u, '')
    .trim();
  return readName(short === '' ? 'unnamed program' : short);
}

/** The grant with this id, also when it has ended. */
export async function findGrant({ artefacts }: Identity, grantId: string): Promise<Grant | undefined> {
  const artefact = await artefacts.find({ kind: GRANT_KIND, id: grantId });
  return artefact ? grantOf(artefact) : undefined;
}

/** The grant with this id; undefined once it has ended or expired, and while its person may not sign in. */
export async function findLivingGrant(ports: Identity & Machine, grantId: string): Promise<Grant | undefined> {
  const grant = await findGrant(ports, grantId);
  if (grant === undefined || grant.endedAt !== undefined || grant.expiresAt <= ports.clock.now()) return undefined;
  const person = await ports.people.read(grant.personId);
  return isAllowedBy(person, grant) ? grant : undefined;
}

/** Whether the person may sign in, and has neither been reset nor changed their password since they allowed the grant. */
function isAllowedBy(person: Person | null, { epoch }: Grant): boolean {
  return person !== null && person.disabledAt === undefined && person.grantEpoch === epoch;
}

/** The grants of a person that have not ended, newest first, at most 1,000. */
export async function listGrants(
  { artefacts, clock }: Identity & Machine,
  { personId, grantEpoch }: Pick<Person, 'personId' | 'grantEpoch'>,
): Promise<readonly Grant[]> {
  const now = clock.now();
  const found = await artefacts.listOwned(GRANT_KIND, personId, MAX_LISTED);
  return found
    .map(grantOf)
    .filter(({ endedAt, expiresAt, epoch }) => endedAt === undefined && expiresAt > now && epoch === grantEpoch);
}

/** A grant, and who allowed it. */
export interface AccountGrant {
  readonly grant: Grant;
  readonly person: Person;
}

const PEOPLE_PER_PAGE = 100;

/**
 * The grants of all people of an account that have not ended, newest first, at most 1,000. Those of a person who may not
 * sign in are left out, as they cannot be used.
 */
export async function listAccountGrants(
  ports: Identity & Machine & Call,
  accountId: string,
): Promise<readonly AccountGrant[]> {
  const found: AccountGrant[] = [];
  for await (const people of pagesOf((page) => ports.people.list(accountId, page, ports.call), PEOPLE_PER_PAGE))
    for (const person of people.filter(({ disabledAt }) => disabledAt === undefined))
      for (const grant of await listGrants(ports, person)) found.push({ grant, person });
  return found.toSorted((a, b) => b.grant.createdAt - a.grant.createdAt).slice(0, MAX_LISTED);
}

/** The Apps of the programs that a person has connected, also of those that are disconnected, while they are known. */
export async function connectedApps({ artefacts }: Identity, personId: string): Promise<ReadonlySet<string>> {
  const found = await artefacts.listOwned(GRANT_KIND, personId, MAX_LISTED);
  return new Set(found.map((artefact) => grantOf(artefact).appId));
}

/**
 * Ends a grant and every token of it, also those that are made at this moment. Every process refuses them within 5
 * seconds. Throws NOT_FOUND for a grant of another person.
 */
export async function disconnect(ports: Identity & Machine, personId: string, grantId: string): Promise<void> {
  const grant = await findGrant(ports, grantId);
  if (grant?.personId !== personId) throw new ServiceError('NOT_FOUND', 'There is no such connection.');
  await endGrant(ports, grantId);
}

/** Same as `disconnect`, for the OAuth server itself. */
export async function endGrant({ artefacts, clock, settings }: Identity & Machine, grantId: string): Promise<void> {
  const now = clock.now();
  await artefacts.endGroup(grantId, now, now + settings.grantIdleMs + DAY_MS);
}

/** Ends every grant of a person, of any epoch. */
export async function endGrants(ports: Identity & Machine, personId: string): Promise<void> {
  for (const { id, endedAt } of await ports.artefacts.listOwned(GRANT_KIND, personId, MAX_LISTED))
    if (endedAt === undefined) await endGrant(ports, id);
}

/** Postpones the end of a grant that is used, and writes the day of its use. A lost write is of no harm. */
export async function noteGrantUse({ artefacts, clock, settings }: Identity & Machine, grant: Grant): Promise<void> {
  const now = clock.now();
  const today = startOfDay(now);
  if (grant.endedAt !== undefined || (grant.lastUsedAt ?? 0) >= today) return;
  await artefacts.put(artefactOf({ ...grant, lastUsedAt: today, expiresAt: now + settings.grantIdleMs }));
}

function artefactOf({ grantId, personId, createdAt, expiresAt, endedAt: _endedAt, ...data }: Grant): Artefact {
  return {
    kind: GRANT_KIND,
    id: grantId,
    group: grantId,
    owner: personId,
    data: { ...data, scopes: [...data.scopes] },
    createdAt,
    expiresAt,
    removeAt: expiresAt + DAY_MS,
  };
}

/** The store keeps what `artefactOf` gave it. */
function grantOf({ id, owner = '', data, createdAt, expiresAt, endedAt }: Artefact): Grant {
  return {
    ...(data as unknown as Omit<Grant, 'grantId' | 'personId' | 'createdAt' | 'expiresAt' | 'endedAt'>),
    grantId: id,
    personId: owner,
    createdAt,
    expiresAt,
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}

export const ACCESS_TOKEN_PREFIX = 'svc_oauth_';
export const ACCESS_TOKEN_KIND = 'access-token';
const SHAPE = /^svc_oauth_[A-Za-z0-9_-]{43}$/;

/** An OAuth access token as it is found: what it may do, and when it ended or ends. */
export interface FoundAccessToken {
  readonly grant: Grant;
  /** Those of the token, which may be fewer than the grant's. */
  readonly scopes: readonly Scope[];
  readonly expiresAt: number;
  /** Whether the token, its grant or its person was ended by somebody. */
  readonly isRevoked: boolean;
}

/** Whether the text could be an access token, without a read of the store. */
export function isAccessTokenShaped(text: string): boolean {
  return SHAPE.test(text);
}

/** Undefined for a token that was never made, or ended so long ago that it was removed. */
export async function findAccessToken(
  ports: Identity & Machine,
  secret: string,
): Promise<FoundAccessToken | undefined> {
  const id = secretDigest(ports, ACCESS_TOKEN_KIND, secret);
  const token = await ports.artefacts.find({ kind: ACCESS_TOKEN_KIND, id });
  if (token?.group === undefined) return undefined;
  const grant = await findGrant(ports, token.group);
  if (!grant) return undefined;
  const person = await ports.people.read(grant.personId);
  const { scope } = token.data;
  return {
    grant,
    scopes: knownScopes(typeof scope === 'string' ? scope : '').filter((known) => grant.scopes.includes(known)),
    expiresAt: token.expiresAt,
    isRevoked: token.endedAt !== undefined || grant.endedAt !== undefined || !isAllowedBy(person, grant),
  };
}
