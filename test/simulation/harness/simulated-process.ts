import { Worker } from '../../../apps/worker/worker.js';
import { Authenticator } from '../../../core/access/authenticate.js';
import type { Context } from '../../../core/context.js';
import type { Log } from '../../../core/log.js';
import type { Clock, Ids } from '../../../core/ports/machine.js';
import type { WakeUps } from '../../../core/ports/wake-ups.js';
import { type DarkroomPorts, openDarkroom } from '../../harness/darkroom.js';
import type { Chance, Owner, Scheduler } from './scheduler.js';
import { RECOVERY_INTERVAL_MS, SIMULATED_SETTINGS } from './settings.js';

export type Role = 'rest' | 'worker' | 'both';

const STOP_GRACE_MS = 2_000;
/** So low that ledgers of a run are long, and that one pass does not cover a whole ledger. */
const USAGE_BOUNDS = { accounts: 1, entries: 4, behind: 5 };

/** One process of the service: real core on the shared stores, with its own clock, ids and faults. */
export class SimulatedProcess implements Owner {
  isAlive = true;
  asleepUntil = 0;
  /** It no longer accepts requests, and hands its leases back. */
  isStopping = false;
  skewMs: number;
  /** A model that this process's catalog no longer contains. */
  withdrawn: string | undefined;
  context!: Context;
  authenticator!: Authenticator;
  /** The process's handler of wake-ups, once it takes any. */
  deliver: Parameters<WakeUps['start']>[0] | undefined;
  private worker: Worker | undefined;
  readonly clock: Clock;
  readonly ids: Ids;

  constructor(
    readonly name: string,
    readonly role: Role,
    private readonly scheduler: Scheduler,
    chance: Chance,
    number: number,
    skewMs: number,
  ) {
    this.skewMs = skewMs;
    const begunAt = scheduler.now;
    this.clock = {
      now: () => Math.trunc(scheduler.now + this.skewMs),
      monotonic: () => Math.trunc(scheduler.now - begunAt),
      after: (delayMs, callback) => scheduler.after(delayMs, callback, this),
    };
    this.ids = new ProcessIds(this.clock, chance, number);
  }

  get takesRequests(): boolean {
    return this.isAlive && !this.isStopping && this.role !== 'worker';
  }

  get runsGenerations(): boolean {
    return this.isAlive && !this.isStopping && this.role !== 'rest';
  }

  /** `onRunStep` is called with the row of the table that decided each step of a run. */
  start(ports: DarkroomPorts, log: Log, isExclusive: boolean, onRunStep: (row: string) => void): void {
    const boot = { id: this.ids.uuid(), isExclusive };
    this.context = { ...openDarkroom({ ports, settings: SIMULATED_SETTINGS, log, boot }), onRunStep };
    this.authenticator = new Authenticator(this.context);
    if (this.role === 'rest') return;
    this.worker = new Worker(this.context, {
      workerId: this.name,
      recoveryIntervalMs: RECOVERY_INTERVAL_MS,
      stopGraceMs: STOP_GRACE_MS,
      usage: USAGE_BOUNDS,
    });
    this.worker.start().catch((error: unknown) => this.scheduler.fail(error));
  }

  /** Ends between two instructions: nothing it waits for returns, and none of its timers fires. */
  kill(): void {
    this.isAlive = false;
    // Its connection to the wake-ups breaks; the result of the call is not needed.
    void this.context.wakeUps.stop();
  }

  /** Stops gracefully. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.worker?.stop();
    this.isAlive = false;
  }
}

/** Version 7 ids from the process's time, a count, and the process's number. */
class ProcessIds implements Ids {
  private lastTime = 0;
  private made = 0;

  constructor(
    private readonly clock: Clock,
    private readonly chance: Chance,
    private readonly number: number,
  ) {}

  uuid(): string {
    this.made += 1;
    this.lastTime = Math.max(this.lastTime, this.clock.now());
    const time = hex(this.lastTime, 12);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(this.number, 3)}-8000-${hex(this.made, 12)}`;
  }

  random(byteCount: number): Uint8Array {
    return Uint8Array.from({ length: byteCount }, () => this.chance.between(0, 255));
  }
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
