import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../../test/servers/postgres-client.js';

const POLL_MS = 20;

/** What a server of PostgreSQL counts, since it was started. */
export interface PostgresCounts {
  readonly walBytes: number;
  readonly walSyncs: number;
  /** Of the database that was connected to. */
  readonly commits: number;
}

/** Before version 18 the syncs of the log were counted elsewhere. */
const SYNCS = {
  earlier: 'SELECT wal_sync FROM pg_stat_wal',
  present: `SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'`,
} as const;

const COUNTS = (syncs: string): string => `
  SELECT (SELECT (pg_current_wal_lsn() - '0/0')::float8) AS "walBytes", (${syncs})::float8 AS "walSyncs",
    (SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()) AS commits`;

/** Waits for the statistics of those that were connected, which are complete once they have left. */
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
