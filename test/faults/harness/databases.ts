import { MongoClient } from 'mongodb';
import pg from 'pg';
import type { AtRest } from '../../history/recorded/history.js';
import { queryOnce, withClient } from '../../servers/postgres-client.js';
import { PostgresCluster } from '../../servers/postgres-cluster.js';
import { ServerProcess } from '../../servers/server-process.js';
import { booksIn } from './books-at-rest.js';
import { postgresBooks } from './postgres-books.js';

export const DATABASE = 'darkroom-faults';

/** The database of an installation under faults: one server or several. */
export interface DatabaseUnderFaults {
  /** The value of `stores.database`. */
  readonly driver: 'mongo' | 'postgres';
  /** The ports of its servers; each process has its own link to each server. */
  readonly ports: readonly number[];
  /** Its section of the configuration file, with addresses that bypass the links. */
  readonly section: string;
  /** The environment variables of a process that connects over its links; `linkPorts` has the order of `ports`. */
  environment(linkPorts: readonly number[]): Readonly<Record<string, string>>;
  /** Reads all accounts, and the whole database as text, without the program. */
  findAtRest(): Promise<Pick<AtRest, 'accounts' | 'texts'>>;
  close(): Promise<void>;
}

/** A MongoDB replica set of one server. */
export class MongoUnderFaults implements DatabaseUnderFaults {
  readonly driver = 'mongo';

  private constructor(readonly server: ServerProcess) {}

  static async open(): Promise<MongoUnderFaults> {
    return new MongoUnderFaults(await ServerProcess.start('mongo-replica-set'));
  }

  get ports(): readonly number[] {
    return [this.server.port];
  }

  get section(): string {
    return `mongo: { url: "${this.server.url}", database: ${DATABASE}, pool_size: 20, timeout_seconds: 2 }`;
  }

  environment([port]: readonly number[]): Readonly<Record<string, string>> {
    return { DARKROOM_MONGO_URL: `mongodb://127.0.0.1:${port}/?directConnection=true` };
  }

  async findAtRest(): Promise<Pick<AtRest, 'accounts' | 'texts'>> {
    const client = new MongoClient(this.server.url);
    try {
      const db = client.db(DATABASE);
      const collections = await db.listCollections({}, { nameOnly: true }).toArray();
      const texts = await Promise.all(
        collections.map(async ({ name }) => ({
          where: `collection ${name}`,
          text: JSON.stringify(await db.collection(name).find().toArray()),
        })),
      );
      return { accounts: await booksIn(db), texts };
    } finally {
      await client.close();
    }
  }

  close(): Promise<void> {
    return this.server.stop();
  }
}

export interface ClusterShape {
  /** With two, a write waits for any one of them. With one, a write after a failover waits for none until the former primary has rejoined. */
  readonly replicas: 1 | 2;
  /** If false, writes wait for no replica, and a failover loses some. */
  readonly isSynchronous: boolean;
  /** The latency between the servers in each direction, in milliseconds. */
  readonly delayMs?: number;
}

/** The role of the processes, which is not a superuser, and the role of another program that uses the same servers. */
const [OWNER, STRANGER] = ['darkroom', 'stranger'];
const POOL_SIZE = 6;
/** The operator's timeout is longer than that of the processes; it is the maximum, which is the length of a lease. */
const OPERATOR_SECONDS = 3;
/** Enough connections for all processes. */
const MAX_CONNECTIONS = 110;
const TOO_MANY_CONNECTIONS = '53300';
const LOOK_EVERY_MS = 50;

/** A PostgreSQL primary with its replicas. */
export class PostgresUnderFaults implements DatabaseUnderFaults {
  readonly driver = 'postgres';

  private constructor(
    readonly cluster: PostgresCluster,
    private readonly shape: ClusterShape,
  ) {}

  static async open(shape: ClusterShape): Promise<PostgresUnderFaults> {
    const names = shape.replicas === 1 ? '*' : 'ANY 1 (a, b, c)';
    const cluster = await PostgresCluster.start({
      replicas: shape.replicas,
      synchronousStandbyNames: shape.isSynchronous ? names : '',
      delayMs: shape.delayMs ?? 0,
      lines: [`max_connections = ${MAX_CONNECTIONS}`],
    });
    const database = new PostgresUnderFaults(cluster, shape);
    await database.onPrimary(
      `CREATE ROLE ${OWNER} LOGIN REPLICATION`,
      `CREATE ROLE ${STRANGER} LOGIN`,
      `CREATE DATABASE "${DATABASE}" OWNER ${OWNER}`,
    );
    return database;
  }

