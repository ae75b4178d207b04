import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import { TimerWakeUps } from './timer-wake-ups.js';
import type { WakeUpTable } from './wake-up-table.js';

/** Wake-ups in a table, delivered by timers of this process. */
export function timersModule(table: WakeUpTable) {
  return provideModule((provide) => {
    provide(TOKENS.wakeUps, [TOKENS.clock], (clock) => new TimerWakeUps({ table, clock }));
  });
}
