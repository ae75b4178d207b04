import { statSync } from 'node:fs';
import { ConfigInvalid } from '../config/config.js';

const LOOK_EVERY_MS = 3_000;

/**
 * Files that may change while they are used: they are checked every three seconds. Does not keep a process from ending.
 */
export class WatchedFiles {
  private state: string;
  private timer: NodeJS.Timeout | undefined;

  /** Make it before the files are read: what changes from here on is a change. */
  constructor(private readonly paths: readonly string[]) {
    this.state = this.look();
  }

  /** Calls `changed` once after any of the files did, another came in its place, or one went. */
  start(changed: () => void, everyMs = LOOK_EVERY_MS): void {
    this.timer = setInterval(() => {
      const state = this.look();
      if (state === this.state) return;
      this.state = state;
      changed();
    }, everyMs).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): string {
    return this.paths.map(stateOf).join(';');
  }
}

/** What is wrong with a changed file, for the log: a human mistake, for which a stack trace adds nothing. */
export function faultsOf(error: unknown): readonly string[] {
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
