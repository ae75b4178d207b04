/**
 * Goal: the backups of PostgreSQL in docs/operating/backup.md are complete: a dump, or a copy of the server's files, that is
 * made while the service writes is restored to stores that return the same records.
 * Method: pg_dump dumps filled stores, if this machine has it; and the files of a running server are copied to another server,
 * which is promoted to a primary.
 */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrated, openPostgres, type PostgresStores } from '../../../adapters/postgres/open-postgres.js';
import { contentOf, fillStores } from '../../fixtures/filled-stores.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { PostgresCluster } from '../../servers/postgres-cluster.js';
import { orSkip, postgresServer } from '../../servers/servers.js';

const FOLDERS = ['/usr/lib/postgresql/15/bin', ...(process.env['PATH'] ?? '').split(':')];
const run = promisify(execFile);

/** The path of a program of PostgreSQL 15, which can dump servers of that version; undefined if there is none. */
async function programOf15(name: string): Promise<string | undefined> {
  const path = FOLDERS.map((folder) => join(folder, name)).find((one) => existsSync(one));
  if (path === undefined) return undefined;
  return (await run(path, ['--version'])).stdout.includes(' 15.') ? path : undefined;
}

/** Writes records until `stop`, which returns their number. */
function writing(stores: PostgresStores): { stop(): Promise<number> } {
  const stopped = new AbortController();
  const written = (async () => {
    let n = 0;
    for (; !stopped.signal.aborted; n += 1) await stores.generations.insert(aGeneration(100_000 + n, { dueAt: 1e15 }));
    return n;
  })();
  return {
    stop: () => {
      stopped.abort();
      return written;
    },
  };
}

describe('a dump of PostgreSQL', () => {
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-dump-'));
  const databases: FreshPostgresDatabase[] = [];
  after(async () => {
    rmSync(folder, { recursive: true });
    for (const database of databases) await database.drop();
  });

  it('that pg_dump makes during writes is restored by pg_restore, and opens without a migration', async function dump() {
    const [dumping, restoring] = [await programOf15('pg_dump'), await programOf15('pg_restore')];
    if (dumping === undefined || restoring === undefined) {
      console.log('      skipped: pg_dump and pg_restore of version 15 are not on this machine');
      return this.skip();
    }
    const server = await orSkip(this, postgresServer('15'));
    const [first, second] = [await freshPostgresDatabase(server), await freshPostgresDatabase(server)];
    databases.push(first, second);
    await migrated({ url: first.url });
    const stores = await openPostgres({ url: first.url });
    await fillStores(stores);
    const before = await contentOf(stores);
    const load = writing(stores);
    const file = join(folder, 'darkroom.dump');
    await run(dumping, ['--format', 'custom', '--file', file, first.url]);
    expect(await load.stop()).to.be.above(0);
    await stores.close();
    expect(readFileSync(file).subarray(0, 5).toString()).to.equal('PGDMP');

    await run(restoring, ['--no-owner', '--exit-on-error', '--dbname', second.url, file]);
    const restored = await openPostgres({ url: second.url });
    try {
      const content = await contentOf(restored);
      const { of: _, open: __, ...rest } = content;
      const { of: ___, open: ____, ...expected } = before;
      expect(rest).to.deep.equal(expected);
    } finally {
      await restored.close();
    }
  });
});

describe('a copy of the files of PostgreSQL', () => {
  let cluster: PostgresCluster;

  before(async function server() {
    cluster = await orSkip(this, PostgresCluster.start({ replicas: 1 }));
  });
  after(() => cluster?.close());

  it('that is made during writes starts as a separate server, with every earlier record', async () => {
    await migrated({ url: cluster.urlOf('a') });
    const stores = await openPostgres({ url: cluster.urlOf('a') });
    await fillStores(stores);
    const before = await contentOf(stores);
    const load = writing(stores);
    await cluster.rejoin('b');
    expect(await load.stop()).to.be.above(0);
    await stores.close();
    await cluster.kill('a');
    await cluster.promote('b');
    const restored = await openPostgres({ url: cluster.urlOf('b') });
    try {
      const { of: _, open: __, ...rest } = await contentOf(restored);
      const { of: ___, open: ____, ...expected } = before;
      expect(rest).to.deep.equal(expected);
    } finally {
      await restored.close();
    }
  });
});