  get ports(): readonly number[] {
    return this.cluster.names.map((name) => Number(new URL(this.cluster.urlOf(name)).port));
  }

  get section(): string {
    return `postgres: { url: "${this.urlOver(this.ports)}", pool_size: ${POOL_SIZE}, timeout_seconds: ${OPERATOR_SECONDS}, replicas: ${this.waitsAlways ? 1 : 0} }`;
  }

  environment(linkPorts: readonly number[]): Readonly<Record<string, string>> {
    return { DARKROOM_POSTGRES_URL: this.urlOver(linkPorts), DARKROOM_POSTGRES_TIMEOUT_SECONDS: '2' };
  }

  get replicas(): readonly string[] {
    return this.cluster.names.filter((name) => name !== this.cluster.primary);
  }

  /** Promotes the replica that has received the most log: if all replicas are running, it has every acknowledged write. */
  async failOver(): Promise<void> {
    const received = await Promise.all(
      this.replicas.map(async (name) => {
        const [row] = await queryOnce(
          this.cluster.urlOf(name),
          `SELECT pg_wal_lsn_diff(greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), '0/0')::float8 AS bytes`,
        );
        return { name, bytes: row?.['bytes'] as number };
      }),
    );
    const [most] = received.toSorted((a, b) => b.bytes - a.bytes);
    if (most === undefined) throw new Error('There is no replica to promote.');
    await this.cluster.promote(most.name);
    if (!this.waitsAlways) await this.cluster.setSynchronousStandbyNames('', most.name);
  }

  /** Makes a former primary a replica of the current one, whose writes wait for it again. */
  async rejoin(name: string): Promise<void> {
    await this.cluster.rejoin(name);
    if (this.shape.isSynchronous && !this.waitsAlways)
      await this.cluster.setSynchronousStandbyNames('*', this.cluster.primary);
  }

  /** Ends the processes' connections to the primary, and lets another program take and hold all connections. */
  async exhaust(): Promise<Stranger> {
    const url = new URL(this.cluster.urlOf());
    url.username = STRANGER;
    const stranger = new Stranger(url.href);
    await stranger.takeAll();
    await this.onPrimary(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${OWNER}'`);
    stranger.keepTaking();
    return stranger;
  }

  async findAtRest(): Promise<Pick<AtRest, 'accounts' | 'texts'>> {
    const url = this.urlOver(this.ports.slice(this.primaryIndex, this.primaryIndex + 1));
    return withClient(url, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'darkroom'`,
      );
      const texts: { where: string; text: string }[] = [];
      for (const { name } of rows) {
        const found = await client.query<{ text: string | null }>(
          `SELECT json_agg(found)::text AS text FROM darkroom.${name} AS found`,
        );
        texts.push({ where: `table ${name}`, text: found.rows[0]?.text ?? '' });
      }
      return { accounts: await postgresBooks(client), texts };
    });
  }

  close(): Promise<void> {
    return this.cluster.close();
  }

  /** Whether a write always waits for a replica, even between a failover and the return of the former primary. */
  private get waitsAlways(): boolean {
    return this.shape.isSynchronous && this.shape.replicas > 1;
  }

  private get primaryIndex(): number {
    return this.cluster.names.indexOf(this.cluster.primary);
  }

  private urlOver(ports: readonly number[]): string {
    return `postgres://${OWNER}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${DATABASE}`;
  }

  private async onPrimary(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await queryOnce(this.cluster.urlOf(), statement);
  }
}

/** A program that opens connections until a server refuses one. */
class Stranger {
  private readonly clients = new Set<pg.Client>();
  private keeping: NodeJS.Timeout | undefined;
  private taking: Promise<void> | undefined;

  constructor(private readonly url: string) {}

  get held(): number {
    return this.clients.size;
  }

  takeAll(): Promise<void> {
    this.taking ??= this.take().finally(() => (this.taking = undefined));
    return this.taking;
  }

  keepTaking(): void {
    this.keeping = setInterval(() => void this.takeAll().catch(() => undefined), LOOK_EVERY_MS);
  }

  async release(): Promise<void> {
    clearInterval(this.keeping);
    await this.taking?.catch(() => undefined);
    await Promise.all([...this.clients].map((client) => client.end()));
  }

  private async take(): Promise<void> {
    for (;;) {
      const client = new pg.Client({ connectionString: this.url });
      client.on('error', () => this.clients.delete(client));
      try {
        await client.connect();
      } catch (error) {
        if (error instanceof pg.DatabaseError && error.code === TOO_MANY_CONNECTIONS) return;
        throw error;
      }
      this.clients.add(client);
    }
  }
}
