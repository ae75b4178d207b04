import type { MemoryWakeUps } from '../../../adapters/memory/memory-wake-ups.js';
import type { WakeUps, WakeUpSubject } from '../../../core/ports/wake-ups.js';
import type { SimulatedProcess } from '../harness/simulated-process.js';
import type { RunContext } from '../harness/run-context.js';

const LATEST_MS = 60_000;

type Handler = Parameters<WakeUps['start']>[0];

/** Wake-ups of one process that may get lost, come late or come more than once. */
export class FaultyWakeUps implements WakeUps {
  readonly stop: WakeUps['stop'];

  constructor(
    private readonly wakeUps: MemoryWakeUps,
    private readonly context: RunContext,
    private readonly onStart: (deliver: Handler) => void,
    private readonly service: { readonly processes: readonly SimulatedProcess[]; wakeUpsToLose: number },
  ) {
    this.stop = () => wakeUps.stop();
  }

  async schedule(subject: WakeUpSubject, at: number): Promise<void> {
    const { profile, chance, tally } = this.context;
    if (this.service.wakeUpsToLose > 0) {
      this.service.wakeUpsToLose -= 1;
      return;
    }
    if (!chance.happens(profile.wakeUpPerMille)) return this.wakeUps.schedule(subject, at);
    const fate = chance.pick(['lost', 'late', 'twice'] as const);
    tally.add(`wake-up ${fate}`);
    if (fate === 'late') return this.wakeUps.schedule(subject, at + chance.between(1, LATEST_MS));
    if (fate === 'lost') return;
    await this.wakeUps.schedule(subject, at);
    for (let times = chance.between(1, 3); times > 0; times -= 1) this.deliverAgain(subject);
  }

  /** To anybody, now or later: to one who has it already, or to two at once. */
  private deliverAgain(subject: WakeUpSubject): void {
    const { scheduler, chance } = this.context;
    scheduler.after(chance.skewed(LATEST_MS), () => {
      const process = chance.pick(this.service.processes);
      // What becomes of it is known to whoever delivered the first one.
      if (process.isAlive) process.deliver?.(subject).catch(() => undefined);
    });
  }

  start(handler: Handler, limit: number): Promise<void> {
    this.onStart(handler);
    return this.wakeUps.start(handler, limit);
  }
}
