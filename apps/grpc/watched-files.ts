import { statSync } from 'node:fs';
import { ConfigInvalid } from '../config/config.js';

const LOOK_EVERY_MS = 3_000;

export interface FileReader {
  /** Takes what the files have now, and logs it; throws when that cannot be used. */
  take(): void;
  /** Logs why it could not be used. */
  refuse(faults: readonly string[]): void;
}

/**
 * Files that may change while they are used: they are checked every three seconds, and read again once one has changed,
 * another came in its place, or one went. What cannot be used or read, as when the process has too many files open, has no
 * effect, and is read at each check until it can. Each fault is reported once. Does not keep a process from ending.
 */
export class WatchedFiles {
  private state: string;
  private fault: string | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** Make it before the files are read: what changes from here on is a change. */
  constructor(
    private readonly paths: readonly string[],
    private readonly reader: FileReader,
  ) {
    this.state = this.look();
  }

  start(everyMs = LOOK_EVERY_MS): void {
    this.timer = setInterval(() => {
      const state = this.look();
      if (state === this.state && this.fault === undefined) return;
      if (state !== this.state) this.fault = undefined;
      this.state = state;
      this.read();
    }, everyMs).unref();
  }

  /** At once, whether anything has changed or not. */
  readNow(): void {
    this.fault = undefined;
    this.read();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private read(): void {
    try {
      this.reader.take();
      this.fault = undefined;
    } catch (error) {
      const faults = faultsOf(error);
      const fault = faults.join('\n');
      if (fault !== this.fault) this.reader.refuse(faults);
      this.fault = fault;
    }
  }

  private look(): string {
    return this.paths.map(stateOf).join(';');
  }
}

/** What is wrong with a changed file, for the log: a human mistake, for which a stack trace adds nothing. */
function faultsOf(error: unknown): readonly string[] {
  return error instanceof ConfigInvalid ? error.faults : [String(error)];
}

function stateOf(path: string): string {
  try {
    const { ino, mtimeMs, ctimeMs, size } = statSync(path);
    return [ino, mtimeMs, ctimeMs, size].join();
  } catch (error) {
    return String(error);
  }
}
