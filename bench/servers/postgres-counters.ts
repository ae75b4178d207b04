import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../../test/servers/postgres-client.js';

const POLL_MS = 20;

/** Counters of a PostgreSQL server since its start. */
export interface PostgresCounts {
  readonly walBytes: number;
  readonly walSyncs: number;
  /** Commits in the database that the URL names. */
  readonly commits: number;
}

/** The statistics view that counts syncs of the write-ahead log: it changed in version 18. */
const SYNCS = {
  earlier: 'SELECT wal_sync FROM pg_stat_wal',
  present: `SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'`,
} as const;

const COUNTS = (syncs: string): string => `
  SELECT (SELECT (pg_current_wal_lsn() - '0/0')::float8) AS "walBytes", (${syncs})::float8 AS "walSyncs",
    (SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()) AS commits`;

/** Waits until all other clients have disconnected, because a connection reports its last statistics when it ends. */
export async function postgresCounts(url: string): Promise<PostgresCounts> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ version: number }>(
      `SELECT current_setting('server_version_num')::int AS version`,
    );
    const isPresent = (rows[0]?.version ?? 0) >= 180_000;
    for (;;) {
      const others = await client.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      if (others.rowCount === 0) break;
      await sleep(POLL_MS);
    }
    const counted = await client.query<{ walBytes: number; walSyncs: number; commits: number }>(
      COUNTS(isPresent ? SYNCS.present : SYNCS.earlier),
    );
    return counted.rows[0] as PostgresCounts;
  });
}

export function perOne(before: PostgresCounts, after: PostgresCounts, count: number): PostgresCounts {
  return {
    walBytes: (after.walBytes - before.walBytes) / count,
    walSyncs: (after.walSyncs - before.walSyncs) / count,
    commits: (after.commits - before.commits) / count,
  };
}
