import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Login } from './connection-url.js';

/** A message in the log of the server is a write like any other: it waits for the disk, and for a replica. */
export const WRITE_NOTHING = `SELECT pg_logical_emit_message(true, 'darkroom', '')`;
const WAITS_FOR_REPLICA = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'`;

interface Trial {
  readonly login: Login;
  readonly client: pg.Client;
  readonly isAcknowledged: Promise<boolean>;
}

/**
 * Finds out whether a server acknowledges writes, as the one in front of a lost replica does not. It keeps the process of a
 * commit that waits for a replica until the replica is back, also when the client is gone: so one write is tried and waited
 * for, as more of them would in time use up the connections of the server.
 */
export class TrialWrite {
  private trial: Trial | undefined;
  /** Why the server acknowledges none. */
  fault: unknown;

  /** `limitMs` bounds the wait of this call; the next one continues with the same write. */
  constructor(private readonly limitMs: number) {}

  async isAcknowledgedBy(login: Login): Promise<boolean> {
    const trial = await this.presentTrial(login);
    const patience = new AbortController();
    const late = wait(this.limitMs, 'late' as const, { signal: patience.signal }).catch(() => 'late' as const);
    const outcome = await Promise.race([trial.isAcknowledged, late]);
    patience.abort();
    if (outcome === 'late') {
      this.fault = new Error('a write still waits for a replica');
      return false;
    }
    trial.client.end().catch(() => undefined);
    this.trial = undefined;
    return outcome;
  }

  /** Without a farewell, for which a server that is gone would have to be waited for. */
  end(): void {
    this.trial?.client.connection.stream.destroy();
    this.trial = undefined;
  }

  private async presentTrial(login: Login): Promise<Trial> {
    const { trial } = this;
    if (trial?.login === login && (await this.waitsForReplica(trial))) return trial;
    this.end();
    const client = this.client(login);
    const isAcknowledged = client
      .connect()
      .then(() => client.query(WRITE_NOTHING))
      .then(
        () => true,
        (error: unknown) => {
          this.fault = error;
          return false;
        },
      );
    this.trial = { login, client, isAcknowledged };
    return this.trial;
  }

  /** One that the server does not know of has lost its connection, on which nothing will ever arrive. */
  private async waitsForReplica({ login, client }: Trial): Promise<boolean> {
    const asking = this.client(login, this.limitMs);
    try {
      await asking.connect();
      const { processID } = client as unknown as { readonly processID: number | null };
      return (await asking.query(WAITS_FOR_REPLICA, [processID])).rowCount === 1;
    } catch {
      return false;
    } finally {
      asking.end().catch(() => undefined);
    }
  }

  private client(login: Login, queryTimeoutMs?: number): pg.Client {
    const client = new pg.Client({
      ...login,
      connectionTimeoutMillis: this.limitMs,
      ...(queryTimeoutMs === undefined ? {} : { query_timeout: queryTimeoutMs }),
    });
    client.on('error', () => undefined);
    return client;
  }
}
