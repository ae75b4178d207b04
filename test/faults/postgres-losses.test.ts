/**
 * Goal: the checker of the fault rounds finds the writes that a failover loses; otherwise rounds without findings would prove
 * nothing.
 * Method: the same processes, load and checker on a primary whose writes do not wait for its replica, over a slow connection;
 * the replica is promoted after a crash of the primary.
 */
import { expect } from 'chai';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sizeOf } from '../harness/run-sizes.js';
import { checkHistory } from '../history/recorded/check-history.js';
import { isSuccess } from '../history/recorded/known.js';
import { textOf } from '../history/values.js';
import { orSkip } from '../servers/servers.js';
import { EXPECTED } from './clients/wishes.js';
import { Installation } from './harness/installation.js';
import { Run } from './rounds/run.js';
import type { Round } from './rounds/schedule.js';

/** Writes in this interval before the crash are only on the primary. */
const DELAY_MS = 2_000;
/** How long clients continue to ask for lost generations. */
const SETTLE_MS = 20_000;
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const ROUND: Round = {
  number: 1,
  faults: [
    {
      kind: 'failover from a killed primary',
      action: { to: 'cluster', does: 'fail over, killed', targets: ['primary'] },
      afterMs: 6_000,
      forMs: 500,
    },
  ],
  burstAfterMs: 500,
  revokeAfterMs: 500,
};

if (sizeOf('asynchronousFailovers') > 0)
  describe(`five processes over PostgreSQL with asynchronous replication (seed ${SEED})`, () => {
    const logs = join(tmpdir(), `darkroom-losses-${SEED}-${process.pid}`);
    const over = new AbortController();
    let installation: Installation | undefined;

    before(async function open() {
      installation = await orSkip(
        this,
        Installation.open({
          objects: 'minio',
          cluster: { replicas: 1, isSynchronous: false, delayMs: DELAY_MS },
          logs,
          name: `losses-${process.pid}`,
        }),
      );
    });
    after(async () => {
      over.abort();
      await installation?.close();
      await rm(logs, { recursive: true, force: true });
    });

    it('lose acknowledged creates, which the checker finds', async () => {
      const again = `Run it again with FAULT_SEED=${SEED}.`;
      const run = new Run(installation as Installation, [ROUND], SEED, again, over.signal, SETTLE_MS);
      const history = await run.play();
      const kept = new Set(history.atRest.generations.map(({ generationId }) => generationId));
      const accepted = history.exchanges.flatMap(({ request, answered }) =>
        request.operation === 'create' && answered !== undefined && isSuccess(answered)
          ? [textOf(answered.answer.data?.['generation_id'])]
          : [],
      );
      const lost = new Set(accepted.filter((id) => !kept.has(id)));
      const findings = checkHistory(history, EXPECTED).map(({ invariant, sentence }) => `${invariant}: ${sentence}`);
      console.log(
        `      ${new Set(accepted).size} creates were acknowledged, ${lost.size} are lost; ${findings.length} findings`,
      );
      expect(lost.size, again).to.be.greaterThan(0);
      for (const id of lost) expect(findings.join('\n'), again).to.include(id);
    });
  });
