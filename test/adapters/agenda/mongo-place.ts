import { expect } from 'chai';
import type { Context } from 'mocha';
import { type CommandStartedEvent, type Db, type Document, MongoClient } from 'mongodb';
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { MongoWakeUps } from '../../../adapters/agenda/mongo/mongo-wake-ups.js';
import { COLLECTION, type LentMongo } from '../../../adapters/agenda/mongo/wake-up-collection.js';
import type { WakeUpDatabase, WakeUpStore } from '../../../adapters/agenda/wake-up-store.js';
import { bounded } from '../../../adapters/mongo/connection.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import type { Clock } from '../../../core/ports/machine.js';
import type { StorePair } from '../../harness/store-pairs.js';
import type { WrittenDocuments } from '../../harness/written-documents.js';
import { freshDatabase, type FreshDatabase } from '../../servers/fresh-places.js';
import { mongoServer, type MongoServer, orSkip } from '../../servers/servers.js';
import { type AgendaPlace, PATIENCE_MS, PendingRequests, type ProcessOptions } from './agenda-place.js';

/** Processes over a MongoDB database. */
export class MongoAgendaPlace implements AgendaPlace {
  readonly name: string;
  readonly wokenBy: StorePair['wokenBy'];
  readonly queries = new ExplainedQueries();
  private database: FreshDatabase | undefined;
  private readonly opened = new Map<AgendaWakeUps, MongoClient>();
  private readonly clients: MongoClient[] = [];

  /** Calls fail if the server has not answered after `patienceMs`. The default is long enough for a busy machine. */
  constructor(
    private readonly lane: StorePair,
    private readonly patienceMs = PATIENCE_MS,
  ) {
    this.wokenBy = lane.wokenBy;
    this.name = lane.wokenBy;
  }

  async prepare(suite: Context): Promise<void> {
    await this.prepareOn(await orSkip(suite, mongoServer(this.lane.mongo)));
  }

  async prepareOn(server: MongoServer): Promise<void> {
    this.database = freshDatabase(server);
    await asked(this.connect()).migrate();
  }

  connect(): Db {
    return this.dbOf(this.client());
  }

  async open({ pending = new PendingRequests(), ...options }: ProcessOptions = {}): Promise<AgendaWakeUps> {
    const client = this.client();
    const wakeUps = await AgendaWakeUps.open({
      database: asked(this.dbOf(client), pending),
      clock: new SystemClock(),
      wokenBy: this.wokenBy,
      ...options,
    });
    this.opened.set(wakeUps, client);
    return wakeUps;
  }

  async openStore(clock: Clock, holdMs: number): Promise<WakeUpStore> {
    return (await asked(this.connect()).open({ clock, holdMs, wokenBy: 'polling' })).store;
  }

  storedCount(): Promise<number> {
    return this.connect().collection(COLLECTION).countDocuments();
  }

  async storedAt(key: string): Promise<number | undefined> {
    const found = await this.connect().collection(COLLECTION).findOne({ 'data.generationId': key });
    return found?.['nextRunAt'].getTime();
  }

  /** Records the documents that a process writes from now on. */
  count(wakeUps: AgendaWakeUps, written: WrittenDocuments, name: string): void {
    const client = this.opened.get(wakeUps);
    if (client !== undefined) written.watch(client, name);
  }

  async kill(wakeUps: AgendaWakeUps): Promise<void> {
    await this.opened.get(wakeUps)?.close(true);
  }

  async empty(): Promise<void> {
    await Promise.all([...this.opened.keys()].map((wakeUps) => wakeUps.stop()));
    this.opened.clear();
    await this.connect().collection('agenda_wake_ups').deleteMany({});
    for (const client of this.clients.splice(0)) await client.close(true);
  }

  async remove(): Promise<void> {
    if (this.database === undefined) return;
    await this.empty();
    await this.database.drop();
  }

  private dbOf(client: MongoClient): Db {
    if (this.database === undefined) throw new Error('The suite has no database.');
    return client.db(this.database.database);
  }

  private client(): MongoClient {
    if (this.database === undefined) throw new Error('The suite has no database.');
    const client = new MongoClient(this.database.url, {
      writeConcern: { w: 'majority', journal: true },
      monitorCommands: true,
      serverSelectionTimeoutMS: this.patienceMs,
      connectTimeoutMS: this.patienceMs,
      socketTimeoutMS: PATIENCE_MS,
      waitQueueTimeoutMS: PATIENCE_MS,
    });
    this.queries.watch(client);
    this.clients.push(client);
    return client;
  }
}

/** The database as the program lends it: every request has a timeout, and outages are distinguished from errors. */
export function lentMongo(db: Db, timeoutMs = PATIENCE_MS): LentMongo {
  return { db, ask: (operation) => bounded(timeoutMs, operation) };
}

/** The database as the program uses it. */
export function asked(db: Db, pending = new PendingRequests()): WakeUpDatabase {
  const lent = lentMongo(db);
  return new MongoWakeUps({ db, ask: (operation) => pending.count(() => lent.ask(operation)) });
}

/** Keeps one query of each kind that is sent to the wake-ups collection, for the server to explain. */
export class ExplainedQueries {
  private readonly byShape = new Map<string, Document>();
  private readonly concerns = new Set<string>();

  watch(client: MongoClient): void {
    client.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
      if (command[commandName] !== 'agenda_wake_ups') return;
      if (['update', 'delete', 'findAndModify', 'find'].includes(commandName)) this.note(commandName, command);
    });
  }

  /** Expects that every query uses an index. It does not check the sort order: SecantusDB shows a sort above any index. */
  async expectIndexes(db: Db): Promise<void> {
    expect([...this.byShape.keys()].map((shape) => shape.split(' ')[0])).to.include.members([
      'find',
      'update',
      'delete',
    ]);
    for (const query of this.byShape.values()) {
      const plan = JSON.stringify(await db.command({ explain: query, verbosity: 'queryPlanner' }));
      expect(plan, JSON.stringify(query)).to.include('IXSCAN').and.not.include('COLLSCAN');
    }
  }

  /** The write concern requested by every write. */
  get writeConcerns(): readonly string[] {
    return [...this.concerns];
  }

  private note(name: string, command: Document): void {
    if (name !== 'find') this.concerns.add(JSON.stringify(command['writeConcern']));
    const { find, filter, sort, limit, findAndModify, query } = command;
    const looks: Document[] = command['updates'] ?? command['deletes'] ?? [{ q: filter ?? query }];
    for (const { q, hint } of looks) {
      if (Object.keys(q as Document).length === 0) continue;
      const explained = {
        find: find ?? findAndModify ?? command[name],
        filter: q,
        ...(sort && { sort }),
        ...(limit && { limit }),
        ...(hint && { hint }),
      };
      this.byShape.set(`${name} ${Object.keys(q as Document).join()} ${JSON.stringify(hint)}`, explained);
    }
  }
}
