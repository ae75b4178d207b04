import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Log } from '../../core/log.js';
import type { WrittenGeneration } from '../../core/ports/stores.js';
import { type ChangeSource, FollowedChanges, type StreamListener } from '../followed-changes.js';
import { recordFrom } from '../record-text.js';
import type { PostgresDatabase } from './connection.js';
import { PgoutputReader, type ReplicatedRow, type ReplicationMessage, standbyStatus } from './pgoutput.js';
import { PUBLICATION } from './schema.js';

/** The columns of the publication. */
const COLUMNS = ['id', 'app', 'version', 'doc'];

/**
 * Whether the server can report changes to this role: it logs for logical decoding, and lets the role replicate. Where it
 * cannot, generations are read instead. Throws StoreUnavailable.
 */
export async function reportsChanges(database: PostgresDatabase): Promise<boolean> {
  const { rows } = await database.ask(`
    SELECT current_setting('wal_level') = 'logical' AND current_setting('max_wal_senders')::int4 > 0
      AND current_setting('max_replication_slots')::int4 > 0 AND (rolreplication OR rolsuper) AS reports
    FROM pg_catalog.pg_roles WHERE rolname = current_user`);
  return rows[0]?.['reports'] === true;
}

/**
 * Reports the writes of every process to generations, by logical decoding: one connection for each process, whose slot
 * ends with it. A stream that is lost is not resumed: a new one is opened, and its followers are notified.
 */
export class PostgresGenerationChanges extends FollowedChanges {
  constructor(database: PostgresDatabase, log?: Log) {
    super((listener) => {
      const stream = new GenerationStream(database, listener);
      void stream.open();
      return stream;
    }, log);
  }
}

/** How often received changes are acknowledged, and the server is asked for a sign of life. */
const BEAT_MS = 2_000;
/** A stream is lost after this many of them without a sign. */
const MAX_SILENT_BEATS = 4;

/**
 * A slot begins once every transaction that writes has ended. The server waits this long for each of them, so that nothing
 * of an abandoned attempt stays there for longer; we wait for all.
 */
const SLOT_LOCK_MS = 5_000;
const OPEN_MS = 20_000;

/**
 * Replicas take the same connections as streams do, and a synchronous one that finds none stops all writes: so many are left
 * to them.
 */
const SPARE_SENDERS = 3;

/** No row without the publication, from which a server of version 18 would stream nothing at all. */
const SERVER = `
  SELECT current_setting('synchronous_standby_names') <> '' AS waits,
    current_setting('max_wal_senders')::int4 - (SELECT count(*) FROM pg_catalog.pg_stat_replication)::int4 AS senders
  FROM pg_catalog.pg_publication WHERE pubname = '${PUBLICATION}'`;

/** Pauses before the server is asked once more whether a transaction has ended: the first, and at most. */
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 200;

/** A stream is given up when changes with more than this many characters wait for their transactions to end. */
const MAX_HELD_CHARACTERS = 64 * 2 ** 20;

/**
 * Returns the transactions that have ended, and whether the answering server has the slot: after a failover another server
 * answers, which has its own transactions.
 */
const SNAPSHOT = `
  SELECT pg_catalog.pg_current_snapshot()::text AS snapshot, current_setting('synchronous_standby_names') <> '' AS waits,
    EXISTS (SELECT FROM pg_catalog.pg_replication_slots WHERE slot_name = $1) AS streams`;

interface HeardChange {
  readonly transaction: number;
  readonly change: WrittenGeneration;
  readonly characters: number;
}

/**
 * One connection that receives changes, for as long as it lasts. The server sends a change once its transaction is in the
 * log of the primary. If the transaction waits for a synchronous replica then, a failover may still lose it: it has not
 * ended for other snapshots until the wait is over, so it is held back until a snapshot shows its end. Only a wait that an
 * administrator cancels ends without the replica.
 */
class GenerationStream implements ChangeSource {
  private readonly slot = `darkroom_${randomUUID().replaceAll('-', '')}`;
  private readonly reader = new PgoutputReader(COLUMNS);
  private client: Client | undefined;
  private isEnded = false;
  private timer: NodeJS.Timeout | undefined;
  private silentBeats = 0;
  private position = 0n;
  private transaction = 0;
  /** Whether commits wait for a synchronous replica. */
  private waits = true;
  private held: HeardChange[] = [];
  private heldCharacters = 0;
  private isLooking = false;

  constructor(
    private readonly database: PostgresDatabase,
    private readonly listener: StreamListener,
  ) {}

  async open(): Promise<void> {
    this.timer = setTimeout(() => this.lost(new Error('The stream did not open in time.')), OPEN_MS).unref();
    try {
      const client = await this.database.connectDirectly({
        applicationName: 'darkroom_changes',
        replication: 'database',
      });
      this.client = client;
      if (this.isEnded) return this.disconnect();
      client.on('error', (error) => this.lost(error));
      client.on('end', () => this.lost(new Error('The server has ended the stream.')));
      await this.start(client);
    } catch (error) {
      this.lost(error);
    }
  }

