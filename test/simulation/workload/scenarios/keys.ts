import { type Request, violation } from '../../observed.js';
import type { SimulatedProcess } from '../../harness/simulated-process.js';
import type { ScenarioRun } from './scenario-run.js';

const WISH = { model_key: 'plain', operation: 'image_generation', prompt: 'a wish', parameters: { count: 2 } } as const;

/**
 * A process falls asleep over a request it is about to refuse, having taken over its key; meanwhile another one accepts
 * the request under the same key.
 */
export async function refuseTooLate(run: ScenarioRun): Promise<void> {
  const [slow, quick] = run.fronts as [SimulatedProcess, SimulatedProcess];
  const lapseMs = run.lapseMs;
  const { faults } = run.service;
  const request: Request = { operation: 'create', key: run.name(), body: WISH };
  await run.drain();
  await run.pay(run.payer, 20);
  faults.plan('accounts.apply', { fault: 'lostRequest', forMs: 0, by: slow.name });
  await run.network.ask(request, run.payer, slow);
  await run.context.scheduler.pause(lapseMs);
  await run.drain(quick);
  faults.plan('claims.replace', { fault: 'sleepAfter', forMs: lapseMs + 5_000, by: slow.name });
  const refused = run.network.ask(request, run.payer, slow);
  await run.context.scheduler.pause(lapseMs);
  await run.pay(run.payer, 40, quick);
  await run.network.ask(request, run.payer, quick);
  await run.drain(quick);
  // The sleeper's write to the key may also be lost in transit.
  if (run.context.chance.happens(500)) faults.plan('claims.remove', { fault: 'lostRequest', forMs: 0 });
  await refused;
}

/** A request whose key is already claimed when the credits that were available for it are removed. */
async function refusedBehindItsClaim(
  run: ScenarioRun,
  by: SimulatedProcess,
  request: Request,
): Promise<{ readonly answered: Promise<unknown> }> {
  await run.drain();
  await run.pay(run.payer, 20);
  // Authentication reads the account too: the process caches the credential, so that later reads are for the hold.
  await run.network.ask({ operation: 'credits' }, run.payer, by);
  run.service.faults.plan('accounts.apply', { fault: 'slow', forMs: 3_000, by: by.name });
  const answered = run.network.ask(request, run.payer, by);
  await run.context.scheduler.pause(500);
  // A process serialises its writes to an account, so that only another process can come first.
  await run.drain(run.fronts.find((front) => front !== by));
  return { answered };
}

/** With exclusive stores, an interrupted create is answered at its next retry. */
export async function retryAtOnce(run: ScenarioRun): Promise<void> {
  await run.pay(run.payer, 40);
  const request: Request = { operation: 'create', key: run.name(), body: WISH };
  run.service.faults.plan('generations.insert', { fault: 'crashBefore', forMs: 0 });
  const cut = run.network.ask(request, run.payer);
  await run.context.scheduler.pause(1_000);
  run.service.startAll();
  const answer = await run.network.ask(request, run.payer);
  if (answer.outcome !== 'success')
    throw violation`12: a create that was cut is not answered though its process is gone: ${JSON.stringify(answer)}`;
  await cut;
}

/** The last write of a refusal arrives when the key has long been used successfully. */
export async function freeTooLate(run: ScenarioRun): Promise<void> {
  const lapseMs = run.lapseMs;
  const [front] = run.fronts as [SimulatedProcess];
  const request: Request = { operation: 'create', key: run.name(), body: WISH };
  run.service.faults.plan('claims.remove', { fault: 'lateEffect', forMs: lapseMs + 5_000 });
  await (
    await refusedBehindItsClaim(run, front, request)
  ).answered;
  await run.context.scheduler.pause(lapseMs);
  await run.network.ask(request, run.payer);
  await run.pay(run.payer, 40);
  await run.network.ask(request, run.payer);
  await run.context.scheduler.pause(lapseMs);
  await run.network.ask(request, run.payer);
}
