import { TOKENS } from '../../core/ports/tokens.js';
import { provideModule } from '../provide.js';
import type { AgendaWakeUps } from './agenda-wake-ups.js';

/** Wake-ups shared by many processes, delivered by Agenda. They were opened before, and are stopped by whoever starts them. */
export function agendaModule(wakeUps: AgendaWakeUps) {
  return provideModule((provide) => {
    provide(TOKENS.wakeUps, [], () => wakeUps);
  });
}
