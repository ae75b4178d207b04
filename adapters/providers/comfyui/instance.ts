import type { Log } from '../../../core/log.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { ComfyUiServer } from './comfyui-server.js';
import type { Progress } from './progress.js';

/** The parts that one instance of the provider works with. */
export interface ComfyUiInstance {
  /** One at least. */
  readonly servers: readonly ComfyUiServer[];
  /** Absolute; where the paths of workflows begin. */
  readonly workflowFolder: string;
  readonly settleMs: number;
  /** Tasks on a server, running and waiting, from which on it is full. */
  readonly maxQueue: number;
  readonly progress: Progress;
  /** The name of the instance, for the log. */
  readonly instance: string;
  readonly log: Log;
  /** For decoding references, shared by the process. */
  readonly memory: MemoryBudget;
}
