import type { Identity, Machine } from '../context.js';
import { endGrant } from './grants.js';
import type { Artefact } from './person.js';

export const REFRESH_TOKEN_KIND = 'refresh-token';

/** How long a used refresh token may be used again by its client: processes of one client refresh at the same time. */
export const REFRESH_GRACE_MS = 30_000;
/** How often it may be used again in that time. */
export const MAX_FURTHER_EXCHANGES = 3;

/** An artefact for each further exchange of a token, which one caller can use up. */
const FURTHER_EXCHANGE = 'refresh-again';
const KEPT_MS = 86_400_000;

/**
 * Exchanges a refresh token, which `id` is the digest of, for the tokens that take its place. All tokens of a grant are
 * one family (RFC 9700, 4.14.2). A token is exchanged once, and at most three more times in the 30 seconds after that,
 * by all processes together. Any other exchange shows that somebody else has the token: it is refused, and the family
 * ends. Refused as well is a token that has ended or does not exist.
 */
export async function exchangeRefreshToken(ports: Identity & Machine, id: string): Promise<'exchanged' | 'refused'> {
  const { artefacts, clock } = ports;
  const key = { kind: REFRESH_TOKEN_KIND, id };
  const now = clock.now();
  if ((await artefacts.consume(key, now)) === 'consumed') return 'exchanged';
  const token = await artefacts.find(key);
  if (token?.group === undefined || token.endedAt !== undefined) return 'refused';
  if (isInGrace(token, now) && (await takeFurtherExchange(ports, token))) return 'exchanged';
  await endGrant(ports, token.group);
  return 'refused';
}

/** Whether a refresh token was used so lately that its client may use it again. */
export function isInGrace({ consumedAt, endedAt }: Artefact, now: number): boolean {
  return endedAt === undefined && consumedAt !== undefined && now - consumedAt <= REFRESH_GRACE_MS;
}

/** Takes one of the further exchanges; false if none is left. */
async function takeFurtherExchange({ artefacts, clock }: Identity & Machine, token: Artefact): Promise<boolean> {
  const now = clock.now();
  for (let number = 1; number <= MAX_FURTHER_EXCHANGES; number += 1) {
    const further: Artefact = {
      kind: FURTHER_EXCHANGE,
      id: `${token.id}-${number}`,
      ...(token.group === undefined ? {} : { group: token.group }),
      data: {},
      createdAt: now,
      expiresAt: now + REFRESH_GRACE_MS,
      removeAt: now + KEPT_MS,
    };
    // Callers at the same time put the same artefact, and one of them uses it up. A used one stays as it is.
    if ((await artefacts.put(further)) === 'kept' && (await artefacts.consume(further, now)) === 'consumed')
      return true;
  }
  return false;
}
