import type { Generation } from '../../../../core/generation/generation.js';
import { violation } from '../../observed.js';
import { RECOVERED_WITHIN_MS, RESUMED_WITHIN_MS, type ScenarioRun } from './scenario-run.js';

/**
 * An account that queues many does not keep another one's first waiting behind all of them, and a slot that was not
 * needed after all is free for the next.
 */
export async function takeTurns(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 150);
  await run.pay(run.other, 150);
  const queued = await Promise.all([0, 1, 2, 3, 4].map(() => run.accept(run.payer, 'narrow')));
  await run.network.ask({ operation: 'cancel', generationId: queued[4] as string }, run.payer);
  const mine = await run.accept(run.other, 'narrow');
  const before = new Set(run.service.provider.handedOver);
  for (const id of [...queued.slice(0, 4), mine]) {
    const { status } = await run.ended(id);
    if (status !== 'succeeded')
      throw violation`20: generation ${id} waited for its turn and ${status}, though nothing went wrong`;
  }
  const later = [...run.service.provider.handedOver].filter((id) => !before.has(id));
  const ahead = later.slice(0, Math.max(0, later.indexOf(mine))).filter((id) => queued.includes(id)).length;
  // One may have been in transit when this one was accepted, and one more may be next in turn.
  if (ahead > 2)
    throw violation`20: ${ahead} generations of an account that queued 5 at once began before the only one of another account`;
}

/** An interrupted run resumes before later ones of its account start: its deadline does not wait for them. */
export async function goOnFirst(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 150);
  run.service.provider.script = { ending: 'succeeds', takesMs: 40_000 };
  const cut = await run.accept(run.payer, 'narrow');
  await run.handedOver(cut);
  for (let count = 0; count < 4; count += 1) await run.accept(run.payer, 'narrow');
  run.restartRunners();
  const { status, runDeadlineAt } = await run.ended(cut);
  if (status !== 'succeeded')
    throw violation`20: generation ${cut} was cut, its provider finished it, and it ${status} at its deadline ${runDeadlineAt} behind four that were queued after it`;
}

/** With exclusive stores, the work of a process that died resumes as soon as the next one has started. */
export async function goOnAtOnce(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'succeeds', takesMs: 20_000 };
  const id = await run.accept(run.payer, 'plain');
  await run.submitted(id);
  run.restartRunners();
  await run.context.scheduler.pause(RESUMED_WITHIN_MS);
  const { lease, status } = await run.generation(id);
  const names = run.runners.map(({ name }) => name);
  if (status === 'running' && !names.includes(lease?.worker ?? '')) {
    throw violation`20: generation ${id} still waits for the lease of ${lease?.worker}, which is gone, ${RESUMED_WITHIN_MS} ms after ${names.join()} was started`;
  }
}

/** However many submissions lose their answers, no more are made than attempts are allowed. */
export async function loseAnswers(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'succeeds', takesMs: 10 * 60_000, losesAnswers: 10 };
  await run.ended(await run.accept(run.payer, 'plain'));
}

/** A result that became ready while no worker ran is delivered, although its deadline has passed. */
export async function becomeReadyUnseen(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'succeeds', takesMs: 20_000 };
  const id = await run.accept(run.payer, 'plain');
  const { attempt, runDeadlineAt = 0, createdAt } = await run.submitted(id);
  for (const process of run.runners) run.service.kill(process);
  await run.context.scheduler.pause(runDeadlineAt - createdAt + 2 * run.farthestSkewMs);
  run.service.startAll();
  const { status, chargedCredits } = await run.ended(id);
  if (attempt?.reference !== undefined && (status !== 'succeeded' || chargedCredits === 0))
    throw violation`20: generation ${id} was ready at its provider while no worker ran, and ${status} for ${chargedCredits}`;
}

/**
 * A worker falls asleep after taking a lease, and its clock is set back meanwhile: by that clock, the lease is valid
 * for two hours.
 */
export async function setBackAsleep(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  const [process] = run.runners;
  if (process === undefined) return;
  run.service.provider.script = { ending: 'succeeds', takesMs: 0 };
  run.service.faults.plan('generations.replace', { fault: 'sleepAfter', forMs: run.lapseMs, by: process.name });
  const id = await run.accept(run.payer, 'plain');
  await run.context.scheduler.pause(run.lapseMs - 1_000);
  process.skewMs -= 2 * 3_600_000;
  await run.context.scheduler.pause(30_000);
  process.skewMs += 2 * 3_600_000;
  await run.ended(id);
}

