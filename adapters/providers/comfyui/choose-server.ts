import { throwIfAborted } from '../../../core/cancellation.js';
import type { ProviderCall, SubmitAnswer } from '../../../core/ports/provider.js';
import { refusal } from '../shared/sentences.js';
import { type ComfyUiServer, ServerRefused } from './comfyui-server.js';
import type { ComfyUiInstance } from './instance.js';

type Needs = Pick<ComfyUiInstance, 'servers' | 'maxQueue' | 'instance' | 'log'>;
type Refusal = Extract<SubmitAnswer, { readonly accepted: false }>;

interface Candidate {
  readonly server: ComfyUiServer;
  readonly queued: number;
  readonly fault: undefined;
}

interface Unusable {
  readonly server: ComfyUiServer;
  readonly fault: 'unreachable' | 'key refused' | 'too old';
}

/** A server that hangs must not keep tasks from the others. */
const ASKED_WITHIN_MS = 5_000;

/**
 * The server with the shortest queue, of those that answer and are new enough; the first listed of several. A refusal
 * where there is none, as nothing is submitted then. Throws when the call was aborted.
 */
export async function chooseServer(
  { servers, maxQueue, instance: provider, log }: Needs,
  call: ProviderCall,
): Promise<ComfyUiServer | Refusal> {
  const asked = await Promise.all(servers.map((server) => candidateOf(server, call)));
  throwIfAborted(call.signal);
  const usable: Candidate[] = [];
  for (const one of asked) {
    if (one.fault === undefined) usable.push(one);
    else log.warn('server passed over', { provider, server: one.server.address, because: one.fault });
  }
  const [first, ...others] = usable;
  if (first === undefined) return refusalFor(asked.map(({ fault }) => fault));
  const shortest = others.reduce((best, next) => (next.queued < best.queued ? next : best), first);
  return shortest.queued < maxQueue ? shortest.server : refusal('no capacity');
}

async function candidateOf(server: ComfyUiServer, call: ProviderCall): Promise<Candidate | Unusable> {
  try {
    const [isNewEnough, queued] = await Promise.all([
      server.isNewEnough(call, ASKED_WITHIN_MS),
      server.queueLength(call, ASKED_WITHIN_MS),
    ]);
    return isNewEnough ? { server, queued, fault: undefined } : { server, fault: 'too old' };
  } catch (error) {
    const isKeyRefused = error instanceof ServerRefused && (error.status === 401 || error.status === 403);
    return { server, fault: isKeyRefused ? 'key refused' : 'unreachable' };
  }
}

/** A server that does not answer now may answer later, so that goes first. */
function refusalFor(faults: readonly (Candidate | Unusable)['fault'][]): Refusal {
  if (faults.includes('unreachable')) return refusal('unreachable');
  if (faults.includes('key refused')) return refusal('account refused');
  return { ...refusal('settings wrong'), because: 'not-here' };
}
