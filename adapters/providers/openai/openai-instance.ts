import type { Log } from '../../../core/log.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { Connection } from '../shared/connection.js';

/** One configured instance. */
export interface OpenAiInstance {
  readonly name: string;
  readonly connection: Connection;
  /** The limit for one picture or video, in bytes. */
  readonly maxOutputBytes: number;
  readonly log: Log;
  /** For decoding references, shared by the process. */
  readonly memory: MemoryBudget;
}
