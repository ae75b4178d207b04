import { memoryStores } from '../fixtures/memory-stores.js';
import { Chance } from './world/chance.js';
import { drawClimate, FAIR, type Climate } from './faults/climate.js';
import { Tally } from './coverage/tally.js';
import { Disturbances } from './faults/disturbances.js';
import { Network } from './world/network.js';
import { Auditor } from './audit/auditor.js';
import { Violation, type Watcher } from './observed.js';
import { growOld, populate, type Population } from './workload/population.js';
import { Scheduler } from './world/scheduler.js';
import { Service } from './world/service.js';
import { SIMULATED_MODELS } from './world/models.js';
import { RECOVERY_INTERVAL_MS, SIMULATED_SETTINGS } from './world/settings.js';
import type { Role, SimulatedProcess } from './world/simulated-process.js';
import type { Surroundings } from './world/surroundings.js';
import { Timeline } from './world/timeline.js';
import { QuietDays } from './workload/quiet-days.js';

interface Place { readonly roles: readonly Role[]; readonly isExclusive?: true }

/** Processes that share their stores; the last has its own to itself, and one after the other is started on them. */
const PLACES: readonly Place[] = [
  { roles: ['rest', 'rest', 'worker', 'worker'] }, { roles: ['rest', 'rest', 'worker', 'worker', 'worker'] }, { roles: ['both'] }, { roles: ['both', 'both'] },
  { roles: ['rest', 'both', 'worker'] }, { roles: ['both'], isExclusive: true },
];
/** What is under way when the faults stop has arrived by then, and who was stopped is back. */
const CALMING_MS = 60_000;

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly tally: Tally;
  readonly failure?: { readonly invariant: number; readonly message: string };
}

/** One seed's run: a service on shared stores in some weather, people who use it, and somebody who watches. */
export class SimulatedRun implements Surroundings {
  readonly tally = new Tally();
  readonly timeline: Timeline;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly watcher: Watcher;
  /** The run is set up in fair weather. */
  climate: Climate = FAIR;
  private readonly storm: Climate;
  private readonly service: Service;
  private readonly network: Network;
  private readonly life: Chance;
  private population: Population | undefined;

  constructor(readonly seed: number, print?: (line: string) => void) {
    const source = Chance.from(seed);
    this.storm = drawClimate(source.fork());
    this.chance = source.fork();
    this.life = source.fork();
    this.timeline = new Timeline(print);
    this.scheduler = new Scheduler(source.fork());
    const { roles, isExclusive = false } = source.fork().pick(PLACES);
    const durable = memoryStores({ now: () => this.scheduler.now, after: (delayMs, callback) => this.scheduler.after(delayMs, callback) });
    this.watcher = new Auditor({
      durable, models: SIMULATED_MODELS, settings: SIMULATED_SETTINGS, recoveryIntervalMs: RECOVERY_INTERVAL_MS, isExclusive,
      secrets: () => this.population?.secrets ?? [],
    });
    this.service = new Service(this, source.fork(), durable, { roles, isExclusive });
    this.network = new Network(this, this.service, source.fork());
  }

  kill(process: SimulatedProcess): void {
    this.service.kill(process);
  }

  /** Plays the seed to its end. An error that is no `Violation` is somebody's fault too: its number is 0. */
  async play(): Promise<Outcome> {
    const outcome = () => {
      for (const [step, count] of this.watcher.transitions) this.tally.add(`step ${step}`, count);
      return { seed: this.seed, steps: this.scheduler.steps, tally: this.tally };
    };
    try {
      await this.scheduler.run(this.live());
      return outcome();
    } catch (error) {
      const failure = error instanceof Violation
        ? { invariant: error.invariant, message: error.message }
        : { invariant: 0, message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
      this.timeline.note(this.scheduler.now, 'auditor', () => failure.message);
      return { ...outcome(), failure };
    }
  }

  private async live(): Promise<void> {
    const { scheduler, life } = this;
    this.service.startAll();
    const population = await populate(this.service, this.network, scheduler, life);
    this.population = population;
    const { developers, operators } = population;

    this.climate = this.storm;
    new Disturbances(this, this.service).begin();
    const actions = life.pick([4, 8, 15, 25]);
    const { thinkMs } = this.storm;
    await Promise.all([...developers.map((one) => one.work(actions, thinkMs)), ...operators.map((one) => one.work(actions >> 1, thinkMs))]);
    // What is kept for a time only goes while everything else goes wrong.
    if (life.happens(25)) await growOld(scheduler, developers, 6);

    this.climate = FAIR;
    this.service.startAll();
    await scheduler.pause(CALMING_MS);
    this.service.startAll();
    this.watcher.quiet(scheduler.now);
    for (const operator of operators) await operator.resumeAll();
    await new QuietDays(this, this.service, this.network, population, life).pass();
  }
}
