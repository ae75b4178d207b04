// Goal: over every front each request of the shared vectors gets the same code and the same state, with the front's own
// status for it and in its documented shape, and a refused one leaves nothing behind (invariant 19).
// Method: REST and gRPC on free ports over one world in memory for each group of vectors; stores compared before and after.
// What a front leaves out is in one table by its reason, and must be impossible to say over it.
import { expect } from 'chai';
import { ROUTES } from '../../../apps/rest/routes.js';
import { openWorld } from '../../fixtures/world.js';
import { serveGrpc } from '../grpc/grpc-client.js';
import { checkedRestClient } from '../rest/checked-client.js';
import { serve } from '../rest/rest-client.js';
import { VECTORS_BY_TOPIC } from './all.js';
import { LEFT_OUT } from './left-out.js';
import { GROUPS, playAllVectors, type Needs, type Theatre } from './theatre.js';

const VECTORS = Object.values(VECTORS_BY_TOPIC).flat();

async function openInMemory({ worker, settings }: Needs): Promise<Theatre> {
  const world = await openWorld({ settings });
  const [rest, grpc] = [await serve(world), await serveGrpc(world.context)];
  if (worker) await world.startWorker();
  return {
    context: world.context,
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

describe('every front answers the shared vectors', () => playAllVectors('in memory', openInMemory));

describe('the shared vectors', () => {
  it('ask for every operation, and no two have one name', () => {
    const operations = new Set(VECTORS.flatMap(({ steps }) => steps).flatMap((step) => ('operation' in step ? step.operation : [])));
    expect([...operations]).to.have.members(ROUTES.map(({ operation }) => operation.operationId));
    expect(new Set(VECTORS.map(({ name }) => name)).size).to.equal(VECTORS.length);
  });

  it('are each in one group, with the settings that they need', () => {
    expect(GROUPS.flatMap(({ vectors }) => vectors)).to.have.members(VECTORS).and.to.have.length(VECTORS.length);
    for (const { vectors, needs } of GROUPS) for (const { settings = {} } of vectors) expect(settings).to.deep.equal(needs.settings);
  });

  it('are left out by names that they have, and once', () => {
    for (const reasons of Object.values(LEFT_OUT)) {
      const names = Object.values(reasons).flat();
      expect(new Set(names).size).to.equal(names.length);
      expect(VECTORS.map(({ name }) => name)).to.include.members(names);
    }
  });
});
