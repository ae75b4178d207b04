// Goal: the same history ends in the same answers, states, credits and ledger lines on every set of adapters (invariant
// 19).
// Method: a workload drawn from one seed, sent step by step to the started program over each set, with a separate worker
// process where the set allows it; everything that a client or an operator can see is recorded, ids by the order in
// which they appeared and times left out, and compared. A failure prints its seed (SAME_STATES_SEED repeats it).
import { expect } from 'chai';
import type { JsonObject } from '../../core/json.js';
import { drawsFrom } from '../faults/draws.js';
import { sizeOf } from '../harness/run-sizes.js';
import { EMBEDDED, type Lane, LANES } from './lanes.js';
import { LiveService } from './live-service.js';
import { Scenario, type Told } from './scenario.js';

const SEED = Number(process.env['SAME_STATES_SEED'] ?? Date.now() % 1_000_000);
const STEPS = 30;
/** So that nothing waits for the interval of a retry or for a day. */
const HURRIED: JsonObject = { settings: { retry_base_ms: 50, cancel_grace_seconds: 1 } };

describe(`one history on every set of adapters (seed ${SEED})`, () => {
  const told = new Map<string, Told>();
  const played = LANES.slice(0, sizeOf('historyLanes'));

  for (const lane of played) {
    it(`is played on ${lane.name}`, async function play() {
      told.set(lane.name, await tell(lane, this));
    });
  }

  for (const { name } of played.slice(1)) {
    it(`ends on ${name} as on ${EMBEDDED.name}`, function compare() {
      const [here, there] = [told.get(name), told.get(EMBEDDED.name)];
      if (here === undefined || there === undefined) this.skip();
      for (const [index, answer] of there.answers.entries())
        expect(here.answers[index], `step ${index}`).to.deep.equal(answer);
      expect(here.answers).to.have.length(there.answers.length);
      expect(here.books).to.deep.equal(there.books);
    });
  }

  it('covers success and the main refusals', function worth() {
    const codes = new Set(told.get(EMBEDDED.name)?.answers.map(({ code }) => code));
    expect([...codes]).to.include.members([
      'OK',
      'CREDITS_INSUFFICIENT',
      'IDEMPOTENCY_PAYLOAD_MISMATCH',
      'FIELD_INVALID',
    ]);
  });
});

async function tell(lane: Lane, suite: Mocha.Context): Promise<Told> {
  const service = await LiveService.start({ lane: await lane.open(suite), config: HURRIED });
  try {
    const scenario = await Scenario.begin(service);
    const draw = drawsFrom(SEED);
    for (let step = 0; step < STEPS; step += 1) await scenario.take(draw);
    return await scenario.end();
  } finally {
    await service.remove();
  }
}
