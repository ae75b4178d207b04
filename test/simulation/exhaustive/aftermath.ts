import { Dispatcher } from '../../../core/generation/run/dispatcher.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { settled } from '../../fixtures/clocks.js';
import { violation } from '../observed.js';
import { type Answer, serve } from './serve.js';
import type { SmallProcess } from './small-process.js';
import type { SmallRun } from './small-run.js';
import { CALLER, LEAP_MS, type SmallService } from './small-service.js';
import { checkRest, checkState } from './state-checks.js';

/** Longer than the queue deadline and the run timeout together. */
const MAX_ROUNDS = 20;

/**
 * Faults stop: every process is gone, a new worker recovers what they left, and time passes until nothing is open. Then
 * each key is sent once more to a new process, which must answer consistently with the stored state.
 */
export async function checkAftermath(run: SmallRun): Promise<void> {
  const { service, setting } = run;
  for (const process of run.processes) process.crash();
  const late = new Late(service);
  await late.open();
  await late.untilRest();
  for (const request of setting.requests) {
    if (request.operation !== 'create') continue;
    const before = await generationOf(service, request.key);
    const answer = await late.ask(request);
    service.witness.answered(request, answer);
    service.witness.throwViolation();
    const after = await generationOf(service, request.key);
    if (!isInKeeping(answer, before?.generationId, after?.generationId)) {
      throw violation`11: at rest, with ${before?.generationId ?? 'nothing'} under key ${request.key}, it was answered with ${describe(answer)}, and then there was ${after?.generationId ?? 'nothing'}`;
    }
    await late.untilRest();
  }
  const keys = new Set(setting.requests.map(({ key }) => key));
  const made = (await Promise.all([...keys].map((key) => generationOf(service, key)))).filter(
    (generation) => generation !== undefined,
  );
  if (made.length !== setting.accepted)
    throw violation`13: in the end ${made.length} of ${keys.size} keys have a generation, not ${setting.accepted}`;
}

/** If there is a generation, its replay, or a refusal of another body; otherwise a new generation or a refusal. */
function isInKeeping(answer: Answer, before: string | undefined, after: string | undefined): boolean {
  if (answer.outcome === 'accepted')
    return (
      answer.generation.generationId === after &&
      answer.replayed === (before !== undefined) &&
      (before ?? after) === after
    );
  if (answer.outcome !== 'refused' || after !== before) return false;
  return (
    answer.code === 'IDEMPOTENCY_PAYLOAD_MISMATCH' || (before === undefined && answer.code === 'CREDITS_INSUFFICIENT')
  );
}

function describe(answer: Answer): string {
  if (answer.outcome === 'refused') return answer.code;
  return answer.outcome === 'broken'
    ? answer.message
    : `${answer.generation.generationId}${answer.replayed ? ', a replay' : ', a new one'}`;
}

async function generationOf(
  service: SmallService,
  key: string,
): Promise<{ readonly generationId: string } | undefined> {
  const { records } = await service.snapshot();
  return records.find((record) => record.kind === 'generation' && record.clientTraceId === key);
}

/** The processes that run afterwards, and their time, which passes by itself. */
class Late {
  private readonly worker: SmallProcess;
  private readonly rest: SmallProcess;
  private readonly recovery: Recovery;
  private readonly workerContext: ReturnType<SmallService['contextOf']>;

  constructor(private readonly service: SmallService) {
    this.worker = service.directProcess('late worker', 0xf0);
    this.rest = service.directProcess('late front', 0xf1);
    this.workerContext = service.contextOf(this.worker);
    this.recovery = new Recovery(this.workerContext);
  }

  async open(): Promise<void> {
    const dispatcher = new Dispatcher(this.workerContext, this.worker.name);
    await this.workerContext.wakeUps.start(({ id }) => dispatcher.deliver(id), 10);
  }

  ask(request: Parameters<typeof serve>[2]): Promise<Answer> {
    return this.run(serve(this.service.contextOf(this.rest), CALLER, request, undefined));
  }

  async untilRest(): Promise<void> {
    const { service } = this;
    for (let round = 0; ; round += 1) {
      await this.pass(LEAP_MS);
      await this.run(this.recovery.pass());
      await settled();
      service.witness.throwViolation();
      const snapshot = await service.snapshot();
      checkState(snapshot, service.witness.told);
      const isAtRest =
        snapshot.account.holds.size === 0 &&
        snapshot.records.every((record) => record.kind !== 'generation' || record.settledAt !== undefined);
      if (!isAtRest && round < MAX_ROUNDS) continue;
      return checkRest(snapshot, service.witness.told);
    }
  }

  private async run<T>(work: Promise<T>): Promise<T> {
    const progress = { isDone: false };
    const watched = work.finally(() => {
      progress.isDone = true;
    });
    watched.catch(() => undefined);
    for (await settled(); !progress.isDone; await settled()) {
      if (!this.fireBefore(Infinity)) throw violation`20: work after the faults waits for something that never comes`;
    }
    return watched;
  }

  private async pass(ms: number): Promise<void> {
    const until = this.service.time.now + ms;
    do await settled();
    while (this.fireBefore(until));
    this.service.time.now = Math.max(until, this.service.time.now);
  }

  private fireBefore(until: number): boolean {
    const timers = [this.worker, this.rest].flatMap((process) => process.timers.map((timer) => ({ process, timer })));
    const [first] = timers.filter(({ timer }) => timer.at <= until).sort((a, b) => a.timer.at - b.timer.at);
    if (first === undefined) return false;
    this.service.time.now = Math.max(this.service.time.now, first.timer.at);
    first.process.drop(first.timer);
    first.timer.callback();
    return true;
  }
}
