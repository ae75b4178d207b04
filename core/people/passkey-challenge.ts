import type { Context } from '../context.js';
import type { JsonObject } from '../json.js';
import type { Artefact } from './artefact.js';
import { secretDigest, secretText } from './secrets.js';

type Ports = Pick<Context, 'artefacts' | 'digests' | 'ids' | 'clock'>;

/** How long a person has for what their browser shows them, in milliseconds. */
export const PASSKEY_CHALLENGE_MS = 300_000;
const CHALLENGE_BYTES = 32;

/** Base64url, as browsers want it; the store has a digest of it alone. */
export async function createChallenge(
  ports: Ports,
  kind: string,
  { owner, data = {} }: { readonly owner?: string; readonly data?: JsonObject } = {},
): Promise<string> {
  const challenge = secretText(ports.ids.random(CHALLENGE_BYTES));
  const now = ports.clock.now();
  const artefact: Artefact = {
    kind,
    id: secretDigest(ports, kind, challenge),
    ...(owner === undefined ? {} : { owner }),
    data,
    createdAt: now,
    expiresAt: now + PASSKEY_CHALLENGE_MS,
    removeAt: now + PASSKEY_CHALLENGE_MS,
  };
  await ports.artefacts.put(artefact);
  return challenge;
}

/**
 * Uses a challenge up, whatever comes of it. Of any number of attempts one gets true; false for the others, for one that
 * was never made or is too old, and for one that is somebody else's, which stays.
 */
export async function takeChallenge(
  ports: Ports,
  kind: string,
  challenge: string,
  isOwn: (artefact: Artefact) => boolean = () => true,
): Promise<boolean> {
  const key = { kind, id: secretDigest(ports, kind, challenge) };
  const now = ports.clock.now();
  const found = await ports.artefacts.find(key);
  if (!found || found.expiresAt <= now || !isOwn(found)) return false;
  return (await ports.artefacts.consume(key, now)) === 'consumed';
}
