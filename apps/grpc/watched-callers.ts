import { readFileSync, statSync } from 'node:fs';
import type { Logger } from 'pino';
import { CallersFile } from './callers-file.js';
import type { Presented, ServiceCaller, ServiceCallers } from './service-callers.js';

const LOOK_EVERY_MS = 3_000;

/**
 * The callers of a file that may change: it is looked at every three seconds, so that a service that was taken out or revoked
 * is refused soon. A change that cannot be used changes nothing, and is reported once.
 */
export class WatchedCallers implements ServiceCallers {
  private current: CallersFile;
  private state: string;
  private readonly timer: NodeJS.Timeout;

  /** Throws `CallersInvalid`, and what the system says of a file that cannot be read. */
  constructor(private readonly path: string, private readonly logger: Logger, everyMs = LOOK_EVERY_MS) {
    this.state = stateOf(path);
    this.current = read(path);
    this.timer = setInterval(() => this.look(), everyMs).unref();
  }

  find(presented: Presented): ServiceCaller | undefined {
    return this.current.find(presented);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const state = stateOf(this.path);
    if (state === this.state) return;
    this.state = state;
    try {
      this.current = read(this.path);
    } catch (error) {
      this.logger.warn({ err: error }, 'callers not read');
    }
  }
}

function read(path: string): CallersFile {
  return new CallersFile(readFileSync(path, 'utf8'), path);
}

/** Changes whenever the file does, another one comes in its place, or it goes. */
function stateOf(path: string): string {
  try {
    const { ino, mtimeMs, ctimeMs, size } = statSync(path);
    return [ino, mtimeMs, ctimeMs, size].join();
  } catch (error) {
    return String(error);
  }
}
