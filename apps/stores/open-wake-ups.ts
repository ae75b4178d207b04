import { AgendaWakeUps } from '../../adapters/agenda/agenda-wake-ups.js';
import { agendaModule } from '../../adapters/agenda/module.js';
import { timersModule } from '../../adapters/timers/module.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Config } from '../config/config.js';
import { agendaDatabase } from './agenda-database.js';
import type { OpenDatabase } from './open-database.js';

export interface OpenWakeUps {
  readonly module: ReturnType<typeof timersModule>;
}

export async function openWakeUps(config: Config, database: OpenDatabase, { clock, log }: { readonly clock: Clock; readonly log: Log }): Promise<OpenWakeUps> {
  if (config.stores.wakeUps === 'timers') return { module: timersModule(database.wakeUpTable) };
  return { module: agendaModule(await AgendaWakeUps.open({ ...agendaDatabase(config, database), clock, log, ...config.agenda })) };
}
