import type { AgendaDatabase } from '../../adapters/agenda/agenda-database.js';
import { bounded } from '../../adapters/mongo/bounded.js';
import { assert } from '../../core/assert.js';
import type { Config } from '../config/config.js';
import type { OpenDatabase } from './open-database.js';

/** The open database as Agenda asks it: with the same bound on every wait, and outages told from mistakes in the same way. */
export function agendaDatabase({ mongo }: Config, { db }: OpenDatabase): AgendaDatabase {
  assert(db !== undefined, 'agenda keeps wake-ups in a database that is mongo');
  return { db, ask: (operation) => bounded(mongo.timeoutMs, operation) };
}
