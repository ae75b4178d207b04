import type { Tally } from '../coverage/branches.js';
import type { FaultProfile } from '../faults/fault-profile.js';
import type { Observer } from '../observed.js';
import type { Chance, Scheduler, Timeline } from './scheduler.js';
import type { SimulatedProcess } from './simulated-process.js';

/** What everything that may go wrong needs to know of the run it goes wrong in. */
export interface RunContext {
  readonly scheduler: Scheduler;
  /** For faults alone: what clients do is drawn elsewhere. */
  readonly chance: Chance;
  /** Changes once: when the faults stop. */
  readonly profile: FaultProfile;
  readonly observer: Observer;
  readonly tally: Tally;
  readonly timeline: Timeline;
  kill(process: SimulatedProcess): void;
}
