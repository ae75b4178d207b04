/**
 * Goal: over MongoDB, a run that lost its worker continues before younger ones of its model start, although workers are
 * killed all the time; none waits until its deadline while slots go to others. Method: three workers with few slots and
 * a long queue; every second, one of those that serve is killed and restarted. Meanwhile the records are polled, and
 * the younger runs that started are counted for every period without a worker.
 */
import { expect } from 'chai';
import type { Suite } from 'mocha';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { type Generation, isTerminal } from '../../core/generation/generation.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { sizeOf } from '../harness/run-sizes.js';
import { orSkip } from '../servers/servers.js';
import { Installation } from './harness/installation.js';
import { type ProcessName, WORKERS } from './rounds/schedule.js';
import { OwnerlessWatch } from './rounds/struck.js';

const KILLS = sizeOf('killsOfWorkers');
const PLACES = 2;
const QUEUED = 60;
const LOOK_EVERY_MS = 250;
/** A lease's margin, a pass of recovery and the delivery of a wake-up. */
const ALLOWANCE_MS = 4_000;
/**
 * A worker may die with the generation in its queue repeatedly: each time the others fill their slots before it is
 * woken again. Behind the queue, everything queued would overtake it.
 */
const MOST_OVERTAKEN = 2 * PLACES * WORKERS.length;

if (KILLS > 0) describe(`three workers of which one is killed every second, ${KILLS} times`, killedEverySecond);

function killedEverySecond(this: Suite): void {
  this.timeout(900_000);
  const logs = join(tmpdir(), `darkroom-killed-${process.pid}`);
  const over = new AbortController();
  let installation: Installation | undefined;

  before(async function open() {
    installation = await orSkip(
      this,
      Installation.open({ objects: 'minio', logs, name: `killed-${process.pid}`, concurrency: PLACES }),
    );
  });

  after(async function close() {
    over.abort();
    await installation?.close();
    if (this.test?.parent?.tests.some((test) => test.isFailed()) !== true)
      await rm(logs, { recursive: true, force: true });
  });

  it('continue with what was cut before they start anything younger', async () => {
    const {
      operator: { context },
      process: named,
    } = bound(installation as Installation);
    const caller: Caller = {
      ...(await newOwner(context, 'many', 100_000)),
      credentialId: context.ids.uuid(),
      scopes: SCOPES,
    };
    for (let made = 0; made < QUEUED; made += 1) {
      await createGeneration(context, caller, `k${made}`, {
        model_key: 'sandbox-test',
        operation: 'image_generation',
        prompt: 'A queue',
        parameters: { behaviour: 'slow', delay_ms: 1_500, size: '128x128' },
      });
    }
    await Promise.all(WORKERS.map((name) => named(name).ensureServing()));
    const look = async (): Promise<readonly Generation[]> =>
      (await context.generations.list({ of: 'account', accountId: caller.accountId }, { limit: 1_000 })).items;
    const watch = new OwnerlessWatch(ALLOWANCE_MS);
    const watching = (async () => {
      for (let generations = await look(); ; generations = await look()) {
        watch.see(Date.now(), generations);
        if (generations.every(({ settledAt }) => settledAt !== undefined)) return generations;
        await sleep(LOOK_EVERY_MS, undefined, { signal: over.signal });
      }
    })();
    await Promise.race([killEverySecond(named, over.signal), watching]);
    const ended = await watching;

    const timedOut = ended.filter(({ error }) => error?.code === 'TASK_TIMEOUT');
    const failed = ended.filter(({ status }) => status === 'failed');
    const most = Math.max(0, ...watch.stretches.map(({ overtakenBy }) => overtakenBy));
    const longestMs = Math.max(0, ...watch.stretches.map(({ from, until }) => until - from));
    console.log(
      `      ${watch.stretches.length} stretches without a worker, the longest of ${longestMs} ms; ${most} younger ones began in one at most; ${failed.length} of ${ended.length} failed, ${timedOut.length} of them for time`,
    );
    expect(watch.stretches.length, 'runs were cut').to.be.at.least(KILLS / 2);
    expect(most, 'overtaken by').to.be.at.most(MOST_OVERTAKEN);
    expect(ended.every(({ status }) => isTerminal(status))).to.equal(true);
    expect((await verifyCredits(context)).findings).to.deep.equal([]);
  });
}

interface BoundInstallation {
  readonly operator: Installation['operator'];
  readonly process: Installation['process'];
}

function bound(installation: Installation): BoundInstallation {
  return { operator: installation.operator, process: (name) => installation.process(name) };
}

async function killEverySecond(named: Installation['process'], signal: AbortSignal): Promise<void> {
  const serving: ProcessName[] = [...WORKERS];
  let failure: unknown;
  for (let kills = 0; kills < KILLS;) {
    await sleep(1_000, undefined, { signal });
    if (failure !== undefined) throw failure;
    // A machine that is slow to start them must always have at least one.
    const name = serving.length > 1 ? serving.shift() : undefined;
    if (name === undefined) continue;
    kills += 1;
    await named(name).end('SIGKILL');
    named(name)
      .ensureServing()
      .then(
        () => serving.push(name),
        (error: unknown) => {
          failure = error;
        },
      );
  }
}
