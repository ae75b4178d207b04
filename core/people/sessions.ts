import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { Artefact } from './artefact.js';
import { changePerson, requireEpoch } from './manage-people.js';
import { secretDigest, secretText } from './secrets.js';
import type { Person } from './person.js';

/** How a person proved who they are. */
export type SignInMethod = 'password' | 'link' | 'passkey' | 'provider';

/** A person's time in a browser, from sign-in to its end. */
export interface Session {
  /** Names the session in lists; its secret cannot be computed from it. */
  readonly sessionId: string;
  readonly createdAt: number;
  /** When the person has proved who they are: at the sign-in, or before it at another provider. */
  readonly authenticatedAt: number;
  readonly expiresAt: number;
  readonly method: SignInMethod;
  /** What the browser says it is; shown as text. */
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

type Ports = Pick<Context, 'people' | 'artefacts' | 'digests' | 'ids' | 'clock' | 'settings'>;

const KIND = 'session';
const SECRET_BYTES = 32;
const MAX_USER_AGENT = 200;
const MAX_LISTED = 100;
/** Ended sessions are read too, and not listed. */
const MAX_READ = 1_000;
/** How long an ended session is kept, so that it is not taken for one that never was. */
const KEPT_MS = 86_400_000;
const RECENT_MS = 900_000;

/** Begins a session. The secret is in the answer and nowhere else. */
export async function beginSession(
  ports: Ports,
  person: Person,
  { method, userAgent, ...proof }: NewSession,
): Promise<SignedIn & { readonly secret: string }> {
  const { clock, settings, ids } = ports;
  const secret = secretText(ids.random(SECRET_BYTES));
  const now = clock.now();
  const authenticatedAt = Math.min(now, proof.authenticatedAt ?? now);
  const expiresAt = now + Math.min(settings.sessionIdleMs, settings.sessionMaxMs);
  const artefact: Artefact = {
    kind: KIND,
    id: digestOf(ports, secret),
    owner: person.personId,
    data: { epoch: person.sessionEpoch, method, authenticatedAt, userAgent: userAgent.slice(0, MAX_USER_AGENT) },
    createdAt: now,
    expiresAt,
    removeAt: expiresAt + KEPT_MS,
  };
  await ports.artefacts.put(artefact);
  return { person, session: sessionOf(artefact), secret };
}

/**
 * Who is signed in with this secret, read from the stores each time: sign-out, another password and disabling count in
 * every process at once. Undefined for a session that has ended. Using a session postpones its end, up to its maximum.
 */
export async function findSession(ports: Ports, secret: string): Promise<SignedIn | undefined> {
  const { artefacts, clock, settings } = ports;
  const open = await readOpen(ports, secret);
  if (open === undefined) return undefined;
  const { artefact, person } = open;
  const now = clock.now();
  const expiresAt = Math.min(now + settings.sessionIdleMs, artefact.createdAt + settings.sessionMaxMs);
  // A write for each request would be many; a twentieth of the idle time is precise enough.
  if (expiresAt - artefact.expiresAt <= settings.sessionIdleMs / 20) return { person, session: sessionOf(artefact) };
  const next = { ...artefact, expiresAt, removeAt: expiresAt + KEPT_MS };
  return (await artefacts.put(next)) === 'kept' ? { person, session: sessionOf(next) } : undefined;
}

/** Whose session this still is, without counting as its use: for what a page leaves open and nobody may be looking at. */
export async function lookAtSession(
  ports: Pick<Ports, 'artefacts' | 'people' | 'digests' | 'clock'>,
  secret: string,
): Promise<Person | undefined> {
  return (await readOpen(ports, secret))?.person;
}

async function readOpen(
  ports: Pick<Ports, 'artefacts' | 'people' | 'digests' | 'clock'>,
  secret: string,
): Promise<{ readonly artefact: Artefact; readonly person: Person } | undefined> {
  const artefact = await ports.artefacts.find({ kind: KIND, id: digestOf(ports, secret) });
  if (!artefact || artefact.endedAt !== undefined || artefact.expiresAt <= ports.clock.now()) return undefined;
  if (artefact.owner === undefined) return undefined;
  const person = await ports.people.read(artefact.owner);
  if (!person || person.disabledAt !== undefined || person.sessionEpoch !== artefact.data['epoch']) return undefined;
  return { artefact, person };
}

/** Whether the person proved who they are so lately that the session shows that they are there. */
export function isRecentSignIn({ clock }: Pick<Ports, 'clock'>, { authenticatedAt }: Session): boolean {
  return clock.now() - authenticatedAt <= RECENT_MS;
}

/**
 * For what gives lasting access to whoever finds a browser open. Throws RECENT_SIGN_IN_REQUIRED for a session whose
 * person proved who they are more than 15 minutes ago, however much it was used since.
 */
export function requireRecentSignIn(ports: Pick<Ports, 'clock'>, session: Session): void {
  if (!isRecentSignIn(ports, session)) throw new ServiceError('RECENT_SIGN_IN_REQUIRED');
}

/** Ends one session of a person. No effect on sessions of others. */
export async function endSession({ artefacts, clock }: Ports, { personId }: Person, sessionId: string): Promise<void> {
  const artefact = await artefacts.find({ kind: KIND, id: sessionId });
  if (artefact?.owner === personId) await artefacts.end(artefact, clock.now());
}

/**
 * Ends all sessions of a person but this one, which goes on in a new epoch. Throws SESSION_REQUIRED if it has ended
 * meanwhile; it ends too if the process does before it has returned.
 */
export async function endOtherSessions(
  ports: Ports & Pick<Context, 'call'>,
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
  { artefacts, clock }: Ports,
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

function digestOf(ports: Pick<Ports, 'digests'>, secret: string): string {
  return secretDigest(ports, KIND, secret);
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
