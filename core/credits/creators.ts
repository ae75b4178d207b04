import type { Call, Identity } from '../context.js';
import { findGrant } from '../people/grants.js';

/** The prefix of the credential ids of the operator's services. */
export const SERVICE = 'service:';

/** Kinds of credentials that act for an account; `unknown` if none is stored, or its owner is no longer known. */
export const CREATOR_KINDS = ['key', 'program', 'person', 'service', 'unknown'] as const;
export type CreatorKind = (typeof CREATOR_KINDS)[number];

/** The owner of a credential id, as people of the account know it. */
export interface Creator {
  readonly kind: CreatorKind;
  /** The credential id; absent where none is stored. */
  readonly id?: string;
  /** The name of the key, of the program that a person has authorized or of the service, or the e-mail address of the person. */
  readonly name?: string;
}

/** Finds the owner of a credential id of an account. A revoked key is found; an id of another account is unknown. */
export async function creatorOf(ports: Identity & Call, accountId: string, id: string): Promise<Creator> {
  if (id.startsWith(SERVICE)) return { kind: 'service', id, name: id.slice(SERVICE.length) };
  const key = await ports.credentials.findKey({ keyId: id });
  if (key?.accountId === accountId) return { kind: 'key', id, name: key.name };
  const grant = key === null ? await findGrant(ports, id) : undefined;
  if (grant?.accountId === accountId) return { kind: 'program', id, name: grant.clientName };
  const person = key === null && grant === undefined ? await ports.people.read(id, ports.call) : undefined;
  if (person?.accountId === accountId) return { kind: 'person', id, name: person.email };
  return { kind: 'unknown', id };
}

/** Returns the name of a key, of an internal service, of the program that a person has authorized, or of the person. */
export async function nameOfCredential(
  ports: Identity & Call,
  accountId: string,
  id: string,
): Promise<string | undefined> {
  return (await creatorOf(ports, accountId, id)).name;
}
