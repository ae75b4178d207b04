// Goal: a create over /v1 whose answer is cut is bought once, whatever befalls any one call of its process.
// Method: each store call of the first process in turn gets each fault; the client repeats as the SDKs do, at another
// process, and generations, credits and holds are counted. The simulation plays everything beside that.
import { expect } from 'chai';
import type { Context } from '../../core/context.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { ServiceError, StoreUnavailable } from '../../core/errors.js';
import { createMatched, type Matched } from '../../core/generation/create-matched.js';
import { isTerminal } from '../../core/generation/generation.js';
import type { Submission } from '../../core/ports/provider.js';
import { Recovery } from '../../core/recovery/recover.js';
import { pause } from '../../core/waiting.js';
import { withWallTime } from '../fixtures/clocks.js';
import type { Interceptor, PortCall } from '../fixtures/intercepted.js';
import { recoverAll } from '../fixtures/recovery-passes.js';
import { CoreHarness, CoreWorker } from '../harness/core-harness.js';
import { sizeOf } from '../harness/run-sizes.js';
import { reportOf } from './steps.js';

/** Those first that `npm test` plays. */
const FAULTS = ['dies-after', 'dies-before', 'lost-request', 'lost-answer', 'late', 'slow', 'slow-answer'] as const;

const DELAY_MS = 1_000;
const TASK_MS = 1_000;
const LOOK_MS = 250;
const RECOVERY_MS = 10_000;
/** How far the clocks of the three processes are ahead, so that leases are read by clocks that differ. */
const AHEAD_MS = [0, 20_000, -20_000] as const;
/** How long each client waits before it repeats. The SDK of OpenAI says with a header that it does; the AI SDK does not. */
const PAUSES_MS = { 'openai': [500, 500], 'ai-sdk': [2_000, 4_000] } as const;
const NEVER = new Promise<never>(() => undefined);

interface Case {
  readonly fault: (typeof FAULTS)[number];
  readonly isExclusive: boolean;
  readonly client: keyof typeof PAUSES_MS;
}

/** A process that serves requests, from its start to its death. */
class ServingProcess {
  isDead = false;
  calls = 0;
  readonly context: Context;

  constructor(
    private readonly harness: CoreHarness,
    { isExclusive }: Pick<Case, 'isExclusive'>,
    aheadMs: number,
    private readonly faulted?: { readonly call: number; readonly fault: Case['fault'] },
  ) {
    const { clock, ports } = harness;
    const boot = { id: ports.ids.uuid(), isExclusive };
    this.context = harness.process(this.intercept, { clock: withWallTime(clock, () => clock.now() + aheadMs) }, boot);
  }

  private readonly intercept: Interceptor = async (call) => {
    if (this.isDead) return NEVER;
    const isFaulted = this.calls === this.faulted?.call;
    this.calls += 1;
    const answer = await (isFaulted ? this.disturbed(call) : call.proceed());
    return this.isDead ? NEVER : answer;
  };

  private async disturbed(call: PortCall): Promise<unknown> {
    const { clock } = this.harness;
    const fault = this.faulted?.fault;
    if (fault === 'lost-request') throw new StoreUnavailable('The request was lost.');
    if (fault === 'late') {
      // Only of these records: the simulation does it to the others.
      if (call.name !== 'fingerprints.replace') return call.proceed();
      clock.after(DELAY_MS, () => void call.proceed());
      throw new StoreUnavailable('The store does not answer.');
    }
    if (fault === 'slow') await pause(clock, DELAY_MS);
    if (fault === 'dies-before') this.isDead = true;
    const answer = this.isDead ? NEVER : await call.proceed();
    if (fault === 'slow-answer') await pause(clock, DELAY_MS);
    if (fault === 'dies-after') this.isDead = true;
    if (fault === 'lost-answer') throw new StoreUnavailable('The answer was lost.');
    return answer;
  }
}

