import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { ArtefactKey } from '../ports/artefact-store.js';
import type { Artefact } from './artefact.js';
import { changePerson, readSignInEmail } from './manage-people.js';
import type { Person } from './person.js';
import { secretDigest, secretText } from './secrets.js';

type Ports = Pick<Context, 'people' | 'artefacts' | 'digests' | 'ids' | 'clock' | 'passwords' | 'settings' | 'call'>;

const LINK = 'sign-in-link';
const SECRET_BYTES = 32;
const KEPT_MS = 86_400_000;
const DAY_MS = 86_400_000;

/**
 * The person with this address and password. Undefined for an unknown address, a wrong password, and a person who is
 * disabled or has no password: after the same work, so that none of these can be told from another.
 */
export async function personByPassword(
  { people, passwords }: Ports,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<Person | undefined> {
  const person = await people.findByEmail(readSignInEmail(email));
  const isRight = await passwords.matches(password, person?.password);
  return isRight && person?.disabledAt === undefined ? (person ?? undefined) : undefined;
}

/**
 * The secret of a link that signs a person in once, for half an hour by default, and no longer than their sessions last: a
 * reset, another password and disabling end it. Throws NOT_FOUND.
 */
export async function createSignInLink(
  ports: Ports,
  personId: string,
): Promise<{ readonly secret: string; readonly expiresAt: number }> {
  const secret = secretText(ports.ids.random(SECRET_BYTES));
  const person = await ports.people.read(personId, ports.call);
  if (!person) throw new ServiceError('NOT_FOUND', `There is no person ${personId}.`);
  const now = ports.clock.now();
  const expiresAt = now + ports.settings.signInLinkMs;
  const artefact: Artefact = {
    kind: LINK,
    id: digestOf(ports, secret),
    owner: personId,
    data: { epoch: person.sessionEpoch },
    createdAt: now,
    expiresAt,
    removeAt: expiresAt + KEPT_MS,
  };
  await ports.artefacts.put(artefact);
  return { secret, expiresAt };
}

/** Whether a link could still be used: mail programs and browsers open links before people do, so looking uses nothing. */
export async function isLinkUsable(ports: Ports, secret: string): Promise<boolean> {
  return (await personOf(ports, { kind: LINK, id: digestOf(ports, secret) })) !== undefined;
}

/** Uses a link up. Of any number of attempts one gets the person; undefined for the others, and for a link that is over. */
export async function personByLink(ports: Ports, secret: string): Promise<Person | undefined> {
  const { artefacts, clock } = ports;
  const key = { kind: LINK, id: digestOf(ports, secret) };
  const person = await personOf(ports, key);
  if (person === undefined) return undefined;
  return (await artefacts.consume(key, clock.now())) === 'consumed' ? person : undefined;
}

/** Whom a link would sign in now. */
async function personOf({ artefacts, people, clock }: Ports, key: ArtefactKey): Promise<Person | undefined> {
  const found = await artefacts.find(key);
  if (!found || !isOpen(found, clock.now()) || found.owner === undefined) return undefined;
  const person = await people.read(found.owner);
  if (!person || person.disabledAt !== undefined) return undefined;
  return person.sessionEpoch === found.data['epoch'] ? person : undefined;
}

/** Writes the UTC day of the last sign-in on the person, at most once a day. A lost write is of no harm. */
export async function noteSignIn(ports: Ports, { personId, lastSignInAt = -Infinity }: Person): Promise<void> {
  const today = Math.floor(ports.clock.now() / DAY_MS) * DAY_MS;
  if (lastSignInAt < today) await changePerson(ports, personId, (person) => ({ ...person, lastSignInAt: today }));
}

function isOpen({ endedAt, consumedAt, expiresAt }: Artefact, now: number): boolean {
  return endedAt === undefined && consumedAt === undefined && expiresAt > now;
}

function digestOf(ports: Pick<Ports, 'digests'>, secret: string): string {
  return secretDigest(ports, LINK, secret);
}
