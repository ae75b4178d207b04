import type { Lent, Options, WakeUpsDriver, WakeUpsOpening } from '../driver.js';
import type { AgendaWakeUps } from './agenda-wake-ups.js';
import type { LentMongo } from './mongo/wake-up-collection.js';
import type { LentPostgres } from './postgres/wake-up-rows.js';
import type { WakeUpDatabase, WokenBy } from './wake-up-store.js';

/** Wake-ups delivered by Agenda, shared by any number of processes. */
export const agendaDriver: WakeUpsDriver = {
  kind: 'wake-ups',
  name: 'agenda',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      woken_by: {
        type: 'string',
        enum: ['auto', 'change-streams', 'notifications', 'polling'],
        default: 'auto',
        description:
          'How to detect new wake-ups: change-streams requires a replica set or a sharded cluster of MongoDB, notifications requires PostgreSQL, with postgres.direct_url where a pooler is in front; polling works with any server; auto uses change streams or notifications if the server supports them.',
      },
      poll_seconds: {
        type: 'number',
        minimum: 0.1,
        maximum: 60,
        default: 1,
        description: 'How often to poll for due wake-ups.',
      },
    },
  },
  borrows: ['mongodb', 'postgres'],
  // A change stream keeps one connection waiting most of the time, and a request must not wait for it.
  minConnections: 5,

  open: (opening) => openWakeUps(opening),
  inspect: async (opening) => void (await openWakeUps(opening)),

  migrate: async (lent) => (await databaseOf(lent)).migrate(),
};

/** Opening reads alone. */
async function openWakeUps({ options, lent, clock, log }: WakeUpsOpening): Promise<AgendaWakeUps> {
  const { AgendaWakeUps: WakeUps } = await import('./agenda-wake-ups.js');
  return WakeUps.open({ database: await databaseOf(lent), clock, log, ...settingsOf(options) });
}

function settingsOf(options: Options): { readonly wokenBy: WokenBy; readonly pollMs: number } {
  const { woken_by: wokenBy, poll_seconds: pollSeconds } = options as { woken_by: WokenBy; poll_seconds: number };
  return { wokenBy, pollMs: Math.round(pollSeconds * 1_000) };
}

async function databaseOf(lent: Lent): Promise<WakeUpDatabase> {
  if (lent['postgres'] !== undefined) {
    const { PostgresWakeUps } = await import('./postgres/postgres-wake-ups.js');
    return new PostgresWakeUps(lent['postgres'] as LentPostgres);
  }
  const { MongoWakeUps } = await import('./mongo/mongo-wake-ups.js');
  const mongo = lent['mongodb'] as LentMongo;
  return new MongoWakeUps({ db: mongo.db, ask: (operation) => mongo.ask(operation) });
}
