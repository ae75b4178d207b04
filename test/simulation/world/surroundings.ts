import type { Chance } from './chance.js';
import type { Climate } from '../faults/climate.js';
import type { Tally } from '../coverage/tally.js';
import type { Watcher } from '../observed.js';
import type { Scheduler } from './scheduler.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { Timeline } from './timeline.js';

/** What everything that may go wrong needs to know of the run it goes wrong in. */
export interface Surroundings {
  readonly scheduler: Scheduler;
  /** For faults alone: what clients do is drawn elsewhere. */
  readonly chance: Chance;
  /** Changes once: when the faults stop. */
  readonly climate: Climate;
  readonly watcher: Watcher;
  readonly tally: Tally;
  readonly timeline: Timeline;
  kill(process: SimulatedProcess): void;
}