/** Sends one request to a process; resolves to whether the whole answer was written. */
async function isAnswered(
  harness: CoreHarness,
  { context }: ServingProcess,
  { isRetry, isCut }: { readonly isRetry: boolean; readonly isCut: boolean },
): Promise<boolean> {
  const body = harness.body();
  let matched: Matched;
  try {
    matched = await createMatched(context, harness.caller, { content: body, isRetry, prepare: async () => body });
  } catch (error) {
    if (error instanceof StoreUnavailable) return false;
    expect(error).to.be.instanceOf(ServiceError).with.property('code', 'SERVICE_UNAVAILABLE');
    return false;
  }
  let { generation } = matched;
  while (!isTerminal(generation.status)) {
    await pause(context.clock, LOOK_MS);
    generation = await harness.generation(generation.generationId);
  }
  if (isCut) matched.place?.leave();
  else matched.place?.deliver(generation);
  return !isCut;
}

/** The first request is cut, and repeated at other processes until it is answered. Returns the calls of the first one. */
async function callsOf(harness: CoreHarness, { fault, isExclusive, client }: Case, call: number): Promise<number> {
  const { clock } = harness;
  const first = new ServingProcess(harness, { isExclusive }, AHEAD_MS[0], { call, fault });
  let process = first;
  for (const [index, aheadMs] of AHEAD_MS.entries()) {
    if (process.isDead || (index > 0 && !isExclusive)) process = new ServingProcess(harness, { isExclusive }, aheadMs);
    const over: { isAnswered?: boolean; error?: unknown } = {};
    const sent = isAnswered(harness, process, { isRetry: client === 'openai' && index > 0, isCut: index === 0 });
    sent.then(
      (answered) => (over.isAnswered = answered),
      (error: unknown) => (over.error = error),
    );
    while (over.isAnswered === undefined && over.error === undefined && !process.isDead) await pause(clock, LOOK_MS);
    if (over.error !== undefined) throw over.error as Error;
    if (over.isAnswered === true) return first.calls;
    await pause(clock, PAUSES_MS[client][index] ?? 0);
  }
  throw new Error(`Not answered after a fault at call ${call}.`);
}

/** Plays one fault at one call of the first process. Returns the number of its calls. */
async function playFault(played: Case, call: number): Promise<number> {
  const harness = await CoreHarness.open();
  const { clock, provider } = harness;
  provider.newReport = ({ token }: Submission) => {
    clock.after(TASK_MS, () => {
      for (const task of provider.tasks.values())
        if (task.submission.token === token) task.report = reportOf('good', 1);
    });
    return { state: 'running' };
  };
  await CoreWorker.start(harness);
  const recovery = new Recovery(harness.context);
  const playing = { isOver: false };
  // Recovery wakes what a process has created and not announced.
  const recover = async (): Promise<void> => {
    for (; !playing.isOver; await pause(clock, RECOVERY_MS)) await recovery.pass();
  };
  void recover();
  const calls = await clock.run(callsOf(harness, played, call));
  playing.isOver = true;

  await recoverAll(harness);
  // A hold of a process whose clock is ahead is old enough for recovery only that much later.
  await clock.advance(60_000);
  await recoverAll(harness);
  expect(await harness.generations(), `generations after a fault at call ${call}`).to.have.lengthOf(1);
  expect(await harness.account(), `credits after a fault at call ${call}`).to.include({ reserved: 0, spent: 10 });
  expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
  return calls;
}

describe('repeated creates', () => {
  for (const fault of FAULTS.slice(0, sizeOf('createFaults')))
    it(`buy once if any one call of the first one has the fault: ${fault}`, async () => {
      for (const isExclusive of [true, false])
        for (const client of ['openai', 'ai-sdk'] as const) {
          let call = 0;
          while (call <= (await playFault({ fault, isExclusive, client }, call))) call += 1;
          expect(call, 'calls of one create').to.be.above(5);
        }
    });
});
