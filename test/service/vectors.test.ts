// Goal: the started program answers the shared vectors on every set of adapters with the codes, states and remains they have in
// memory.
// Method: the compiled program as a process of its own, one for each topic; accounts and keys come from an operator's
// context beside it, which also looks at what a refusal leaves behind. Bytes go to the signed addresses over HTTP.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { ErrorCode } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { Program } from '../../apps/wiring.js';
import { STATUSES } from '../../apps/rest/statuses.js';
import { setScene, type Scene } from '../fixtures/scene.js';
import { expectConformity } from '../fronts/rest/conformity.js';
import { sendHttp } from '../fronts/rest/rest-client.js';
import { VECTORS_BY_TOPIC } from '../fronts/vectors/all.js';
import { playOn, type Stage } from '../fronts/vectors/play.js';
import type { Vector } from '../fronts/vectors/vector.js';
import { DISTRIBUTED, EMBEDDED, type Lane, type OpenLane } from './lanes.js';
import { LiveService } from './live-service.js';
import { vectorCatalog } from './vector-catalog.js';

/** Time cannot be moved for a process: where it has to pass, a day is this long. */
const SHORT_REPLAY_MS = 500;
const SHORT_TARGET_MS = 3_000;

const has = (event: string) => ({ steps }: Vector) => steps.some((step) => 'event' in step && step.event === event);
const isPlain = (vector: Vector) => vector.settings === undefined && !has('start-worker')(vector) && !has('advance')(vector);
const READS = ['listModels', 'getCredits', 'estimateGeneration', 'getGeneration'];

/** Whether it leaves everything as it was, which the player makes sure of for refusals. */
function leavesNoTrace({ steps }: Vector): boolean {
  return steps.every((step) => 'operation' in step && (step.code !== 'OK' || READS.includes(step.operation)));
}

const ALL = Object.values(VECTORS_BY_TOPIC).flat();

/** A service that plays some of the vectors, and the operator's program beside it. */
class Theatre {
  /** For all vectors that leave no trace in it. */
  private shared: Promise<Scene> | undefined;

  private constructor(private readonly service: LiveService, private readonly program: Program) {}

  static async open(config: JsonObject, lane: OpenLane): Promise<Theatre> {
    const service = await LiveService.prepare({ config, catalog: vectorCatalog, lane });
    try {
      await service.server.start();
      return new Theatre(service, await service.open());
    } catch (error) {
      await service.remove();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.program.close();
    await this.service.remove();
  }

  async play(vector: Vector): Promise<void> {
    const scene = leavesNoTrace(vector) ? (this.shared ??= setScene(this.program.context)) : undefined;
    await playOn(vector, this.stage, await scene);
  }

  private get stage(): Stage {
    return {
      context: this.program.context,
      client: {
        send: async (request) => {
          const answer = await sendHttp(this.service.url, request);
          if (answer.code !== 'OK') expect(answer.status).to.equal(STATUSES[answer.code as ErrorCode]);
          expectConformity(request.operation, answer);
          return answer;
        },
        close: () => Promise.resolve(),
      },
      put: putOverHttp,
      // Longer than either of the times above, which stand for those that the vectors know.
      advance: () => sleep(SHORT_TARGET_MS + 100),
      startWorker: () => Promise.resolve(),
    };
  }
}

async function putOverHttp(target: JsonObject, bytes: Uint8Array): Promise<number> {
  const response = await fetch(target['upload_url'] as string, { method: target['method'] as string, headers: target['required_headers'] as Record<string, string>, body: bytes });
  await response.arrayBuffer();
  return response.status;
}

function playAll(lane: Lane, name: string, vectors: readonly Vector[], config: JsonObject): void {
  describe(name, () => {
    let theatre: Theatre | undefined;
    before(async function open() { theatre = await Theatre.open(config, await lane.open(this)); });
    after(() => theatre?.close());
    for (const vector of vectors) it(vector.name, () => (theatre as Theatre).play(vector));
  });
}

const IDLE = { worker: { enabled: false } };

for (const lane of [EMBEDDED, ...DISTRIBUTED]) {
  describe(`the started service on ${lane.name} answers the shared vectors`, () => {
    for (const [topic, vectors] of Object.entries(VECTORS_BY_TOPIC)) playAll(lane, topic, vectors.filter(isPlain), IDLE);

    playAll(lane, 'with its worker', ALL.filter(has('start-worker')), {});
    playAll(lane, 'with time that passes', ALL.filter(has('advance')), {
      ...IDLE, settings: { replay_window_hours: SHORT_REPLAY_MS / 3_600_000, upload_target_minutes: SHORT_TARGET_MS / 60_000 },
    });
    playAll(lane, 'with few open generations', ALL.filter(({ settings }) => settings !== undefined), {
      ...IDLE, settings: { max_open_generations_per_account: 2 },
    });
  });
}

it('the started service answers all vectors', () => {
  for (const { settings } of ALL) expect(settings ?? { maxOpenGenerationsPerAccount: 2 }).to.deep.equal({ maxOpenGenerationsPerAccount: 2 });
});
