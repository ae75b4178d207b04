// Goal: after any actions in any order, with processes dying anywhere, the books, the generations and the answers are
// right, on every set of stores. Method: random sequences of steps through the use cases, on a clock that only the test
// moves; a separate small model predicts every answer, and all stored data is checked after every step. A failure
// prints its seed.
import { onMongo } from '../adapters/mongo/on-mongo.js';
import type { ManualClock } from '../fixtures/clocks.js';
import { sizeOf } from '../harness/run-sizes.js';
import { orSkip, s3Server, type S3Server } from '../servers/servers.js';
import { Actor } from './actor.js';
import { type Step, STEPS } from './steps.js';
import {
  type OpenedStores,
  openMemoryStores,
  openMongoStores,
  openSqliteStores,
  StoreHarness,
} from './store-harness.js';
import { forAll } from '../harness/for-all.js';

async function play(open: (clock: ManualClock) => Promise<OpenedStores>, steps: readonly Step[]): Promise<void> {
  const harness = await StoreHarness.open(open);
  try {
    const actor = await Actor.enter(harness);
    for (const step of steps) await actor.take(step);
    await actor.end();
  } finally {
    await harness.close();
  }
}

describe('any sequence of steps keeps every promise', () => {
  it('in memory', () => forAll(sizeOf('sequencesInMemory'), [STEPS], (steps) => play(openMemoryStores, steps)));

  it('in SQLite and files', () =>
    forAll(sizeOf('sequencesOnSqlite'), [STEPS], (steps) => play(openSqliteStores, steps)));
});

onMongo('Any sequence of steps', (place, lane) => {
  const kind = lane === 'replica-set' ? 'minio' : 'versitygw';
  let server: S3Server;
  before(async function findServer() {
    server = await orSkip(this, s3Server(kind));
  });

  it(`keeps every promise, with objects in ${kind}`, () =>
    forAll(sizeOf('sequencesOnMongo'), [STEPS], (steps) =>
      play((clock) => openMongoStores(place(), server, clock), steps),
    )).timeout(300_000);
});
