import type { Clock } from '../../core/ports/machine.js';
import { MemoryAcceptances } from '../adapters/memory/generation-stores.js';
import { memoryStores, type MemoryStores } from '../fixtures/memory-stores.js';
import { SimulationChecker } from './checker/checker.js';
import { Tally } from './coverage/branches.js';
import { Disturbances } from './faults/disturbances.js';
import { drawFaultProfile, type FaultProfile, NO_FAULTS } from './faults/fault-profile.js';
import { SIMULATED_LIMITS } from './faults/simulated-provider.js';
import { Network } from './harness/network.js';
import type { RunContext } from './harness/run-context.js';
import { Chance, Scheduler, Timeline } from './harness/scheduler.js';
import { Service } from './harness/service.js';
import { RECOVERY_INTERVAL_MS, SIMULATED_MODELS, SIMULATED_SETTINGS } from './harness/settings.js';
import type { Role, SimulatedProcess } from './harness/simulated-process.js';
import { Violation } from './observed.js';
import { AfterFaults } from './workload/after-faults.js';
import { type Clients, createClients, passHours } from './workload/clients.js';
import { Consents } from './workload/consents.js';
import { Readers } from './workload/operator.js';
import { RepeatingClient } from './workload/repeating-client.js';

interface Place {
  readonly roles: readonly Role[];
  readonly isExclusive?: true;
}

/** Processes that share their stores; the last has its own stores, on which one process after the other is started. */
const PLACES: readonly Place[] = [
  { roles: ['rest', 'rest', 'worker', 'worker'] },
  { roles: ['rest', 'rest', 'worker', 'worker', 'worker'] },
  { roles: ['both'] },
  { roles: ['both', 'both'] },
  { roles: ['rest', 'both', 'worker'] },
  { roles: ['both'], isExclusive: true },
];
/** Time until requests that were in flight when the faults stopped have arrived, and stopped processes are back. */
const CALMING_MS = 60_000;

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly tally: Tally;
  readonly failure?: { readonly invariant: number; readonly message: string };
}

/** Far from the seeds that are played. */
const FIRST_OF_PROGRAMS = 1_000_000_007;
const FIRST_OF_WEBHOOKS = 2_000_000_011;
const FIRST_OF_STORES = 3_000_000_019;
const FIRST_OF_REPEATING = 5_000_547_916;
const FIRST_OF_CONSENTS = 4_000_000_007;

/** One seed's run: a service on shared stores under a fault profile, clients that use it, and a checker. */
export class SimulatedRun implements RunContext {
  readonly tally = new Tally();
  readonly timeline: Timeline;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly observer: SimulationChecker;
  /** The run is set up without faults. */
  profile: FaultProfile = NO_FAULTS;
  private readonly drawnProfile: FaultProfile;
  private readonly service: Service;
  private readonly network: Network;
  private readonly life: Chance;
  private readonly ofPrograms: Chance;
  private clients: Clients | undefined;

  constructor(
    readonly seed: number,
    print?: (line: string) => void,
  ) {
    const source = Chance.from(seed);
    this.drawnProfile = drawFaultProfile(source.fork());
    this.chance = source.fork();
    this.life = source.fork();
    this.ofPrograms = Chance.from(seed + FIRST_OF_PROGRAMS);
    this.timeline = new Timeline(print);
    this.scheduler = new Scheduler(source.fork());
    const { roles, isExclusive = false } = source.fork().pick(PLACES);
    const durable = storesOf(seed, {
      now: () => this.scheduler.now,
      monotonic: () => this.scheduler.now,
      after: (delayMs, callback) => this.scheduler.after(delayMs, callback),
    });
    this.observer = new SimulationChecker({
      durable,
      models: SIMULATED_MODELS,
      settings: SIMULATED_SETTINGS,
      providerLimits: SIMULATED_LIMITS,
      recoveryIntervalMs: RECOVERY_INTERVAL_MS,
      isExclusive,
      secrets: () => this.clients?.secrets ?? [],
    });
    this.service = new Service(this, source.fork(), durable, { roles, isExclusive });
    this.network = new Network(this, this.service, source.fork());
  }

