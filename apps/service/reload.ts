import { openSync, closeSync } from 'node:fs';
import type { Logger } from 'pino';
import { CatalogInvalid } from '../../adapters/catalog-file/file-catalog.js';
import type { Signals } from './stop-request.js';

export interface Reloaded {
  /** The file that `readCatalogAgain` reads. */
  readonly catalogFile: string;
  readCatalogAgain(): Promise<number>;
  /** Logs its result by itself. */
  readCallersAgain(): void;
  readonly logger: Logger;
}

/**
 * Reads again what may change while the process runs. What is faulty is reported, a line for each fault, and stays as
 * it was.
 */
export async function reload(reloaded: Reloaded): Promise<void> {
  const { catalogFile, logger } = reloaded;
  try {
    logger.info({ catalog: catalogFile, models: await reloaded.readCatalogAgain() }, 'catalog read');
  } catch (error) {
    const faults = error instanceof CatalogInvalid ? error.faults : [String(error)];
    for (const fault of faults) logger.error({ fault }, 'catalog not reloaded');
  }
  reloaded.readCallersAgain();
}

/**
 * Calls `asked` at every SIGHUP, but `hungUp` if it means that the terminal of this process was closed: then a service
 * ends, as it does by default.
 */
export function onHangUp(
  signals: Signals,
  { asked, hungUp }: { readonly asked: () => void; readonly hungUp: () => void },
): void {
  const hadTerminal = hasTerminal();
  signals.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) hungUp();
    else asked();
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
