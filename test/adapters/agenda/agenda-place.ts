import type { Context } from 'mocha';
import type { AgendaWakeUps, AgendaWakeUpsOptions } from '../../../adapters/agenda/agenda-wake-ups.js';
import type { WakeUpStore, WokenBy } from '../../../adapters/agenda/wake-up-store.js';
import type { Clock } from '../../../core/ports/machine.js';
import { ManualClock, settled } from '../../fixtures/clocks.js';

/** Longer than the time limit of a test. */
export const PATIENCE_MS = 600_000;

/** The options of a process that a test opens. */
export interface ProcessOptions extends Partial<Omit<AgendaWakeUpsOptions, 'database'>> {
  /** Counts the requests of the process to the server. */
  readonly pending?: PendingRequests;
}

/** Processes over one database, each with its own connections. */
export interface AgendaPlace {
  /** How processes are woken; it starts with the database unless that is MongoDB. */
  readonly name: string;
  readonly wokenBy: WokenBy;
  /** Creates the database. If the server is absent, skips the suite, or fails it in CI. */
  prepare(suite: Context): Promise<void>;
  /** Opens another process. */
  open(options?: ProcessOptions): Promise<AgendaWakeUps>;
  /** Opens the store that a process uses, with its own connections. */
  openStore(clock: Clock, holdMs: number): Promise<WakeUpStore>;
  /** Disconnects a process permanently, as if it had crashed in the middle of its work. */
  kill(wakeUps: AgendaWakeUps): Promise<void>;
  /** How many wake-ups are stored. */
  storedCount(): Promise<number>;
  /** The due time of the wake-up of a subject. */
  storedAt(key: string): Promise<number | undefined>;
  /** Stops the processes, and deletes all wake-ups. */
  empty(): Promise<void>;
  remove(): Promise<void>;
}

/** Counts the requests that the server has not answered yet. */
export class PendingRequests {
  underWay = 0;

  async count<T>(request: () => Promise<T>): Promise<T> {
    this.underWay += 1;
    try {
      return await request();
    } finally {
      this.underWay -= 1;
    }
  }
}

/**
 * Options for processes that share one manual clock. Before it moves, the clock waits until no request to the server is
 * pending and Agenda has had a few turns of the event loop to process the last answer.
 */
export function onManualClock(): { readonly clock: ManualClock; readonly pending: PendingRequests } {
  const pending = new PendingRequests();
  const rest = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns += 1) {
      await settled();
      if (pending.underWay > 0) turns = 0;
    }
  };
  return { clock: new ManualClock(Date.now(), rest), pending };
}

export function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
