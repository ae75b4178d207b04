import type { Settings } from '../../core/settings.js';
import type { RestLimits } from '../rest/limits.js';

/** What an operator decided about one installation. Times are milliseconds, sizes bytes, paths absolute. */
export interface Config {
  /** The file it was read from, if there was one. */
  readonly file?: string;
  readonly dataFolder: string;
  /** The catalog file; the one that comes with the program when nothing is said. */
  readonly catalog: string;
  readonly rest: RestConfig;
  readonly worker: { readonly enabled: boolean; readonly recoveryIntervalMs: number; readonly stopGraceMs: number };
  /** Threads that paint for the sandbox provider, 1 or more. */
  readonly sandbox: { readonly threads: number };
  /** `auto` is pretty on a terminal and JSON otherwise. */
  readonly log: { readonly level: LogLevel; readonly format: 'auto' | 'pretty' | 'json' };
  readonly settings: Settings;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface RestConfig {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Where clients reach the service, without a slash at the end; from host and port when absent. */
  readonly publicUrl?: string;
  readonly limits: RestLimits;
}

/** A configuration that cannot be used. The message has every fault on a line of its own. */
export class ConfigInvalid extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigInvalid';
  }
}
