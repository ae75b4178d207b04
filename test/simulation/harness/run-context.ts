import type { Chance } from './chance.js';
import type { FaultProfile } from '../faults/fault-profile.js';
import type { Tally } from '../coverage/tally.js';
import type { Observer } from '../observed.js';
import type { Scheduler } from './scheduler.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { Timeline } from './timeline.js';

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
