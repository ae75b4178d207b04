import { openServiceHarness } from '../../harness/service-harness.js';
import { serveGrpc } from '../grpc/grpc-client.js';
import { checkedRestClient } from '../http/developer/checked-client.js';
import { serve } from '../http/host/rest-client.js';
import type { Needs, VectorHarness } from './vector-harness.js';

export interface InMemory extends VectorHarness {
  /** Starts the worker, for a history in which it starts later than the service. */
  startWorker(): Promise<void>;
}

/** REST and gRPC on free ports over one harness in memory. */
export async function openInMemory({ worker, settings }: Pick<Needs, 'worker' | 'settings'>): Promise<InMemory> {
  const harness = await openServiceHarness({ settings });
  const [rest, grpc] = [await serve(harness), await serveGrpc(harness.context)];
  if (worker) await harness.startWorker();
  return {
    context: harness.context,
    startWorker: () => harness.startWorker(),
    clients: { REST: checkedRestClient(rest.origin), gRPC: grpc.client },
    put: async (target, body) =>
      harness.objects.handle({
        method: target['method'] as string,
        url: target['upload_url'] as string,
        headers: target['required_headers'] as Record<string, string>,
        body,
      }).status,
    advance: async (byMs) => harness.clock.advance(byMs),
    close: async () => {
      await Promise.all([rest.server.close(1_000), grpc.close()]);
      await harness.close();
    },
  };
}
