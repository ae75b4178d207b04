import type { Driver, ObjectsInspection, Opening } from '../../adapters/driver.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/machine.js';
import type { Config, Configured } from '../config/config.js';

export interface OpeningNeeds {
  readonly clock: Clock;
  readonly log: Log;
}

/** For work that reports nothing by itself. */
export const QUIETLY: OpeningNeeds = {
  clock: new SystemClock(),
  log: { info: () => undefined, warn: () => undefined },
};

/** What a driver is opened with. */
export function openingOf({ dataFolder }: Config, { options }: Configured<Driver>, needs: OpeningNeeds): Opening {
  return { options, dataFolder, ...needs };
}

export function objectsOpeningOf(config: Config, needs: OpeningNeeds): ObjectsInspection {
  const { uploadTargetMs, outputUrlMs } = config.settings;
  return {
    ...openingOf(config, config.stores.objects, needs),
    longestAddressMs: Math.max(uploadTargetMs, outputUrlMs),
  };
}
