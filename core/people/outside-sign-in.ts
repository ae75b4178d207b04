import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import type { OutsideProvider, ProvenIdentity, ProviderChecks } from '../ports/outside-provider.js';
import type { IdentityKey } from '../ports/person-store.js';
import type { Artefact } from './artefact.js';
import { MAX_IDENTITIES, type OutsideIdentity, type Person } from './person.js';
import { secretDigest } from './secrets.js';

type Ports = Pick<Context, 'people' | 'artefacts' | 'digests' | 'clock'>;

const KIND = 'outside-sign-in';
const LIFE_MS = 600_000;

/** Why somebody is sent to the provider. */
export interface OutsidePurpose {
  /** Where they go on afterwards. */
  readonly returnTo: string;
  /** The session of the person to whom the identity is to be linked; absent for a sign-in. */
  readonly sessionId?: string;
}

/** Where the browser goes, and the secret that only this browser keeps. */
export async function beginOutsideSignIn(
  ports: Ports,
  provider: OutsideProvider,
  { returnTo, sessionId }: OutsidePurpose,
): Promise<{ readonly location: string; readonly secret: string }> {
  const { location, checks } = await provider.begin();
  const now = ports.clock.now();
  const artefact: Artefact = {
    kind: KIND,
    id: secretDigest(ports, KIND, checks.state),
    data: { ...checks, returnTo, ...(sessionId === undefined ? {} : { sessionId }) },
    createdAt: now,
    expiresAt: now + LIFE_MS,
    removeAt: now + LIFE_MS,
  };
  await ports.artefacts.put(artefact);
  return { location, secret: checks.state };
}

/**
 * Who came back, and why they had gone. Undefined for a browser that was not sent, was sent more than ten minutes ago or
 * has come back already, and for a person who gave up.
 */
export async function finishOutsideSignIn(
  ports: Ports,
  provider: OutsideProvider,
  { currentUrl, secret }: { readonly currentUrl: string; readonly secret: string },
): Promise<(OutsidePurpose & { readonly identity: ProvenIdentity }) | undefined> {
  const key = { kind: KIND, id: secretDigest(ports, KIND, secret) };
  const found = await ports.artefacts.find(key);
  if (!found || found.expiresAt <= ports.clock.now()) return undefined;
  if ((await ports.artefacts.consume(key, ports.clock.now())) === 'refused') return undefined;
  // The store keeps what `beginOutsideSignIn` gave it.
  const { returnTo, sessionId, ...checks } = found.data as unknown as OutsidePurpose & ProviderChecks;
  const identity = await provider.finish(currentUrl, checks);
  if (identity === null) return undefined;
  return { identity, returnTo, ...(sessionId === undefined ? {} : { sessionId }) };
}

/** The person to whom an identity is linked, if they may sign in. */
export async function personByIdentity(
  { people }: Pick<Ports, 'people'>,
  key: IdentityKey,
): Promise<Person | undefined> {
  const identity = await people.findIdentity(key);
  const person = identity && (await people.read(identity.personId));
  return person && person.disabledAt === undefined ? person : undefined;
}

/**
 * Links an identity to a person; again, it changes nothing. Throws CONFLICT if it is another person's, and
 * SESSION_REQUIRED, with nothing linked, for a person who was signed out everywhere meanwhile.
 */
export async function linkIdentity(
  { people, clock }: Ports,
  { personId, sessionEpoch }: Person,
  { issuer, subject }: IdentityKey,
): Promise<void> {
  const key = { issuer, subject };
  if ((await people.listIdentities(personId)).length >= MAX_IDENTITIES)
    throw new ServiceError('CONFLICT', `A person can connect ${MAX_IDENTITIES} identities.`);
  const identity: OutsideIdentity = { ...key, personId, linkedAt: clock.now() };
  if ((await people.insertIdentity(identity)) === 'created') {
    const current = await people.read(personId);
    if (current?.sessionEpoch === sessionEpoch && current.disabledAt === undefined) return;
    await people.removeIdentity(key, personId);
    throw new ServiceError('SESSION_REQUIRED');
  }
  const known = await people.findIdentity(key);
  if (known?.personId !== personId)
    throw new ServiceError('CONFLICT', 'Somebody else signs in with this identity already.');
}
