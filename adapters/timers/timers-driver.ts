import type { WakeUpsDriver } from '../driver.js';
import type { WakeUpTable } from './timer-wake-ups.js';

/** Wake-ups delivered by timers of this process, and kept in the database over a restart. */
export const timersDriver: WakeUpsDriver = {
  kind: 'wake-ups',
  name: 'timers',
  options: { type: 'object', properties: {}, additionalProperties: false },
  unshared: 'timers',
  borrows: 'wake-up-table',

  async open({ lent, clock }) {
    const { TimerWakeUps } = await import('./timer-wake-ups.js');
    return new TimerWakeUps({ table: lent['wake-up-table'] as WakeUpTable, clock });
  },

  // The table is the database's own, which is inspected and migrated before.
  inspect: () => Promise.resolve(),
  migrate: () => Promise.resolve([]),
};
