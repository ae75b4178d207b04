import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { CallersFile } from './callers-file.js';
import type { Presented, ServiceCaller, ServiceCallers } from './service-callers.js';
import { WatchedFiles } from '../watched-files.js';

/**
 * The callers of a file that may change, so that a service that was taken out or revoked is refused soon. A change that
 * cannot be used or read changes nothing, and is reported once.
 */
export class WatchedCallers implements ServiceCallers {
  private readonly files: WatchedFiles;
  private current: CallersFile;

  /** Throws `CallersInvalid`, and what the system says of a file that cannot be read. */
  constructor(path: string, logger: Logger, everyMs?: number) {
    this.files = new WatchedFiles([path], {
      take: () => {
        this.current = read(path);
        logger.info({ callers: this.current.size }, 'callers read');
      },
      refuse: (faults) => logger.warn({ faults }, 'callers not read'),
    });
    this.current = read(path);
    this.files.start(everyMs);
  }

  find(presented: Presented): ServiceCaller | undefined {
    return this.current.find(presented);
  }

  close(): void {
    this.files.close();
  }

  /** At once, whether the file has changed or not. */
  readAgain(): void {
    this.files.readNow();
  }
}

function read(path: string): CallersFile {
  return new CallersFile(readFileSync(path, 'utf8'), path);
}