  kill(process: SimulatedProcess): void {
    this.service.kill(process);
  }

  /** Plays the seed to its end. Any error other than a `Violation` is a failure too: its number is 0. */
  async play(): Promise<Outcome> {
    const outcome = () => {
      for (const [step, count] of this.observer.transitions) this.tally.add(`step ${step}`, count);
      return { seed: this.seed, steps: this.scheduler.steps, tally: this.tally };
    };
    try {
      await this.scheduler.run(this.live());
      return outcome();
    } catch (error) {
      const failure =
        error instanceof Violation
          ? { invariant: error.invariant, message: error.message }
          : { invariant: 0, message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
      this.timeline.note(this.scheduler.now, 'checker', () => failure.message);
      return { ...outcome(), failure };
    }
  }

  private async live(): Promise<void> {
    const { scheduler, life } = this;
    this.service.startAll();
    const clients = await createClients(this.service, this.network, scheduler, life, {
      programs: this.ofPrograms,
      webhooks: Chance.from(this.seed + FIRST_OF_WEBHOOKS),
    });
    this.clients = clients;
    const { developers, operators } = clients;
    const readers = new Readers(this.seed, this, this.service, this.network, clients.lasting);

    const repeating = await this.repeatingClients(clients);

    this.profile = this.drawnProfile;
    new Disturbances(this, this.service).begin();
    const actions = life.pick([4, 8, 15, 25]);
    const { thinkMs } = this.drawnProfile;
    await Promise.all([
      ...developers.map((one) => one.work(actions, thinkMs)),
      ...operators.map((one) => one.work(actions >> 1, thinkMs)),
      ...repeating.map((one) => one.work(actions, thinkMs)),
      readers.work(actions >> 1, thinkMs),
    ]);
    // Retention periods end while everything else fails, too.
    if (life.happens(25)) await passHours(scheduler, developers, 6);

    this.profile = NO_FAULTS;
    this.service.startAll();
    await scheduler.pause(CALMING_MS);
    this.service.startAll();
    this.observer.quiet(scheduler.now);
    for (const operator of operators) await operator.resumeAll();
    await new AfterFaults(this, this.service, this.network, { ...clients, readers, repeating }, life).pass();
    const [lasting] = clients.lasting;
    if (lasting !== undefined)
      await new Consents(this, this.service, Chance.from(this.seed + FIRST_OF_CONSENTS), lasting.accountId).play();
  }

  /** In some runs clients use `/v1`; the others draw as they would without them. */
  private async repeatingClients({ lasting, capped }: Clients): Promise<readonly RepeatingClient[]> {
    const chance = Chance.from(this.seed + FIRST_OF_REPEATING);
    const [payer] = lasting;
    if (payer === undefined || !chance.happens(300)) return [];
    const { accountId, appId } = payer;
    await this.network.ask({
      operation: 'grant',
      accountId,
      operationId: 'for /v1',
      credits: chance.pick([20, 150, 400]),
    });
    const credentials = [payer, payer, ...capped.filter((one) => one.appId === appId)];
    return Array.from({ length: chance.between(1, 2) }, (_, index) => {
      const name = `v1-${index + 1}`;
      return new RepeatingClient(name, credentials, this, this.service, this.network, chance.fork());
    });
  }
}

/** Half of all runs accept generations in one step, and the others by successive writes. */
function storesOf(seed: number, clock: Clock): MemoryStores {
  const stores = memoryStores(clock);
  const isOneStep = Chance.from(seed + FIRST_OF_STORES).happens(500);
  return isOneStep ? { ...stores, acceptances: new MemoryAcceptances(stores) } : stores;
}
