import type { MediaCleaner } from '../../../core/ports/media.js';
import type { OutputSigner } from '../../../core/ports/output-signer.js';
import { STORE_PORTS } from '../../../core/ports/ports.js';
import { MemoryWakeUps, MemoryWakeUpTable } from '../../adapters/memory/wake-ups.js';
import { bytesOf, collected, streamOf } from '../../fixtures/byte-streams.js';
import { interceptedProvider, interceptedStores, type Interceptor } from '../../fixtures/intercepted.js';
import type { MemoryStores } from '../../fixtures/memory-stores.js';
import { connectedProviders } from '../../fixtures/scripted-provider.js';
import type { DarkroomPorts } from '../../harness/darkroom.js';
import { FaultyObjects, FaultyWakeUps, never, PortFaults } from '../faults/port-faults.js';
import { SIMULATED_LIMITS, SimulatedProviders } from '../faults/simulated-provider.js';
import { SimulatedReceivers } from '../faults/simulated-receivers.js';
import type { RunContext } from './run-context.js';
import { brief, type Chance } from './scheduler.js';
import { SIMULATED_MODELS } from './settings.js';
import { type Role, SimulatedProcess } from './simulated-process.js';

/** The store ports without those of sign-in, which does not happen during a run. */
const STORES = STORE_PORTS.filter((name) => name !== 'people' && name !== 'artefacts');
/** Address signing is arithmetic: it makes no calls. */
const LOCAL_CALLS: ReadonlySet<string> = new Set(['objects.signPut', 'objects.signGet']);

/** Requires a second pass over every output, like one whose manifest arrives late. */
const CLEANS_TWICE: MediaCleaner = {
  clean: (bytes, options) => ({ bytes, secondPass: () => options }),
};

/** Signs one output of three, fails for another, and never returns for the third. */
const SIGNS_SOME: OutputSigner = {
  async sign(file) {
    if (file.byteSize % 3 === 0) throw new Error('The signer has failed.');
    if (file.byteSize % 3 === 1) return never();
    const bytes = await collected(await file.open());
    return streamOf(Buffer.concat([bytes, bytesOf(' signed')]));
  },
};

/** The stores that all processes share, the provider, and the processes: one in each place, replaced when it ends. */
export class Service {
  readonly objects: FaultyObjects;
  readonly processes: SimulatedProcess[] = [];
  private readonly wakeUpTable = new MemoryWakeUpTable();
  readonly provider: SimulatedProviders;
  readonly faults: PortFaults;
  private readonly receivers: SimulatedReceivers;
  /** This many of the next scheduled wake-ups are lost. */
  wakeUpsToLose = 0;
  private started = 0;

  constructor(
    private readonly context: RunContext,
    private readonly chance: Chance,
    readonly durable: MemoryStores,
    private readonly installation: { readonly roles: readonly Role[]; readonly isExclusive: boolean },
  ) {
    this.objects = new FaultyObjects(durable.objects, context);
    this.provider = new SimulatedProviders(context);
    this.faults = new PortFaults(context);
    this.receivers = new SimulatedReceivers(context, chance.fork());
  }

  /** Whether the stores' driver reports one process at a time. */
  get isExclusive(): boolean {
    return this.installation.isExclusive;
  }

  /** A process that accepts requests now, if there is one. */
  door(): SimulatedProcess | undefined {
    const open = this.processes.filter((process) => process.takesRequests);
    return open.length > 0 ? this.chance.pick(open) : undefined;
  }

  kill(process: SimulatedProcess): void {
    if (!process.isAlive) return;
    this.context.timeline.note(this.context.scheduler.now, process.name, () => '! dies');
    process.kill();
    this.startLater(process);
  }

  async stop(process: SimulatedProcess): Promise<void> {
    this.context.timeline.note(this.context.scheduler.now, process.name, () => 'is stopped');
    await process.stop();
    this.startLater(process);
  }

  /** Starts a process in every empty place at once, and wakes those that sleep. */
  startAll(): void {
    this.installation.roles.forEach((_, place) => {
      if (this.processes[place]?.isAlive !== true) this.startAt(place);
    });
    for (const process of this.processes) [process.asleepUntil, process.withdrawn] = [0, undefined];
  }

  /** Makes one of the stores unreachable for some time. */
  sendStoreAway(forMs: number): void {
    this.faults.sendAway(this.chance.pick(STORES), forMs);
  }

  private startLater(process: SimulatedProcess): void {
    const place = this.processes.indexOf(process);
    this.context.scheduler.after(this.chance.pick([0, 300, 3_000, 30_000]), () => {
      if (this.processes[place] === process) this.startAt(place);
    });
  }

  private startAt(place: number): void {
    const role = this.installation.roles[place] as Role;
    this.started += 1;
    const { scheduler, profile, timeline, observer, tally } = this.context;
    const skewMs = this.chance.between(-profile.skewMs, profile.skewMs);
    const process = new SimulatedProcess(
      `${role}-${place + 1}.${this.started}`,
      role,
      scheduler,
      this.chance.fork(),
      this.started,
      skewMs,
    );
    const note = (event: string, about: Readonly<Record<string, unknown>>) => {
      timeline.note(scheduler.now, process.name, () => `log: ${event} ${brief(about)}`);
      try {
        observer.logged(process.name, event, about);
      } catch (error) {
        scheduler.fail(error);
      }
    };
    this.processes[place] = process;
    process.start(this.portsFor(process), { info: note, warn: note }, this.isExclusive, (row) =>
      tally.add(`row ${row}`),
    );
    timeline.note(scheduler.now, process.name, () => `starts, its clock ${skewMs} ms off`);
  }

  private portsFor(process: SimulatedProcess): DarkroomPorts {
    const { clock, ids } = process;
    const through: Interceptor = (call) =>
      LOCAL_CALLS.has(call.name) ? call.proceed() : this.faults.call(process, call);
    const wakeUps = new FaultyWakeUps(
      new MemoryWakeUps({ clock, table: this.wakeUpTable }),
      this.context,
      (deliver) => {
        process.deliver = deliver;
      },
      this,
    );
    const providers = Object.entries(this.provider.byName).map(
      ([name, one]) => [name, interceptedProvider(one, through)] as const,
    );
    return {
      ...interceptedStores({ ...this.durable, objects: this.objects }, through),
      ...(this.context.profile.cleansTwice ? { mediaCleaner: CLEANS_TWICE, outputSigner: SIGNS_SOME } : {}),
      webhookSender: this.receivers.senderOf(process),
      wakeUps: {
        schedule: async (subject, at) => {
          await this.faults.call(process, {
            name: 'wakeUps.schedule',
            args: [subject.id, at],
            proceed: () => wakeUps.schedule(subject, at),
          });
        },
        // A process that has just died may not have reached its next call yet.
        start: (deliver, limit) => (process.isAlive ? wakeUps.start(deliver, limit) : never()),
        stop: wakeUps.stop,
      },
      providers: connectedProviders(Object.fromEntries(providers), SIMULATED_LIMITS),
      catalog: {
        models: () => SIMULATED_MODELS,
        find: (key) => SIMULATED_MODELS.find(({ modelKey }) => modelKey === key && key !== process.withdrawn),
      },
      clock,
      ids,
    };
  }
}
