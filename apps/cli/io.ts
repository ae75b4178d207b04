import type { Environment } from '../config/load-config.js';
import type { Signals } from '../service/serve.js';

/** A stream that a run writes to. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  /** The width of the terminal, if it is one. */
  readonly columns?: number;
  /** The log is written to it directly, so that its lines are out before the process ends. */
  readonly fd?: number;
};

/** A stream that a run reads from. */
export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

/** Everything that a process provides to one run of the command line. Commands access the process only through it. */
export interface CliIo {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly environment: Environment;
  /** The folder that paths are relative to. */
  readonly folder: string;
  /** The command by which the program was called, for commands that are shown to be copied. */
  readonly command: string;
  /** The user's home folder. */
  readonly homeFolder: string;
  readonly signals: Signals;
  /**
   * The command has ended, or is about to end: connections and work that it leaves open may keep the process alive
   * for at most this many milliseconds, and after that until its output is written. 0 ends it immediately. A process
   * that does other things ignores it.
   */
  leaveBehind(afterMs: number): void;
}
