import { randomUUID } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { AgendaWakeUps, type AgendaWakeUpsOptions } from '../../../adapters/agenda/agenda-wake-ups.js';
import { migrateAgenda } from '../../../adapters/agenda/migrate-agenda.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';

/** A way in which a process hears of wake-ups, and the kind of server it needs. */
export interface Lane {
  readonly wokenBy: 'change-streams' | 'polling';
  readonly url: string | undefined;
}

export const LANES: readonly Lane[] = [
  { wokenBy: 'change-streams', url: process.env['TEST_MONGO_URL'] },
  { wokenBy: 'polling', url: process.env['TEST_MONGO_STANDALONE_URL'] },
];

/** A database of its own, and processes over it, each with its own connections. */
export class AgendaDatabase {
  private readonly name = `agenda_${randomUUID().replaceAll('-', '')}`;
  private readonly clients: MongoClient[] = [];
  private readonly opened = new Map<AgendaWakeUps, MongoClient>();

  constructor(private readonly lane: Lane) {}

  static async make(lane: Lane): Promise<AgendaDatabase> {
    const database = new AgendaDatabase(lane);
    await migrateAgenda(await database.connect());
    return database;
  }

  async connect(): Promise<Db> {
    return (await this.client()).db(this.name);
  }

  /** Another process. */
  async open(options: Partial<AgendaWakeUpsOptions> = {}): Promise<AgendaWakeUps> {
    const client = await this.client();
    const wakeUps = await AgendaWakeUps.open({ db: client.db(this.name), clock: new SystemClock(), wokenBy: this.lane.wokenBy, ...options });
    this.opened.set(wakeUps, client);
    return wakeUps;
  }

  /** Cuts a process off for ever, as if it had died with whatever it was doing. */
  async kill(wakeUps: AgendaWakeUps): Promise<void> {
    await this.opened.get(wakeUps)?.close(true);
  }

  async drop(): Promise<void> {
    await (await this.connect()).dropDatabase();
    for (const client of this.clients) await client.close(true);
  }

  private async client(): Promise<MongoClient> {
    const client = await MongoClient.connect(this.lane.url ?? '', {
      writeConcern: { w: 'majority', journal: true }, serverSelectionTimeoutMS: 3_000, socketTimeoutMS: 5_000, waitQueueTimeoutMS: 3_000,
    });
    this.clients.push(client);
    return client;
  }
}
