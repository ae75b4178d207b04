import { openWorld } from '../../fixtures/world.js';
import { serveGrpc } from '../grpc/grpc-client.js';
import { checkedRestClient } from '../http/developer/checked-client.js';
import { serve } from '../http/host/rest-client.js';
import type { Needs, Theatre } from './theatre.js';

export interface InMemory extends Theatre {
  /** For a history in which it begins later than the service. */
  startWorker(): Promise<void>;
}

/** REST and gRPC on free ports over one world in memory. */
export async function openInMemory({ worker, settings }: Pick<Needs, 'worker' | 'settings'>): Promise<InMemory> {
  const world = await openWorld({ settings });
  const [rest, grpc] = [await serve(world), await serveGrpc(world.context)];
  if (worker) await world.startWorker();
  return {
    context: world.context,
    startWorker: () => world.startWorker(),
    clients: { REST: checkedRestClient(rest.origin), gRPC: grpc.client },
    put: async (target, body) => world.objects.handle({
      method: target['method'] as string, url: target['upload_url'] as string, headers: target['required_headers'] as Record<string, string>, body,
    }).status,
    advance: async (byMs) => world.clock.advance(byMs),
    close: async () => {
      await Promise.all([rest.server.close(1_000), grpc.close()]);
      await world.close();
    },
  };
}
