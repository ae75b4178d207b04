import { Violation, type Request } from '../../observed.js';
import type { SimulatedProcess } from '../../world/simulated-process.js';
import type { Stage } from './stage.js';

const WISH = { model_key: 'plain', operation: 'image_generation', prompt: 'a wish', parameters: { count: 2 } } as const;

/** A process falls asleep over a request it is about to refuse; meanwhile another one accepts it under the same key. */
export async function refuseTooLate(stage: Stage): Promise<void> {
  const [slow, quick] = stage.doors as [SimulatedProcess, SimulatedProcess];
  const lapseMs = stage.lapseMs;
  await stage.drain();
  const request: Request = { operation: 'create', key: stage.name(), body: WISH };
  // Authentication reads the account too: the process remembers the credential, so that the sleep hits the read for the hold.
  await stage.network.ask({ operation: 'credits' }, stage.hero, slow);
  stage.service.faults.plan('accounts.read', { fault: 'sleepAfter', forMs: lapseMs + 5_000 });
  const refused = stage.network.ask(request, stage.hero, slow);
  await stage.world.scheduler.pause(lapseMs);
  await stage.pay(stage.hero, 40, quick);
  await stage.network.ask(request, stage.hero, quick);
  // What the sleeper does to the key may also be lost on the way.
  if (stage.world.chance.happens(500)) stage.service.faults.plan('claims.remove', { fault: 'lostRequest', forMs: 0 });
  await refused;
}

/** A create that was cut is answered at its next try where nobody else can be at work on it. */
export async function retryAtOnce(stage: Stage): Promise<void> {
  await stage.pay(stage.hero, 40);
  const request: Request = { operation: 'create', key: stage.name(), body: WISH };
  stage.service.faults.plan('generations.insert', { fault: 'crashBefore', forMs: 0 });
  const cut = stage.network.ask(request, stage.hero);
  await stage.world.scheduler.pause(1_000);
  stage.service.startAll();
  const answer = await stage.network.ask(request, stage.hero);
  if (answer.outcome !== 'success') throw new Violation(12, `a create that was cut is not answered though its process is gone: ${JSON.stringify(answer)}`);
  await cut;
}

/** The end of a refusal arrives when the key has long been used for good. */
export async function freeTooLate(stage: Stage): Promise<void> {
  const lapseMs = stage.lapseMs;
  await stage.drain();
  const request: Request = { operation: 'create', key: stage.name(), body: WISH };
  stage.service.faults.plan('claims.remove', { fault: 'lateEffect', forMs: lapseMs + 5_000 });
  await stage.network.ask(request, stage.hero);
  await stage.world.scheduler.pause(lapseMs);
  await stage.network.ask(request, stage.hero);
  await stage.pay(stage.hero, 40);
  await stage.network.ask(request, stage.hero);
  await stage.world.scheduler.pause(lapseMs);
  await stage.network.ask(request, stage.hero);
}
