import { accountSuspended, type App, type Caller, SCOPES } from '../access/credential.js';
import type { Call, Identity, Machine, Money } from '../context.js';
import { ServiceError } from '../errors.js';
import { isDerivedUuid, isUuid } from '../ids.js';
import { connectedApps } from './grants.js';
import { changePerson, requireEpoch } from './manage-people.js';
import { appsForKeys, consoleApp } from './own-keys.js';
import type { Artefact, Person } from './person.js';
import { findOwned, putSecret, secretKey } from './secrets.js';

/** How a person proved who they are. */
export const SIGN_IN_METHODS = ['password', 'link', 'passkey', 'provider'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** A person's time in a browser, from sign-in to its end. */
export interface Session {
  /** Names the session in lists; its secret cannot be computed from it. */
  readonly sessionId: string;
  readonly createdAt: number;
  /** When the person has proved who they are: at the sign-in, or before it at another provider. */
  readonly authenticatedAt: number;
  readonly expiresAt: number;
  readonly method: SignInMethod;
  /** The browser's own description of itself; shown as text. */
  readonly userAgent: string;
}

export interface NewSession extends Pick<Session, 'method' | 'userAgent'> {
  /** Now when absent. */
  readonly authenticatedAt?: number;
}

export interface SignedIn {
  readonly person: Person;
  readonly session: Session;
}

const KIND = 'session';
const MAX_USER_AGENT = 200;
const MAX_LISTED = 100;
/** Ended sessions are read too, and not listed. */
const MAX_READ = 1_000;
/** How long an ended session is kept, so that it is not taken for one that never was. */
const KEPT_MS = 86_400_000;
const RECENT_MS = 900_000;

/** Begins a session. The secret is in the answer and nowhere else. */
export async function beginSession(
  ports: Identity & Machine,
  person: Person,
  { method, userAgent, ...proof }: NewSession,
): Promise<SignedIn & { readonly secret: string }> {
  const { clock, settings } = ports;
  const authenticatedAt = Math.min(clock.now(), proof.authenticatedAt ?? Infinity);
  const { secret, artefact } = await putSecret(ports, {
    kind: KIND,
    owner: person.personId,
    data: { epoch: person.sessionEpoch, method, authenticatedAt, userAgent: userAgent.slice(0, MAX_USER_AGENT) },
    lifeMs: Math.min(settings.sessionIdleMs, settings.sessionMaxMs),
    keptMs: KEPT_MS,
  });
  return { person, session: sessionOf(artefact), secret };
}

/**
 * Finds the person who is signed in with this secret. Reads the stores each time, so that sign-out, a new password and
 * disabling take effect in every process at once. Undefined for a session that has ended. Using a session postpones its
 * end, up to its maximum.
 */
export async function findSession(ports: Identity & Machine, secret: string): Promise<SignedIn | undefined> {
  const { artefacts, clock, settings } = ports;
  const open = await findOwned(ports, secretKey(ports, KIND, secret));
  if (open === undefined) return undefined;
  const { artefact, person } = open;
  const now = clock.now();
  const expiresAt = Math.min(now + settings.sessionIdleMs, artefact.createdAt + settings.sessionMaxMs);
  // A write for each request would be many; a twentieth of the idle time is precise enough.
  if (expiresAt - artefact.expiresAt <= settings.sessionIdleMs / 20) return { person, session: sessionOf(artefact) };
  const next = { ...artefact, expiresAt, removeAt: expiresAt + KEPT_MS };
  return (await artefacts.put(next)) === 'kept' ? { person, session: sessionOf(next) } : undefined;
}

/** Finds the person of a session without counting as its use, for a page that may be left open and unattended. */
export async function lookAtSession(ports: Identity & Machine, secret: string): Promise<Person | undefined> {
  return (await findOwned(ports, secretKey(ports, KIND, secret)))?.person;
}

/** Whether the person proved who they are so lately that the session shows that they are there. */
export function isRecentSignIn({ clock }: Identity & Machine, { authenticatedAt }: Session): boolean {
  return clock.now() - authenticatedAt <= RECENT_MS;
}

/**
 * For changes to how a person signs in: whoever finds a browser open must neither keep access nor lock its person out.
 * Throws RECENT_SIGN_IN_REQUIRED for a session whose person proved who they are more than 15 minutes ago, however much
 * it was used since.
 */
export function requireRecentSignIn(ports: Identity & Machine, session: Session): void {
  if (!isRecentSignIn(ports, session)) throw new ServiceError('RECENT_SIGN_IN_REQUIRED');
}

/** Ends one session of a person. No effect on sessions of others. */
export async function endSession(
  { artefacts, clock }: Identity & Machine,
  { personId }: Person,
  sessionId: string,
): Promise<void> {
  const artefact = await artefacts.find({ kind: KIND, id: sessionId });
  if (artefact?.owner === personId) await artefacts.end(artefact, clock.now());
}

/**
 * Ends all other sessions of a person and keeps this one in a new epoch. Throws SESSION_REQUIRED if this one has ended
 * in the meantime; it also ends if the process does before this returns.
 */
export async function endOtherSessions(
  ports: Identity & Machine & Call,
  { person: { personId, sessionEpoch }, session: { sessionId } }: SignedIn,
): Promise<void> {
  const { sessionEpoch: epoch } = await changePerson(ports, personId, (person) => {
    requireEpoch(person, sessionEpoch);
    return { ...person, sessionEpoch: ports.ids.uuid() };
  });
  const artefact = await ports.artefacts.find({ kind: KIND, id: sessionId });
  if (artefact?.owner === personId) await ports.artefacts.put({ ...artefact, data: { ...artefact.data, epoch } });
}

/** A person's sessions that have not ended, newest first, at most 100. */
export async function listSessions(
  { artefacts, clock }: Identity & Machine,
  { personId, sessionEpoch }: Person,
): Promise<readonly Session[]> {
  const now = clock.now();
  const found = await artefacts.listOwned(KIND, personId, MAX_READ);
  return found
    .filter(
      ({ endedAt, expiresAt, data }) => endedAt === undefined && expiresAt > now && data['epoch'] === sessionEpoch,
    )
    .slice(0, MAX_LISTED)
    .map(sessionOf);
}

function sessionOf({ id, createdAt, expiresAt, data }: Artefact): Session {
  return {
    sessionId: id,
    createdAt,
    // Sessions of before have none.
    authenticatedAt: (data['authenticatedAt'] as number | undefined) ?? createdAt,
    expiresAt,
    method: data['method'] as SignInMethod,
    userAgent: data['userAgent'] as string,
  };
}

/** `console`: what people do on the account page. `keys`: one that keys are made for. `program`: of a connected one. */
export type UsableAppKind = 'console' | 'keys' | 'program';

export interface UsableApp {
  readonly app: App;
  readonly kind: UsableAppKind;
}

/**
 * The Apps of their account that a person may use, that of the account page first: those that keys are made for, which
 * everybody in the account may use, and those of the programs that this person has connected, which nobody else may
 * use.
 */
export async function usableApps(ports: Identity & Machine & Call, person: Person): Promise<readonly UsableApp[]> {
  const own = await consoleApp(ports, person.accountId);
  const { defaultApp, others } = await appsForKeys(ports, person.accountId);
  const programs: App[] = [];
  for (const appId of await connectedApps(ports, person.personId)) {
    const app = await ports.credentials.readApp(appId, ports.call);
    if (app?.accountId === person.accountId) programs.push(app);
  }
  return [
    { app: own, kind: 'console' },
    ...[defaultApp, ...others].map((app) => ({ app, kind: 'keys' }) as const),
    ...programs.toSorted((a, b) => a.createdAt - b.createdAt).map((app) => ({ app, kind: 'program' }) as const),
  ];
}

/**
 * A person as the caller of an App: their own id is the credential, with every scope and no cap. Throws NOT_FOUND for an
 * App that is not among `usableApps`, and DEVELOPER_TOKEN_REVOKED for a suspended account, as its keys are refused.
 */
export async function callerOfPerson(
  ports: Identity & Machine & Call & Money,
  person: Person,
  asked: string,
): Promise<Caller> {
  const appId = asked.toLowerCase();
  if (!isUuid(asked) || !(await isUsable(ports, person, appId)))
    throw new ServiceError('NOT_FOUND', 'There is no such App.');
  await requireNotSuspended(ports, person);
  return { accountId: person.accountId, appId, credentialId: person.personId, actor: 'person', scopes: SCOPES };
}

/** Throws DEVELOPER_TOKEN_REVOKED. */
export async function requireNotSuspended(
  { accounts, call }: Money & Call,
  { accountId }: Pick<Person, 'accountId'>,
): Promise<void> {
  const account = await accounts.read(accountId, call, 'totals');
  if (account?.suspendedAt !== undefined) throw accountSuspended();
}

/** Avoids a list of all Apps if the id alone shows the owner. */
async function isUsable(ports: Identity & Machine & Call, person: Person, appId: string): Promise<boolean> {
  const app = await ports.credentials.readApp(appId, ports.call);
  if (app?.accountId !== person.accountId) return false;
  if (!isDerivedUuid(appId)) return true;
  if ((await connectedApps(ports, person.personId)).has(appId)) return true;
  return (await usableApps(ports, person)).some((usable) => usable.app.appId === appId);
}
