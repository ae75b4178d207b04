// Goal: the started program answers the shared vectors over every front and on every set of adapters with the same
// codes, states and remains as in memory (invariant 19).
// Method: the compiled program as a separate process, one for all vectors that need one configuration, over both
// fronts; accounts and keys come from an operator's context beside it, which also checks what a refusal leaves behind.
// Bytes are sent to the signed addresses over HTTP.
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../core/access/manage.js';
import type { Context } from '../../core/context.js';
import type { JsonObject } from '../../core/json.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { fixtureCallers } from '../fronts/grpc/fixture-services.js';
import { openGrpcClient } from '../fronts/grpc/grpc-client.js';
import { checkedRestClient } from '../fronts/http/developer/checked-client.js';
import { type Needs, playAllVectors, type VectorHarness } from '../fronts/vectors/vector-harness.js';
import { sizeOf } from '../harness/run-sizes.js';
import { LANES, type OpenLane } from './lanes.js';
import { LiveService } from './live-service.js';
import { vectorCatalog } from './vector-catalog.js';

const DAY_MS = 86_400_000;
/** The test cannot move a process's clock: where time must pass, a day and the life of a target are this long. */
const SHORT_REPLAY_MS = 500;
const SHORT_TARGET_MS = 3_000;

function configOf({
  worker,
  time,
  settings: { maxOpenGenerationsPerAccount, maxUnfinishedUploadsPerApp },
}: Needs): JsonObject {
  const settings = {
    ...(time
      ? { replay_window_hours: SHORT_REPLAY_MS / 3_600_000, upload_target_minutes: SHORT_TARGET_MS / 60_000 }
      : {}),
    ...(maxOpenGenerationsPerAccount === undefined
      ? {}
      : { max_open_generations_per_account: maxOpenGenerationsPerAccount }),
    ...(maxUnfinishedUploadsPerApp === undefined ? {} : { max_unfinished_uploads_per_app: maxUnfinishedUploadsPerApp }),
  };
  return { worker: { enabled: worker }, settings };
}

async function openStarted(needs: Needs, lane: OpenLane): Promise<VectorHarness> {
  const service = await LiveService.prepare({
    config: configOf(needs),
    catalog: vectorCatalog,
    callers: fixtureCallers(),
    lane,
  });
  try {
    await service.server.start();
    const program = await service.open();
    const grpc = openGrpcClient(service.grpcAddress, program.context);
    return {
      // The generations that the fixture leaves in progress belong to the server's boot.
      context: { ...program.context, boot: { id: await bootIdOf(service, program.context), isExclusive: false } },
      clients: { REST: checkedRestClient(service.url), gRPC: grpc.client },
      put: putOverHttp,
      advance: (byMs) => sleep((byMs > DAY_MS ? SHORT_REPLAY_MS : SHORT_TARGET_MS) + 100),
      async close() {
        await grpc.close();
        await program.close();
        await service.remove();
      },
    };
  } catch (error) {
    await service.remove();
    throw error;
  }
}

/**
 * The boot that the server writes on its claims: with exclusive stores, it treats those of another boot as orphaned.
 */
async function bootIdOf(service: LiveService, context: Context): Promise<string> {
  const owner = await newOwner(context, 'boot', 0);
  const { secret } = await createKey(context, { appId: owner.appId, name: 'boot' });
  const body = { filename: 'a.png', media_type: 'image/png', byte_size: 100, role: 'reference_image' };
  const prepared = await service.client(secret).request('POST', '/uploads', { key: 'boot', body });
  const { appId, accountId } = owner;
  const claim = {
    accountId,
    appId,
    operation: 'prepare',
    key: 'boot',
    version: 1,
    digest: '',
    subjectId: context.ids.uuid(),
    createdAt: 0,
    leaseExpiresAt: 0,
    removeAt: 0,
  } as const;
  const outcome = await context.claims.insert(claim);
  if (outcome.inserted || outcome.existing.bootId === undefined)
    throw new Error(`The server claimed nothing: ${prepared.message}`);
  return outcome.existing.bootId;
}

async function putOverHttp(target: JsonObject, bytes: Uint8Array): Promise<number> {
  const response = await fetch(target['upload_url'] as string, {
    method: target['method'] as string,
    headers: target['required_headers'] as Record<string, string>,
    body: bytes,
  });
  await response.arrayBuffer();
  return response.status;
}

for (const lane of LANES.slice(0, sizeOf('vectorLanes'))) {
  describe(`the started service on ${lane.name} answers the shared vectors`, () => {
    playAllVectors(lane.name, async (needs, suite) => openStarted(needs, await lane.open(suite)));
  });
}
