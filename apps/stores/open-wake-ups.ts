import { AgendaWakeUps } from '../../adapters/agenda/agenda-wake-ups.js';
import { agendaModule } from '../../adapters/agenda/module.js';
import { timersModule } from '../../adapters/timers/module.js';
import { assert } from '../../core/assert.js';
import type { Log } from '../../core/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Config } from '../config/config.js';
import type { OpenDatabase } from './open-database.js';

export interface OpenWakeUps {
  readonly module: ReturnType<typeof timersModule>;
}

export async function openWakeUps({ stores, agenda }: Config, { db, wakeUpTable }: OpenDatabase, { clock, log }: { readonly clock: Clock; readonly log: Log }): Promise<OpenWakeUps> {
  if (stores.wakeUps === 'timers') return { module: timersModule(wakeUpTable) };
  assert(db !== undefined, 'agenda keeps wake-ups in a database that is mongo');
  return { module: agendaModule(await AgendaWakeUps.open({ db, clock, log, ...agenda })) };
}
