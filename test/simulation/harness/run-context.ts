import type { Tally } from '../coverage/branches.js';
import type { FaultProfile } from '../faults/fault-profile.js';
import type { SimulationChecker } from '../checker/checker.js';
import type { Chance, Scheduler, Timeline } from './scheduler.js';
import type { SimulatedProcess } from './simulated-process.js';

/** The parts of a run that every source of faults needs. */
export interface RunContext {
  readonly scheduler: Scheduler;
  /** For faults alone: the actions of clients are drawn elsewhere. */
  readonly chance: Chance;
  /** Changes once: when the faults stop. */
  readonly profile: FaultProfile;
  readonly observer: SimulationChecker;
  readonly tally: Tally;
  readonly timeline: Timeline;
  kill(process: SimulatedProcess): void;
}
