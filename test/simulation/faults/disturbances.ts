import type { Disturbance } from './climate.js';
import type { Service } from '../world/service.js';
import { SIMULATED_MODELS } from '../world/models.js';
import type { SimulatedProcess } from '../world/simulated-process.js';
import type { Surroundings } from '../world/surroundings.js';

const LONGEST_SLEEP_MS = 40_000;
const LONGEST_OUTAGE_MS = 100_000;
/** Clocks of two machines are never further apart than the minute core allows for. */
const FARTHEST_MS = 29_000;

/** Things that befall a process from outside, at any moment, until the weather turns fair. */
export class Disturbances {
  constructor(private readonly world: Surroundings, private readonly service: Service) {}

  /** Goes on for as long as the climate has any. */
  begin(): void {
    const { climate, chance, scheduler } = this.world;
    if (climate.disturbanceEveryMs === 0 || climate.disturbances.length === 0) return;
    scheduler.after(chance.between(1, 2 * climate.disturbanceEveryMs), () => {
      if (this.world.climate.disturbances.length === 0) return;
      this.befall(chance.pick(this.service.processes), chance.pick(climate.disturbances));
      this.begin();
    });
  }

  private befall(process: SimulatedProcess, disturbance: Disturbance): void {
    if (!process.isAlive) return;
    const { chance, scheduler, tally, timeline } = this.world;
    tally.add(`process ${disturbance}`);
    switch (disturbance) {
      case 'kill': return this.service.kill(process);
      case 'stop':
        if (!process.isStopping) this.service.stop(process).catch((error: unknown) => scheduler.fail(error));
        return;
      case 'sleep':
        process.asleepUntil = scheduler.now + chance.between(100, LONGEST_SLEEP_MS);
        return timeline.note(scheduler.now, process.name, () => `! sleeps for ${process.asleepUntil - scheduler.now} ms`);
      case 'set-clock':
        process.skewMs = Math.max(-FARTHEST_MS, Math.min(FARTHEST_MS, process.skewMs + chance.between(-this.world.climate.skewMs, this.world.climate.skewMs)));
        return timeline.note(scheduler.now, process.name, () => `! its clock is ${process.skewMs} ms off`);
      case 'lose-object':
        this.service.objects.loseOne().catch((error: unknown) => scheduler.fail(error));
        return;
      case 'store-away': return this.service.sendStoreAway(chance.between(100, LONGEST_OUTAGE_MS >> 1));
      case 'provider-away': return this.service.provider.goAway(chance.between(100, LONGEST_OUTAGE_MS));
      case 'model-withdrawn': process.withdrawn = chance.pick(SIMULATED_MODELS).modelKey;
    }
  }
}
