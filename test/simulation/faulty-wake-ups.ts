import type { MemoryWakeUps } from '../../adapters/memory/memory-wake-ups.js';
import type { WakeUps } from '../../core/ports/wake-ups.js';
import type { Surroundings } from './surroundings.js';

const LATEST_MS = 60_000;

type Handler = Parameters<WakeUps['start']>[0];

/** Wake-ups of one process that may get lost, come late or come more than once. */
export class FaultyWakeUps implements WakeUps {
  readonly every: WakeUps['every'];
  readonly stop: WakeUps['stop'];

  constructor(private readonly wakeUps: MemoryWakeUps, private readonly world: Surroundings, private readonly onStart: (deliver: Handler) => void) {
    this.every = (name, intervalMs, task) => wakeUps.every(name, intervalMs, task);
    this.stop = () => wakeUps.stop();
  }

  async schedule(generationId: string, at: number): Promise<void> {
    const { climate, chance, tally } = this.world;
    if (!chance.happens(climate.wakeUpPerMille)) return this.wakeUps.schedule(generationId, at);
    const fate = chance.pick(['lost', 'late', 'twice'] as const);
    tally.add(`wake-up ${fate}`);
    if (fate === 'late') return this.wakeUps.schedule(generationId, at + chance.between(1, LATEST_MS));
    if (fate === 'lost') return;
    await this.wakeUps.schedule(generationId, at);
    this.world.scheduler.after(chance.between(0, LATEST_MS), () => void this.wakeUps.schedule(generationId, at));
  }

  start(handler: Handler, limit: number): Promise<void> {
    this.onStart(handler);
    return this.wakeUps.start(handler, limit);
  }
}
