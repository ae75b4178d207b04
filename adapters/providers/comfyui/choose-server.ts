import type { ProviderCall, SubmitAnswer } from '../../../core/ports/provider.js';
import { refusal, type FailureName } from '../shared/sentences.js';
import type { ComfyUiInstance } from './instance.js';
import { ServerRefused, type ComfyUiServer } from './comfyui-server.js';

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
  readonly error?: unknown;
}

/**
 * The server with the shortest queue, of those that answer and are new enough; the first listed of several. A refusal
 * where there is none, as nothing is submitted then. Throws when the call was aborted.
 */
export async function chooseServer(
  { servers, maxQueue, instance: provider, log }: Needs,
  call: ProviderCall,
): Promise<ComfyUiServer | Refusal> {
  const asked = await Promise.all(servers.map((server) => candidateOf(server, call)));
  const usable: Candidate[] = [];
  for (const one of asked) {
    if (one.fault === undefined) usable.push(one);
    else if (call.signal.aborted) throw one.error;
    else log.warn('provider refused a task', { provider, because: one.fault, server: one.server.address });
  }
  const [first, ...others] = usable;
  if (first === undefined) return refusal(worstOf(asked));
  const shortest = others.reduce((best, next) => (next.queued < best.queued ? next : best), first);
  return shortest.queued < maxQueue ? shortest.server : refusal('no capacity');
}

async function candidateOf(server: ComfyUiServer, call: ProviderCall): Promise<Candidate | Unusable> {
  try {
    const [isNewEnough, queued] = await Promise.all([server.isNewEnough(call), server.queueLength(call)]);
    return isNewEnough ? { server, queued, fault: undefined } : { server, fault: 'too old' };
  } catch (error) {
    const isKeyRefused = error instanceof ServerRefused && (error.status === 401 || error.status === 403);
    return { server, fault: isKeyRefused ? 'key refused' : 'unreachable', error };
  }
}

/** What another server may still do decides: one that does not answer now may answer later. */
function worstOf(asked: readonly (Candidate | Unusable)[]): FailureName {
  const faults = asked.map(({ fault }) => fault);
  if (faults.includes('unreachable')) return 'unreachable';
  return faults.includes('key refused') ? 'account refused' : 'settings wrong';
}
