/**
 * Goal: nothing that a client was told is lost, doubled or stuck, whatever happens to the processes of an installation,
 * to its stores and to the links between them. Method: two REST processes and three workers of the compiled program on
 * a MongoDB server and an S3 server of their own, under the load of many clients. In rounds drawn from a seed processes
 * are killed, stopped and frozen past their leases, stores killed and frozen, links slowed, cut and black-holed, and S3
 * refuses and truncates. Then all is quiet, clients ask until they know, and a checker that shares no code with the
 * program holds what they saw against what is on record.
 */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { sizeOf } from '../harness/run-sizes.js';
import { S3_KINDS } from '../harness/store-pairs.js';
import { orSkip } from '../servers/servers.js';
import { checkHistory } from './history/check-history.js';
import { Run } from './rounds/run.js';
import { drawRounds } from './rounds/schedule.js';
import { whatHitNothing, type Struck } from './rounds/struck.js';
import { Installation } from './harness/installation.js';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? sizeOf('faultRounds'));
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
/** As many rounds of one deal on each object store. */
const ROUNDS_PER_STORE = Math.ceil(ROUNDS / S3_KINDS.length);

/** So many have every kind of fault. */
const ROUNDS_WITH_ALL = 20;
const struck: Struck[] = [];

for (const [index, objects] of S3_KINDS.entries()) {
  const rounds = drawRounds(SEED, ROUNDS).slice(index * ROUNDS_PER_STORE, (index + 1) * ROUNDS_PER_STORE);
  if (rounds.length > 0) {
    describe(`five processes over MongoDB and ${objects}, ${rounds.length} rounds of faults (seed ${SEED})`, function suite() {
      this.timeout(600_000 + rounds.length * 120_000);
      const logs = join(tmpdir(), `darkroom-faults-${SEED}-${objects}-${process.pid}`);
      let installation: Installation | undefined;
      /** Ends whatever a run that came to no end still does: it would keep the test process alive. */
      const over = new AbortController();

      before(async function open() {
        installation = await orSkip(
          this,
          Installation.open({ objects, logs, name: `faults-${process.pid}-${objects}` }),
        );
      });

      after(async function close() {
        over.abort();
        await installation?.close();
        const hasFailed = this.test?.parent?.tests.some((test) => test.isFailed()) ?? false;
        if (!hasFailed) await rm(logs, { recursive: true, force: true });
      });

      it('keep every promise they made', async () => {
        const again = `Run it again with: npm run test:faults -- --rounds ${ROUNDS} --seed ${SEED}. Logs and history are in ${logs}.`;
        const run = new Run(installation as Installation, rounds, SEED, again, over.signal);
        const history = await run.play();
        await writeFile(
          join(logs, 'history.json'),
          JSON.stringify(history, (_, value: unknown) => (value instanceof Map ? [...value.values()] : value)),
        );
        struck.push(...run.struck);
        for (const line of run.figures(history)) console.log(`      ${line}`);
        const findings = checkHistory(history).map(({ invariant, sentence }) => `${invariant}: ${sentence}`);
        expect([...run.complaints(history), ...findings], again).to.deep.equal([]);
      });
    });
  }
}

// A few rounds have only some of the kinds.
if (ROUNDS >= ROUNDS_WITH_ALL)
  describe(`the faults of ${ROUNDS} rounds on real processes (seed ${SEED})`, () => {
    it('hit something, each kind of them', function all() {
      // Where a store is absent, so are its rounds.
      if (struck.length < drawRounds(SEED, ROUNDS).flatMap(({ faults }) => faults).length) this.skip();
      expect(whatHitNothing(struck)).to.deep.equal([]);
    });
  });
