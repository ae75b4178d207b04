import type { Context } from 'mocha';
import type { Client } from 'pg';
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { PostgresWakeUps } from '../../../adapters/agenda/postgres/postgres-wake-ups.js';
import { type LentPostgres, TABLE } from '../../../adapters/agenda/postgres/wake-up-rows.js';
import type { WakeUpStore } from '../../../adapters/agenda/wake-up-store.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { Clock } from '../../../core/ports/machine.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { orSkip, type PostgresServer, postgresServer } from '../../servers/servers.js';
import { type AgendaPlace, PATIENCE_MS, PendingRequests, type ProcessOptions } from './agenda-place.js';
import { PostgresConnection, type PostgresOptions } from '../../../adapters/postgres/connection.js';

/** Processes over a PostgreSQL database. */
export class PostgresAgendaPlace implements AgendaPlace {
  readonly name: string;
  private database: FreshPostgresDatabase | undefined;
  private readonly opened = new Map<AgendaWakeUps, Connections>();
  private readonly connections: Connections[] = [];

  /** Calls fail if the server has not answered after `patienceMs`. */
  constructor(
    private readonly version: '18' | '15',
    readonly wokenBy: 'notifications' | 'polling',
    private readonly patienceMs = PATIENCE_MS,
  ) {
    this.name = `PostgreSQL ${version}, ${wokenBy}`;
  }

  async prepare(suite: Context): Promise<void> {
    await this.prepareOn(await orSkip(suite, postgresServer(this.version)));
  }

  async prepareOn(server: PostgresServer): Promise<void> {
    this.database = await freshPostgresDatabase(server);
    await new PostgresWakeUps(this.connect()).migrate();
  }

  get url(): string {
    if (this.database === undefined) throw new Error('The suite has no database.');
    return this.database.url;
  }

  /** Opens the connections of another process. */
  connect({ pending = new PendingRequests(), ...options }: ConnectionsOptions = {}): Connections {
    const connections = new Connections({ url: this.url, timeoutMs: this.patienceMs, ...options }, pending);
    this.connections.push(connections);
    return connections;
  }

  async open({
    pending = new PendingRequests(),
    directUrl = this.url,
    ...options
  }: ProcessOptions & ConnectionsOptions = {}): Promise<AgendaWakeUps> {
    const connections = this.connect({ pending, directUrl });
    const wakeUps = await AgendaWakeUps.open({
      database: new PostgresWakeUps(connections),
      clock: new SystemClock(),
      wokenBy: this.wokenBy,
      ...options,
    });
    this.opened.set(wakeUps, connections);
    return wakeUps;
  }

  async openStore(clock: Clock, holdMs: number): Promise<WakeUpStore> {
    return (await new PostgresWakeUps(this.connect()).open({ clock, holdMs, wokenBy: 'polling' })).store;
  }

  async kill(wakeUps: AgendaWakeUps): Promise<void> {
    await this.opened.get(wakeUps)?.cut();
  }

  async storedCount(): Promise<number> {
    return (await this.rows(`SELECT count(*) AS n FROM ${TABLE}`))[0]?.['n'] as number;
  }

  async storedAt(key: string): Promise<number | undefined> {
    return (await this.rows(`SELECT at FROM ${TABLE} WHERE subject = $1`, [key]))[0]?.['at'] as number | undefined;
  }

  /** Runs a statement for the test, and returns the rows. */
  async rows(sql: string, values: readonly string[] = []) {
    const connections = this.connect();
    try {
      return (await connections.ask(sql, values)).rows;
    } finally {
      await connections.cut();
    }
  }

  async empty(): Promise<void> {
    await Promise.all([...this.opened.keys()].map((wakeUps) => wakeUps.stop()));
    this.opened.clear();
    await this.rows(`DELETE FROM ${TABLE}`);
    for (const connections of this.connections.splice(0)) await connections.cut();
  }

  async remove(): Promise<void> {
    if (this.database === undefined) return;
    await this.empty();
    await this.database.drop();
  }
}

export interface ConnectionsOptions {
  readonly pending?: PendingRequests;
  readonly directUrl?: string;
  readonly poolSize?: number;
  readonly timeoutMs?: number;
}

/** The connections of one process. */
export class Connections implements LentPostgres {
  private readonly connection: PostgresConnection;
  private readonly direct: Client[] = [];
  private isCut = false;

  constructor(
    options: PostgresOptions,
    private readonly pending: PendingRequests,
  ) {
    this.connection = new PostgresConnection(options);
  }

  ask: LentPostgres['ask'] = (sql, values) => this.unlessCut(() => this.connection.ask(sql, values));

  connectDirectly: LentPostgres['connectDirectly'] = async (options) => {
    const client = await this.unlessCut(() => this.connection.connectDirectly(options));
    this.direct.push(client);
    return client;
  };

  /** Disconnects permanently. Pending answers do not arrive. */
  async cut(): Promise<void> {
    if (this.isCut) return;
    this.isCut = true;
    for (const client of this.direct) client.connection.stream.destroy();
    await this.connection.close();
  }

  private unlessCut<T>(request: () => Promise<T>): Promise<T> {
    return this.pending.count(async () => {
      const answer = this.isCut ? undefined : await request();
      if (this.isCut || answer === undefined) throw new StoreUnavailable('This process was cut off.');
      return answer;
    });
  }
}
