import { MongoChangeStreamNotificationChannel } from '@agendajs/mongo-backend';
import type { Db } from 'mongodb';
import {
  AgendaRefused,
  type AnnouncementListener,
  type Announcements,
  type OpenWakeUpStore,
  type WakeUpDatabase,
  type WakeUpStoreOptions,
  type WokenBy,
} from '../wake-up-store.js';
import { migrateCollection, missingFromCollection } from './migrate-collection.js';
import { COLLECTION, type LentMongo, WakeUpCollection } from './wake-up-collection.js';

/**
 * If it were disabled, a stream closed by the server would end silently; with no attempts left it fails with an
 * error.
 */
const NO_RECONNECT = { enabled: true, maxAttempts: 0 };

/** Wake-ups in MongoDB, whose change streams announce what is written. */
export class MongoWakeUps implements WakeUpDatabase {
  readonly name = 'MongoDB';

  constructor(private readonly lent: LentMongo) {}

  /** An index over many wake-ups takes long, so `ask` needs a long time limit. */
  migrate(): Promise<readonly string[]> {
    return migrateCollection(this.lent);
  }

  missing(): Promise<readonly string[]> {
    return missingFromCollection(this.lent);
  }

  async open({ clock, holdMs, wokenBy }: WakeUpStoreOptions): Promise<OpenWakeUpStore> {
    const store = new WakeUpCollection(this.lent, clock, holdMs);
    return (await hearsOfChanges(this.lent, wokenBy))
      ? { store, announcements: new ChangeStreams(this.lent.db) }
      : { store };
  }
}

/**
 * Whether there is to be a change stream. Throws `AgendaRefused` if one is configured for a server that has none, and
 * `StoreUnavailable`.
 */
async function hearsOfChanges(database: LentMongo, wokenBy: WokenBy): Promise<boolean> {
  if (wokenBy === 'polling') return false;
  if (wokenBy === 'notifications')
    throw new AgendaRefused('MongoDB has no notifications; set agenda.woken_by to auto, change-streams or polling.');
  const hello = await database.ask(() => database.db.command({ hello: 1 }));
  // Only members of a replica set report its name, and only a router responds with this message.
  const tells = hello['setName'] !== undefined || hello['msg'] === 'isdbgrid';
  if (wokenBy === 'change-streams' && !tells) {
    throw new AgendaRefused(
      'The MongoDB server is not part of a replica set, so it has no change streams; set agenda.woken_by to auto or polling.',
    );
  }
  return tells;
}

/** Each is new, because resuming at a point that the server no longer remembers would fail forever. */
class ChangeStreams implements Announcements {
  readonly pollFactor = 5;
  readonly longestPauseMs = 1_000;

  constructor(private readonly db: Db) {}

  listen({ heard, lost }: AnnouncementListener): { close(): void } {
    const stream = new MongoChangeStreamNotificationChannel({
      db: this.db,
      collection: COLLECTION,
      fullDocument: false,
      reconnect: NO_RECONNECT,
    });
    stream.on('error', lost);
    stream.subscribe(({ nextRunAt }) => {
      if (nextRunAt !== null) heard(nextRunAt.getTime());
    });
    stream.connect().catch(lost);
    return {
      // Does not wait for the server's confirmation: with the connection lost that may take long, and no more events
      // come from it.
      close: () => void stream.disconnect().catch(() => undefined),
    };
  }
}
