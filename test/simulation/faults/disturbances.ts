import type { RunContext } from '../harness/run-context.js';
import type { Service } from '../harness/service.js';
import { SIMULATED_MODELS } from '../harness/settings.js';
import type { SimulatedProcess } from '../harness/simulated-process.js';
import type { Disturbance } from './fault-profile.js';

const LONGEST_SLEEP_MS = 40_000;
const LONGEST_OUTAGE_MS = 100_000;
/** Clocks of two machines never differ by more than the minute that core allows for. */
const FARTHEST_MS = 29_000;

/** Events that affect a process from outside, at any moment, until faults stop. */
export class Disturbances {
  constructor(
    private readonly context: RunContext,
    private readonly service: Service,
  ) {}

  /** Continues for as long as the profile has any. */
  begin(): void {
    const { profile, chance, scheduler } = this.context;
    if (profile.disturbanceEveryMs === 0 || profile.disturbances.length === 0) return;
    scheduler.after(chance.between(1, 2 * profile.disturbanceEveryMs), () => {
      if (this.context.profile.disturbances.length === 0) return;
      this.apply(chance.pick(this.service.processes), chance.pick(profile.disturbances));
      this.begin();
    });
  }

  private apply(process: SimulatedProcess, disturbance: Disturbance): void {
    if (!process.isAlive) return;
    const { chance, scheduler, tally, timeline } = this.context;
    tally.add(`process ${disturbance}`);
    switch (disturbance) {
      case 'kill':
        return this.service.kill(process);
      case 'stop':
        if (!process.isStopping) this.service.stop(process).catch((error: unknown) => scheduler.fail(error));
        return;
      case 'sleep':
        process.asleepUntil = scheduler.now + chance.between(100, LONGEST_SLEEP_MS);
        return timeline.note(
          scheduler.now,
          process.name,
          () => `! sleeps for ${process.asleepUntil - scheduler.now} ms`,
        );
      case 'set-clock':
        process.skewMs = Math.max(
          -FARTHEST_MS,
          Math.min(
            FARTHEST_MS,
            process.skewMs + chance.between(-this.context.profile.skewMs, this.context.profile.skewMs),
          ),
        );
        return timeline.note(scheduler.now, process.name, () => `! its clock is ${process.skewMs} ms off`);
      case 'lose-object':
        this.service.objects.loseOne().catch((error: unknown) => scheduler.fail(error));
        return;
      case 'store-away':
        return this.service.sendStoreAway(chance.between(100, LONGEST_OUTAGE_MS >> 1));
      case 'provider-away':
        return this.service.provider.goAway(chance.between(100, LONGEST_OUTAGE_MS));
      case 'model-withdrawn':
        process.withdrawn = chance.pick(SIMULATED_MODELS).modelKey;
    }
  }
}