/** An accepted generation runs, even if its wake-ups are lost. */
export async function loseWakeUp(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'succeeds', takesMs: 0 };
  run.service.wakeUpsToLose = 1;
  const id = await run.accept(run.payer, 'plain');
  const startedAt = run.context.scheduler.now;
  const { status } = await run.ended(id);
  const tookMs = run.context.scheduler.now - startedAt;
  if (status !== 'succeeded' || tookMs > RECOVERED_WITHIN_MS + run.farthestSkewMs) {
    throw violation`12: generation ${id}, whose wake-up was lost, ${status} after ${tookMs} ms`;
  }
}

/** A generation whose turn does not come before its deadline ends then, rather than when its turn would have come. */
export async function waitTooLong(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 150);
  run.service.provider.script = { ending: 'never ends', takesMs: 0 };
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push(await run.accept(run.payer, 'narrow'));
  const ended: Generation[] = [];
  for (const id of ids) ended.push(await run.ended(id));
  for (const { generationId, attemptsMade, createdAt, completedAt = Infinity, terms } of ended) {
    const lateMs = completedAt - terms.queueDeadlineAt;
    if (attemptsMade === 0 && lateMs > RECOVERED_WITHIN_MS)
      throw violation`6: generation ${generationId} of ${createdAt} was never started, and ended ${lateMs} ms after it had to`;
  }
  if (ended.every(({ attemptsMade }) => attemptsMade > 0))
    throw violation`20: three generations of ${ids.length} ran one after another within a queue deadline that leaves time for two`;
}

/** Provider work that was done before a cancel is delivered and paid for. */
export async function stopHalfway(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'never ends', onCancel: 'stops with some', takesMs: 10 * 60_000 };
  const id = await run.accept(run.payer, 'plain', 3);
  await run.handedOver(id);
  await run.network.ask({ operation: 'cancel', generationId: id }, run.payer);
  const { status, chargedCredits, outputs } = await run.ended(id);
  if (status !== 'cancelled' || chargedCredits !== 10 || outputs.length !== 1) {
    throw violation`3: generation ${id} was stopped after 1 output of 10 credits, and is ${status} with ${outputs.length} for ${chargedCredits}`;
  }
}

/**
 * A worker falls asleep after reading a cancel. It wakes up when another worker has delivered the result, and asks the
 * provider to stop. The result does not change.
 */
export async function askToStopTooLate(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'succeeds', onCancel: 'goes on', takesMs: 12_000 };
  const id = await run.accept(run.payer, 'plain', 2);
  const { lease } = await run.submitted(id);
  await run.network.ask({ operation: 'cancel', generationId: id }, run.payer);
  const forMs = run.lapseMs + RECOVERED_WITHIN_MS;
  const by = lease?.worker;
  run.service.faults.plan('generations.read', { fault: 'sleepAfter', forMs, ...(by === undefined ? {} : { by }) });
  run.service.faults.plan('provider.cancel', { fault: 'slow', forMs: 3_000, ...(by === undefined ? {} : { by }) });
  await run.ended(id);
  await run.context.scheduler.pause(forMs + RECOVERED_WITHIN_MS);
}

/**
 * A worker falls asleep after receiving a success, and wakes up when the generation has ended and was charged
 * otherwise.
 */
export async function succeedTooLate(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 50);
  run.service.provider.script = { ending: 'succeeds once', takesMs: 0 };
  run.service.faults.plan('provider.output', { fault: 'sleepAfter', forMs: 90_000 });
  const id = await run.accept(run.payer, 'plain', 2);
  await run.handedOver(id);
  await run.network.ask({ operation: 'cancel', generationId: id }, run.payer);
  await run.ended(id);
  await run.context.scheduler.pause(100_000);
  const { status, chargedCredits } = await run.generation(id);
  if (chargedCredits > 0 && status !== 'succeeded')
    throw violation`15: generation ${id} is ${status} and charged ${chargedCredits}`;
}
