import { type App, type Audience, type Scope, SCOPES } from '../access/credential.js';
import { derivedApp, readName } from '../access/manage.js';
import { throwIfAborted } from '../cancellation.js';
import type { Call, Identity, Machine } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
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
  readonly createdAt: number;
  /** Unless it is renewed. */
  readonly expiresAt: number;
  readonly endedAt?: number;
  /** Start of the UTC day of the last use. */
  readonly lastUsedAt?: number;
}

export interface NewGrant extends Pick<Grant, 'clientId' | 'clientName' | 'audience' | 'capCredits'> {
  readonly scopes: readonly string[];
}

const GRANT_KIND = 'grant';
const MAX_LISTED = 1_000;
const DAY_MS = 86_400_000;
const MAX_NAME = 100;

/**
 * Makes a new grant, and the client's App of this person if this is its first. Throws FIELD_INVALID for unknown scopes,
 * for an empty list, and for a cap that is not a whole number of credits.
 */
export async function createGrant(context: Identity & Machine & Call, person: Person, asked: NewGrant): Promise<Grant> {
  const scopes = SCOPES.filter((scope) => asked.scopes.includes(scope));
  if (scopes.length === 0 || scopes.length !== new Set(asked.scopes).size)
    throw fieldInvalid('/scopes', `Scopes must be among ${SCOPES.join(', ')}.`);
  const { capCredits } = asked;
  if (capCredits !== undefined && !(Number.isSafeInteger(capCredits) && capCredits >= 0))
    throw fieldInvalid('/cap', 'A cap must be a whole number of credits, not below 0.');
  const clientName = shownName(asked.clientName);
  const app = await appOf(context, person, { clientId: asked.clientId, clientName });
  const now = context.clock.now();
  const grant: Grant = {
    grantId: context.ids.uuid(),
    personId: person.personId,
    accountId: person.accountId,
    appId: app.appId,
    clientId: asked.clientId,
    clientName,
    scopes,
    audience: asked.audience,
    ...(capCredits === undefined ? {} : { capCredits }),
    createdAt: now,
    expiresAt: now + context.settings.grantIdleMs,
  };
  throwIfAborted(context.call);
  await context.artefacts.put(artefactOf(grant));
  return grant;
}

/** One App for each client and person, so that each client sees only what it made for that person. */
function appOf(
  context: Identity & Machine & Call,
  { personId, accountId }: Person,
  { clientId, clientName }: Pick<Grant, 'clientId' | 'clientName'>,
): Promise<App> {
  return derivedApp(context, `app of ${personId} ${clientId}`, { accountId, name: clientName });
}

/** The client's own name, cleaned up to be valid here. */
function shownName(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, ' ').trim();
  return readName(clean === '' ? 'unnamed client' : clean.slice(0, MAX_NAME));
}

/** The grant with this id, also when it has ended. */
export async function findGrant({ artefacts }: Identity, grantId: string): Promise<Grant | undefined> {
  const artefact = await artefacts.find({ kind: GRANT_KIND, id: grantId });
  return artefact ? grantOf(artefact) : undefined;
}

/** The grants of a person that have not ended, newest first, at most 1,000. */
export async function listGrants(
  { artefacts, clock }: Identity & Machine,
  personId: string,
): Promise<readonly Grant[]> {
  const now = clock.now();
  const found = await artefacts.listOwned(GRANT_KIND, personId, MAX_LISTED);
  return found.map(grantOf).filter(({ endedAt, expiresAt }) => endedAt === undefined && expiresAt > now);
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
  const asked = typeof scope === 'string' ? scope.split(' ') : [];
  return {
    grant,
    scopes: SCOPES.filter((known) => asked.includes(known) && grant.scopes.includes(known)),
    expiresAt: token.expiresAt,
    isRevoked: token.endedAt !== undefined || grant.endedAt !== undefined || !person || person.disabledAt !== undefined,
  };
}
