import type { Log } from '../../../core/log.js';
import type { MemoryBudget } from '../../../core/memory-budget.js';
import type { Clock } from '../../../core/ports/machine.js';
import type { Options } from '../../driver.js';
import { openConnection } from '../shared/connection.js';
import { settleMsOf } from './comfyui-capabilities.js';
import { ComfyUiProvider } from './comfyui-provider.js';
import { ComfyUiServer } from './comfyui-server.js';
import { Progress } from './progress.js';

interface Section {
  readonly servers: readonly string[];
  readonly max_queue: number;
  readonly settle_seconds: number;
}

export interface ComfyUiOpening {
  readonly options: Options;
  /** Absolute. */
  readonly workflowFolder: string;
  readonly instance: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly memory: MemoryBudget;
}

/** Opens an instance, and sends nothing. Throws one sentence for options that cannot work. */
export function openComfyUi({
  options,
  workflowFolder,
  instance,
  log,
  clock,
  memory,
}: ComfyUiOpening): ComfyUiProvider {
  const { servers, max_queue: maxQueue, settle_seconds: settleSeconds } = options as unknown as Section;
  return new ComfyUiProvider({
    servers: servers.map((address) => {
      const connection = openConnection({ options: { ...options, base_url: address }, instance });
      return new ComfyUiServer(connection, clock);
    }),
    workflowFolder,
    settleMs: settleMsOf(settleSeconds),
    maxQueue,
    progress: new Progress(clock),
    instance,
    log,
    memory,
  });
}