  /** Ends the connection, without a word to the listener. */
  end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    clearTimeout(this.timer);
    this.held = [];
    this.disconnect();
  }

  private lost(error: unknown): void {
    if (this.isEnded) return;
    this.end();
    this.listener.lost(error);
  }

  private disconnect(): void {
    this.client?.end().catch(() => undefined);
  }

  private async start(client: Client): Promise<void> {
    await client.query(`SET lock_timeout = ${SLOT_LOCK_MS}`);
    const { rows } = await client.query<{ waits: boolean; senders: number }>(SERVER);
    const [server] = rows;
    if (server === undefined) throw new Error(`The database has no publication ${PUBLICATION}.`);
    if (server.senders < SPARE_SENDERS)
      throw new Error(`Only ${server.senders} WAL senders are left for replicas; raise max_wal_senders.`);
    this.waits = server.waits;
    await client.query(`CREATE_REPLICATION_SLOT ${this.slot} TEMPORARY LOGICAL pgoutput (SNAPSHOT 'nothing')`);
    client.connection.on('copyData', ({ chunk }: { readonly chunk: Buffer }) => this.receive(chunk));
    client.connection.once('replicationStart', () => this.started());
    await client.query(
      `START_REPLICATION SLOT ${this.slot} LOGICAL 0/0 (proto_version '1', publication_names '${PUBLICATION}')`,
    );
    throw new Error('The server has ended the stream.');
  }

  private started(): void {
    if (this.isEnded) return;
    clearTimeout(this.timer);
    this.timer = setInterval(() => this.beat(), BEAT_MS).unref();
    this.listener.opened();
  }

  private beat(): void {
    this.silentBeats += 1;
    if (this.silentBeats > MAX_SILENT_BEATS) return this.lost(new Error('The server gives no sign of life.'));
    this.acknowledge();
    void this.look();
  }

  private acknowledge(): void {
    const stream = this.client?.connection.stream;
    if (stream?.writable === true) stream.write(standbyStatus(this.position, Date.now()));
  }

  private receive(chunk: Buffer): void {
    if (this.isEnded) return;
    this.silentBeats = 0;
    try {
      this.take(this.reader.read(chunk));
    } catch (error) {
      this.lost(error);
    }
  }

  private take(message: ReplicationMessage): void {
    switch (message.kind) {
      case 'keepalive':
        this.position = message.position;
        if (message.mustReply) this.acknowledge();
        break;
      case 'begin':
        this.transaction = message.transaction;
        break;
      case 'row':
        this.hear(message.row);
        break;
      case 'commit':
        this.position = message.position;
        if (this.held.length > 0) void this.look();
        break;
      case 'other':
        break;
    }
  }

  private hear(row: ReplicatedRow): void {
    const { doc } = row;
    // Stored out of line, and left as it was: every version is written with its whole record.
    if (doc === undefined || doc === null) return;
    const change = writtenGeneration(row, doc);
    if (!this.waits && this.held.length === 0) return this.listener.written(change);
    this.held.push({ transaction: this.transaction, change, characters: doc.length });
    this.heldCharacters += doc.length;
    if (this.heldCharacters > MAX_HELD_CHARACTERS) this.lost(new Error('Too many changes wait for a replica.'));
  }

  /** Tells what was held back and is durable, until nothing is held back. One at a time. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.isEnded) {
      const found = await this.snapshot();
      if (found !== undefined && this.tellEnded(found)) pauseMs = FIRST_PAUSE_MS;
      if (this.held.length === 0) break;
      await sleep(pauseMs, undefined, { ref: false });
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    }
    this.isLooking = false;
  }

  /** Undefined during an outage, which has its own lines in the log, and once the stream is lost. */
  private async snapshot(): Promise<Snapshot | undefined> {
    try {
      const { rows } = await this.database.ask(SNAPSHOT, [this.slot]);
      const { snapshot, waits, streams } = rows[0] as { snapshot: string; waits: boolean; streams: boolean };
      if (!streams) this.lost(new Error('The server of the stream is not the primary any more.'));
      this.waits = waits;
      return new Snapshot(snapshot);
    } catch {
      return undefined;
    }
  }

  /** Tells in the order of the commits. Returns whether there was anything to tell. */
  private tellEnded(snapshot: Snapshot): boolean {
    const open = this.held.findIndex(({ transaction }) => !snapshot.hasEnded(transaction));
    const ended = this.held.splice(0, open < 0 ? this.held.length : open);
    for (const { change, characters } of ended) {
      this.heldCharacters -= characters;
      this.listener.written(change);
    }
    return ended.length > 0;
  }
}

/** Throws if the row is not one of the table of generations. */
function writtenGeneration({ id, app, version }: ReplicatedRow, doc: string): WrittenGeneration {
  const number = Number(version ?? NaN);
  if (typeof id !== 'string' || !Number.isSafeInteger(number)) throw new Error('A generation without id or version.');
  return { generationId: id, appId: app ?? undefined, version: number, record: () => recordFrom(doc) };
}

/** The transactions that had ended at a moment, read from the text of a `pg_snapshot`: `xmin:xmax:xip,xip`. */
export class Snapshot {
  private readonly oldestOpen: number;
  private readonly next: number;
  private readonly open: ReadonlySet<number>;

  constructor(text: string) {
    const [oldestOpen = '', next = '', open = ''] = text.split(':');
    this.oldestOpen = low32(oldestOpen);
    this.next = low32(next);
    this.open = new Set(open === '' ? [] : open.split(',').map(low32));
  }

  /** Whether a transaction, given by the low 32 bits of its id, had ended. The server must have logged it before. */
  hasEnded(transaction: number): boolean {
    if (precedes(transaction, this.oldestOpen)) return true;
    return precedes(transaction, this.next) && !this.open.has(transaction);
  }
}

function low32(id: string): number {
  return Number(BigInt.asUintN(32, BigInt(id)));
}

/** Compares ids by their low 32 bits. Ids in use are never further apart than half of that range. */
function precedes(one: number, other: number): boolean {
  return ((one - other) | 0) < 0;
}
