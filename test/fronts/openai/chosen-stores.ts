import type { Clock } from '../../../core/ports/machine.js';
import type { OpenedPorts } from '../../harness/service-harness.js';

let chosen: ((clock: Clock) => Promise<OpenedPorts>) | undefined;

/** Has the services of these suites, from now on, work on other stores than those in memory. */
export function chooseStores(open: (clock: Clock) => Promise<OpenedPorts>): void {
  chosen = open;
}

/** The option of a service harness that opens them. */
export function onChosenStores() {
  return chosen === undefined ? {} : { open: chosen };
}
