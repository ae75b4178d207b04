import { Resolver as NameServers } from 'node:dns/promises';
import PQueue from 'p-queue';
import { mayBePublic } from './address-rules.js';
import type { AllowList } from './allow-list.js';
import { resolveBySystem, type Resolver } from './guarded-connector.js';

/** How long a name server may take for an answer before it is asked again, in milliseconds. */
const TIMEOUT_MS = 3_000;
const TRIES = 2;
/** What the machine resolves for clients at once: fewer than it resolves at once for all. */
const MAX_BY_SYSTEM = 1;
/** How many names wait for that. */
const MAX_WAITING_FOR_SYSTEM = 256;
/** Whatever says that there is no such name, or no address of it. */
const NONE = ['ENOTFOUND', 'ENODATA'];

type Found = Awaited<ReturnType<Resolver>>;

export interface NameServersOptions {
  /** The operator's own names. */
  readonly allow: AllowList;
  /** Name servers, as `dns.setServers` takes them; the machine's own when absent. */
  readonly servers?: readonly string[];
  /** The machine's own resolution. */
  readonly system?: Resolver;
}

/**
 * Resolves names that clients choose. The machine's own resolution takes very few at once, so that a client whose name
 * server does not answer would hold up the names of all others: public names are asked of name servers directly, any number
 * at once. The machine resolves hosts that the operator lists, and names that no name server knows where networks are listed.
 */
export function byNameServers({ allow, servers, system = resolveBySystem }: NameServersOptions): Resolver {
  const others = new PQueue({ concurrency: MAX_BY_SYSTEM });
  return async (hostname, signal) => {
    if (allow.hasHostname(hostname)) return system(hostname);
    const isPublic = mayBePublic(hostname);
    const found = isPublic ? await ask(hostname, servers, signal) : [];
    if (found.length > 0 || !allow.hasNetworks) return found;
    if (others.size >= MAX_WAITING_FOR_SYSTEM)
      throw Object.assign(new Error('Too many names wait to be resolved.'), { code: 'EAI_AGAIN' });
    return inTurn(others, () => system(hostname), signal);
  };
}

/** The signal ends the waiting alone: what the machine has begun to resolve keeps its place until it ends. */
async function inTurn(queue: PQueue, resolve: () => Promise<Found>, signal: AbortSignal | undefined): Promise<Found> {
  const leaving = new AbortController();
  const leave = () => leaving.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', leave, { once: true });
  const begin = () => {
    signal?.removeEventListener('abort', leave);
    return resolve();
  };
  return queue.add(begin, { signal: leaving.signal });
}

/** None for a name that has none. Throws where a name server gives no answer, and there is none by the other either. */
async function ask(
  hostname: string,
  servers: readonly string[] | undefined,
  signal: AbortSignal | undefined,
): Promise<Found> {
  signal?.throwIfAborted();
  // A new one knows the name servers that the machine has now.
  const resolver = new NameServers({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  const asked = await Promise.allSettled([
    resolver.resolve6(hostname).then((all) => all.map((address) => ({ address, family: 6 }))),
    resolver.resolve4(hostname).then((all) => all.map((address) => ({ address, family: 4 }))),
  ]);
  signal?.removeEventListener('abort', cancel);
  const found = asked.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  const failed = asked.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  const [broken] = failed.filter((error) => !NONE.includes((error as NodeJS.ErrnoException).code ?? ''));
  if (found.length === 0 && broken !== undefined) throw broken;
  return found;
}
