// Goal: the started program answers the shared vectors over every front and on every set of adapters with the codes, states and
// remains they have in memory (invariant 19).
// Method: the compiled program as a process of its own, one for each group of vectors and for both fronts; accounts and keys
// come from an operator's context beside it, which also looks at what a refusal leaves behind. Bytes go to the signed
// addresses over HTTP.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';
import { openGrpcClient } from '../fronts/grpc/grpc-client.js';
import { sceneCallers } from '../fronts/grpc/scene-services.js';
import { checkedRestClient } from '../fronts/rest/checked-client.js';
import { playAllVectors, type Needs, type Theatre } from '../fronts/vectors/theatre.js';
import { DISTRIBUTED, EMBEDDED, type OpenLane } from './lanes.js';
import { LiveService } from './live-service.js';
import { vectorCatalog } from './vector-catalog.js';

/** Time cannot be moved for a process: where it has to pass, a day is this long. */
const SHORT_REPLAY_MS = 500;
const SHORT_TARGET_MS = 3_000;

function configOf({ worker, time, settings: { maxOpenGenerationsPerAccount, maxUnfinishedUploadsPerApp } }: Needs): JsonObject {
  const settings = {
    ...(time ? { replay_window_hours: SHORT_REPLAY_MS / 3_600_000, upload_target_minutes: SHORT_TARGET_MS / 60_000 } : {}),
    ...(maxOpenGenerationsPerAccount === undefined ? {} : { max_open_generations_per_account: maxOpenGenerationsPerAccount }),
    ...(maxUnfinishedUploadsPerApp === undefined ? {} : { max_unfinished_uploads_per_app: maxUnfinishedUploadsPerApp }),
  };
  return { worker: { enabled: worker }, settings };
}

async function openStarted(needs: Needs, lane: OpenLane): Promise<Theatre> {
  const service = await LiveService.prepare({ config: configOf(needs), catalog: vectorCatalog, callers: sceneCallers(), lane });
  try {
    await service.server.start();
    const program = await service.open();
    const grpc = openGrpcClient(service.grpcAddress, program.context);
    return {
      context: program.context,
      clients: { REST: checkedRestClient(service.url), gRPC: grpc.client },
      put: putOverHttp,
      // Longer than either of the times above, which stand for those that the vectors know.
      advance: () => sleep(SHORT_TARGET_MS + 100),
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

async function putOverHttp(target: JsonObject, bytes: Uint8Array): Promise<number> {
  const response = await fetch(target['upload_url'] as string, { method: target['method'] as string, headers: target['required_headers'] as Record<string, string>, body: bytes });
  await response.arrayBuffer();
  return response.status;
}

for (const lane of [EMBEDDED, ...DISTRIBUTED]) {
  describe(`the started service on ${lane.name} answers the shared vectors`, () => {
    playAllVectors(lane.name, async (needs, suite) => openStarted(needs, await lane.open(suite)));
  });
}
