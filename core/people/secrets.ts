import type { Identity, Machine } from '../context.js';
import type { ArtefactKey } from '../ports/stores.js';
import type { Artefact, Person } from './person.js';

/**
 * The id under which the store keeps a secret, which it never has itself. The kind is part of the digest, so a secret
 * of one kind is not valid for another.
 */
export function secretDigest({ digests }: Machine, kind: string, secret: string): string {
  return digests.keyed(`${kind} ${secret}`);
}

/** Base64url (RFC 4648) without padding. */
export function secretText(bytes: Uint8Array): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet[(value >> bits) & 63];
    }
  }
  return bits === 0 ? text : text + (alphabet[(value << (6 - bits)) & 63] ?? '');
}

const SECRET_BYTES = 32;

/** The purpose of a new secret and its lifetime in milliseconds. */
export interface NewSecret extends Pick<Artefact, 'kind'>, Partial<Pick<Artefact, 'owner' | 'data'>> {
  readonly lifeMs: number;
  /** How long an expired secret can be told from an unknown one, in milliseconds; 0 when absent. */
  readonly keptMs?: number;
  /** Drawn when absent. */
  readonly secret?: string;
}

/** Stores an artefact that is found by its secret, which is in the answer and nowhere else. */
export async function putSecret(
  ports: Identity & Machine,
  { kind, owner, data = {}, lifeMs, keptMs = 0, secret = secretText(ports.ids.random(SECRET_BYTES)) }: NewSecret,
): Promise<{ readonly secret: string; readonly artefact: Artefact }> {
  const now = ports.clock.now();
  const artefact: Artefact = {
    kind,
    id: secretDigest(ports, kind, secret),
    ...(owner === undefined ? {} : { owner }),
    data,
    createdAt: now,
    expiresAt: now + lifeMs,
    removeAt: now + lifeMs + keptMs,
  };
  await ports.artefacts.put(artefact);
  return { secret, artefact };
}

/** The key of an artefact of this kind with this secret. */
export function secretKey(ports: Machine, kind: string, secret: string): ArtefactKey {
  return { kind, id: secretDigest(ports, kind, secret) };
}

/**
 * An open artefact and the person who owns it. Undefined if it was used, has ended or expired, and for a person who is
 * disabled or has started a new epoch since.
 */
export async function findOwned(
  { artefacts, people, clock }: Identity & Machine,
  key: ArtefactKey,
): Promise<{ readonly artefact: Artefact; readonly person: Person } | undefined> {
  const artefact = await artefacts.find(key);
  if (artefact?.owner === undefined || artefact.endedAt !== undefined || artefact.consumedAt !== undefined)
    return undefined;
  if (artefact.expiresAt <= clock.now()) return undefined;
  const person = await people.read(artefact.owner);
  if (!person || person.disabledAt !== undefined || person.sessionEpoch !== artefact.data['epoch']) return undefined;
  return { artefact, person };
}
