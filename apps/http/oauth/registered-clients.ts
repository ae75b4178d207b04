import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { secretDigest } from '../../../core/people/secrets.js';

type Ports = Pick<Context, 'artefacts' | 'digests' | 'ids' | 'clock' | 'settings'>;

export const CLIENT_KIND = 'oauth-client';
/** The owner of clients to which nobody has given anything yet. */
const UNUSED = 'unused';
const DAY_MS = 86_400_000;
/** How long a client that nobody uses stays registered. */
const UNUSED_CLIENT_MS = 30 * DAY_MS;
const MAX_UNUSED = 1_000;
/** Within this a new client is not removed for the sake of another. */
const SAFE_MS = 3_600_000;

/**
 * Stores a client under a new id, and answers its metadata with the id. Throws RATE_LIMITED if too many clients were
 * registered.
 */
export async function registerClient(ports: Ports, metadata: JsonObject): Promise<JsonObject> {
  await makeRoom(ports);
  const now = ports.clock.now();
  const registered = {
    ...metadata,
    client_id: ports.ids.uuid(),
    client_id_issued_at: Math.floor(now / 1_000),
  };
  await ports.artefacts.put({
    kind: CLIENT_KIND,
    id: secretDigest(ports, CLIENT_KIND, registered.client_id),
    owner: UNUSED,
    data: registered,
    createdAt: now,
    expiresAt: now + UNUSED_CLIENT_MS,
    removeAt: now + UNUSED_CLIENT_MS,
  });
  return registered;
}

/**
 * Keeps the number of unused clients below 1,000: the oldest one goes, if it had an hour to be used. Throws
 * RATE_LIMITED if all are newer.
 */
async function makeRoom({ artefacts, clock }: Pick<Ports, 'artefacts' | 'clock'>): Promise<void> {
  const unused = await artefacts.listOwned(CLIENT_KIND, UNUSED, MAX_UNUSED);
  const oldest = unused.at(-1);
  if (oldest === undefined || unused.length < MAX_UNUSED) return;
  const safeUntil = oldest.createdAt + SAFE_MS;
  if (safeUntil > clock.now())
    throw new ServiceError('RATE_LIMITED', 'Too many clients were registered; try again later.', {
      retryAfterMs: safeUntil - clock.now(),
    });
  await artefacts.remove(oldest);
}

/** A client that somebody has connected stays registered as long as a grant could live. */
export async function noteClientUse(ports: Omit<Ports, 'ids'>, clientId: string): Promise<void> {
  const { artefacts, clock, settings } = ports;
  const found = await artefacts.find({ kind: CLIENT_KIND, id: secretDigest(ports, CLIENT_KIND, clientId) });
  const expiresAt = clock.now() + settings.grantIdleMs + DAY_MS;
  if (!found || found.endedAt !== undefined) return;
  if (found.owner !== UNUSED && expiresAt - found.expiresAt < DAY_MS) return;
  const { owner: _owner, ...client } = found;
  await artefacts.put({ ...client, expiresAt, removeAt: expiresAt + DAY_MS });
}
