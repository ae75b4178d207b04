import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresConnection, type PostgresDatabase } from '../../../adapters/postgres/connection.js';
import { migratePostgres } from '../../../adapters/postgres/migrate-postgres.js';
import { openPostgres } from '../../../adapters/postgres/open-postgres.js';
import { PostgresGenerationChanges, reportsChanges } from '../../../adapters/postgres/postgres-generation-changes.js';
import { PostgresGenerationStore } from '../../../adapters/postgres/postgres-generation-store.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import type { GenerationRecord } from '../../../core/generation/generation.js';
import { AppWatch, GenerationWatch } from '../../../core/generation/watch.js';
import {
  type ChangesPlace,
  generationChangesContract,
  ToldListener,
} from '../../contracts/generation-changes.contract.js';
import type { ContractSubject } from '../../contracts/subject.js';
import { until } from '../../fixtures/clocks.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { queryOnce, withClient } from '../../servers/postgres-client.js';
import { PostgresCluster } from '../../servers/postgres-cluster.js';
import { ServerProcess } from '../../servers/server-process.js';
import { POSTGRES_LANES } from './on-postgres.js';
import { orSkip, postgresServer, toxiproxyServer } from '../../servers/servers.js';

/** Longer than a busy machine needs, and short enough to detect a lost server soon. */
const TIMEOUT_MS = 2_000;
/** Far longer than any wait of a test. */
const PATIENCE_MS = 600_000;

/** The connection of one process, and the ports that use it. */
interface Process {
  readonly connection: PostgresConnection;
  readonly changes: PostgresGenerationChanges;
  readonly generations: PostgresGenerationStore;
}

/** The processes of a test, which all end with the test. */
class Processes {
  private readonly opened: Process[] = [];

  open(url: string, timeoutMs = TIMEOUT_MS): Process {
    const connection = new PostgresConnection({ url, timeoutMs, poolSize: 4 });
    const process = {
      connection,
      changes: new PostgresGenerationChanges(connection),
      generations: new PostgresGenerationStore(connection),
    };
    this.opened.push(process);
    return process;
  }

  async end(): Promise<void> {
    for (const { changes } of this.opened) changes.close();
    await Promise.all(this.opened.splice(0).map(({ connection }) => connection.close()));
  }
}

async function followed({ changes }: Process): Promise<ToldListener> {
  const told = new ToldListener();
  changes.follow(told);
  await until(() => told.openings === 1);
  return told;
}

async function migrate(url: string): Promise<void> {
  const connection = new PostgresConnection({ url });
  try {
    await migratePostgres(connection);
  } finally {
    await connection.close();
  }
}

// Goal: PostgreSQL fulfils the contract of generation changes, including for large and unusual records and after failures of
// links and servers, and leaves nothing behind on the server.
// Method: connections of several processes to one database; a proxy that fails; a server that is killed; the server's views of
// replication slots and connections.

/** The PostgreSQL versions of this run. */
const VERSIONS = [...new Set(POSTGRES_LANES.map(({ version }) => version))];

for (const version of VERSIONS)
  describe(`The changes of generations on PostgreSQL ${version}`, () => {
    let database: FreshPostgresDatabase;
    const processes = new Processes();

    before(async function server() {
      database = await freshPostgresDatabase(await orSkip(this, postgresServer(version)));
      await migrate(database.url);
    });
    beforeEach(() => queryOnce(database.url, 'TRUNCATE darkroom.generations'));
    afterEach(() => processes.end());
    after(() => database?.drop());

    const subject: ContractSubject<ChangesPlace> = {
      name: `PostgreSQL ${version}`,
      supports: {},
      open: async () => {
        const [own, other] = [processes.open(database.url), processes.open(database.url)];
        return {
          changes: own.changes,
          own: own.generations,
          other: other.generations,
        };
      },
      close: () => processes.end(),
    };
    generationChangesContract(subject);

    it('are reported completely: with 1 MB, and with half a character', async () => {
      const process = processes.open(database.url);
      const told = await followed(process);
      const records = [
        aGeneration(1, { prompt: randomBytes(500_000).toString('hex') }),
        aGeneration(2, { prompt: 'half \ud834 \u0000 \\ § 𝄞' }),
      ];
      for (const record of records) await process.generations.insert(record);
      await until(() => told.records.length === 2);
      expect(told.records).to.deep.equal(records);
    });

    it('are not reported for an update that does not change a large record', async () => {
      const process = processes.open(database.url);
      const told = await followed(process);
      const large = aGeneration(1, { prompt: randomBytes(100_000).toString('hex') });
      await process.generations.insert(large);
      await process.connection.ask('UPDATE darkroom.generations SET attention_at = 5 WHERE id = $1', [uuidAt(1)]);
      await process.generations.replace({ ...large, version: 1 }, 0);
      await until(() => told.records.length === 2);
      expect(told.records).to.deep.equal([large, { ...large, version: 1 }]);
    });

    it('are received by each of four followers in two processes, 1,000 at once', async () => {
      const [one, other] = [processes.open(database.url), processes.open(database.url)];
      const told = [await followed(one), await followed(one), await followed(other), await followed(other)];
      const numbers = Array.from({ length: 1_000 }, (_, n) => n + 1);
      const writer = processes.open(database.url, PATIENCE_MS);
      await Promise.all(
        numbers.map(async (n) => {
          await writer.generations.insert(aGeneration(n));
          await writer.generations.replace(aGeneration(n, { version: 1 }), 0);
        }),
      );
      await until(() => told.every(({ records }) => records.length >= 2_000));
      for (const { records, interruptions } of told) {
        for (const v of [0, 1])
          expect(new Set(records.filter((record) => record.version === v).map((record) => record.generationId)))
            .to.have.property('size')
            .equal(1_000);
        expect([records.length, interruptions]).to.deep.equal([2_000, 0]);
      }
    });

    /** The slots of this database. */
    const slots = () =>
      queryOnce(
        database.url,
        'SELECT temporary, active_pid FROM pg_replication_slots WHERE database = current_database()',
      );

    it('use one slot, which is removed with its connection', async () => {
      const process = processes.open(database.url);
      const told = await followed(process);
      const [slot, ...others] = await slots();
      expect([slot?.['temporary'], others.length]).to.deep.equal([true, 0]);
      await queryOnce(database.url, `SELECT pg_terminate_backend(${Number(slot?.['active_pid'])}, 10000)`);
      expect(await slots()).to.deep.equal([]);
      await until(() => told.openings === 2);
      expect([told.interruptions, (await slots()).length]).to.deep.equal([1, 1]);
      process.changes.close();
      await until(async () => (await slots()).length === 0);
      expect(told.interruptions).to.equal(2);
    });

    it('open after all writing transactions have ended, and leave nothing behind before that', async () => {
      await withClient(database.url, async (client) => {
        await client.query('BEGIN');
        await client.query('SELECT pg_current_xact_id()');
        const waitsForTransaction = async (): Promise<boolean> => {
          const rows = await queryOnce(
            database.url,
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'`,
          );
          return rows.length === 1;
        };
        const [closed, open] = [processes.open(database.url), processes.open(database.url)];
        const [never, told] = [new ToldListener(), new ToldListener()];
        closed.changes.follow(never);
        await until(waitsForTransaction);
        closed.changes.close();
        // The server does not notice the disconnect of the client while it waits for the transaction.
        await until(async () => (await slots()).length === 0);
        open.changes.follow(told);
        await until(waitsForTransaction);
        await client.query('COMMIT');
        await until(() => told.openings === 1);
        expect([never.openings, told.interruptions]).to.deep.equal([0, 0]);
      });
    });

    it('are available to a role that has only the replication privilege', async () => {
      const role = `replicates_${randomBytes(4).toString('hex')}`;
      const url = new URL(database.url);
      url.username = role;
      const { connection: asRole, changes } = processes.open(url.href);
      await queryOnce(database.url, `CREATE ROLE ${role} LOGIN`);
      try {
        expect(await reportsChanges(processes.open(database.url).connection)).to.equal(true);
        expect(await reportsChanges(asRole)).to.equal(false);
        await queryOnce(database.url, `ALTER ROLE ${role} REPLICATION`);
        expect(await reportsChanges(asRole)).to.equal(true);
        const told = new ToldListener();
        changes.follow(told);
        await until(() => told.openings === 1);
        await processes.open(database.url).generations.insert(aGeneration(1));
        await until(() => told.records.length === 1);
        await processes.end();
      } finally {
        await queryOnce(database.url, `DROP ROLE ${role}`);
      }
    });

    it('do not open without their publication', async () => {
      const process = processes.open(database.url);
      const told = new ToldListener();
      await queryOnce(database.url, 'ALTER PUBLICATION darkroom_generations RENAME TO elsewhere');
      process.changes.follow(told);
      await sleep(500);
      expect(told.openings).to.equal(0);
      await queryOnce(database.url, 'ALTER PUBLICATION elsewhere RENAME TO darkroom_generations');
      await until(() => told.openings === 1);
    });

    describe('over a link that fails', () => {
      let link: TcpLink;
      let linked: Process;
      let other: Process;
      let told: ToldListener;
      /** Whether the watch of one generation and the watch of its App reported it. */
      let heard: { generation: boolean; app: boolean };
      let followNoMore: (() => void)[];

      beforeEach(async function links() {
        const { host } = new URL(database.url);
        link = await TcpLink.open(await orSkip(this, toxiproxyServer()), host);
        linked = processes.open(database.url.replace(host, link.address));
        other = processes.open(database.url);
        told = await followed(linked);
        watchFirst();
      });
      afterEach(async () => {
        for (const follow of followNoMore) follow();
        await processes.end();
        await link.close();
      });

      /** Watches the first generation and its App over the link. */
      function watchFirst(): void {
        const { generationId, appId } = aGeneration(1);
        const { generations, changes } = linked;
        const ports = { generations, clock: new SystemClock() };
        heard = { generation: false, app: false };
        const note = (by: 'generation' | 'app') => (record: GenerationRecord | null) => {
          if (record?.generationId === generationId) heard[by] = true;
        };
        followNoMore = [
          new GenerationWatch(ports, false, changes).follow(generationId, note('generation')),
          new AppWatch(ports, false, changes).follow(appId, note('app')),
        ];
      }

      for (const [fault, fail] of [
        ['is cut', () => link.cut()],
        ['swallows everything', () => link.swallow()],
      ] as const)
        it(`${fault}: it reports so, and watchers receive what was written meanwhile`, async () => {
          await fail();
          await other.generations.insert(aGeneration(1));
          await until(() => told.interruptions === 1);
          expect(heard).to.deep.equal({ generation: false, app: false });
          await link.heal();
          await until(() => heard.generation && heard.app);
          await until(() => told.openings === 2);
          await other.generations.insert(aGeneration(2));
          await until(() => told.records.length === 1);
          expect(told.records).to.deep.equal([aGeneration(2)]);
          expect(told.interruptions).to.equal(1);
        });
    });
  });

describe('The changes of generations on a dedicated PostgreSQL server', () => {
  const processes = new Processes();
  const servers: ServerProcess[] = [];

  async function started(context: Mocha.Context, lines = ''): Promise<ServerProcess> {
    const server = await orSkip(context, ServerProcess.start('postgres-18', { lines }));
    servers.push(server);
    await migrate(server.url);
    return server;
  }

  afterEach(async () => {
    await processes.end();
    for (const server of servers.splice(0)) await server.stop();
  });

  it('are interrupted when the server is killed, and open again after its restart', async function killed() {
    const server = await started(this);
    const process = processes.open(server.url);
    const told = await followed(process);
    await process.generations.insert(aGeneration(1));
    await until(() => told.records.length === 1);
    await server.kill();
    await until(() => told.interruptions === 1);
    await server.restart();
    await until(() => told.openings === 2);
    await process.generations.insert(aGeneration(2));
    await until(() => told.records.length === 2);
    expect(told.records).to.deep.equal([aGeneration(1), aGeneration(2)]);
    expect([told.openings, told.interruptions]).to.deep.equal([2, 1]);
  });

  it('are not available on a server without logical decoding', async function physical() {
    const server = await started(this, 'wal_level = replica');
    const stores = await openPostgres({ url: server.url });
    expect(stores.generationChanges).to.equal(undefined);
    await stores.close();
  });

  it('end with the stores', async function ended() {
    const stores = await openPostgres({ url: (await started(this)).url });
    const told = new ToldListener();
    stores.generationChanges?.follow(told);
    await until(() => told.openings === 1);
    await stores.close();
    expect(told.interruptions).to.equal(1);
  });

  it('leave replication connections free for the replicas', async function full() {
    const { url } = await started(this, 'max_wal_senders = 5');
    const [one, , third] = [processes.open(url), await followed(processes.open(url)), processes.open(url)];
    await followed(one);
    const late = new ToldListener();
    third.changes.follow(late);
    await sleep(500);
    expect(late.openings).to.equal(0);
    one.changes.close();
    await until(() => late.openings === 1);
  });

  it('are interrupted when another server becomes the primary', async function former() {
    const [primary, another] = [await started(this), await started(this)];
    const [before, after] = [processes.open(primary.url), processes.open(another.url)];
    // This is the state after a failover: the stream stays on the former primary, and statements go to the new one.
    const moved: PostgresDatabase = {
      ask: (...asked) => after.connection.ask(...asked),
      bounded: (operation) => after.connection.bounded(operation),
      connectDirectly: (options) => before.connection.connectDirectly(options),
    };
    const changes = new PostgresGenerationChanges(moved);
    const told = new ToldListener();
    changes.follow(told);
    await until(() => told.openings === 1);
    await until(() => told.interruptions === 1);
    changes.close();
  });
});

// Goal: no change is reported that a failover could still undo, and every change that is safe is reported.
// Method: a primary and its synchronous replica, which is suspended while a process writes.

describe('The changes of generations on a PostgreSQL with a synchronous replica', () => {
  const processes = new Processes();
  let cluster: PostgresCluster;

  beforeEach(async function replicated() {
    cluster = await orSkip(this, PostgresCluster.start({ synchronousStandbyNames: 'b' }));
    await migrate(cluster.urlOf('a'));
  });
  afterEach(async () => {
    await processes.end();
    await cluster?.close();
  });

  it('wait for the replica', async () => {
    const [reader, writer] = [processes.open(cluster.urlOf('a')), processes.open(cluster.urlOf('a'), PATIENCE_MS)];
    const told = await followed(reader);
    await writer.generations.insert(aGeneration(1));
    await until(() => told.records.length === 1);

    await cluster.freeze('b');
    let isWritten = false;
    const written = writer.generations.insert(aGeneration(2)).finally(() => {
      isWritten = true;
    });
    await until(async () => (await waiting(cluster.urlOf('a'))) === 1);
    // A later commit that does not wait for the replica does not prove that earlier commits are safe.
    await withClient(cluster.urlOf('a'), async (client) => {
      await client.query('SET synchronous_commit = local');
      await client.query(
        `INSERT INTO darkroom.generations (id, account, app, kind, version, attention_at, doc)
        SELECT '${uuidAt(3)}', account, app, kind, version, attention_at, doc FROM darkroom.generations`,
      );
    });
    // Longer than the longest interval between two checks, and than the delivery of a change.
    await sleep(1_500);
    expect([isWritten, told.records.length]).to.deep.equal([false, 1]);

    cluster.thaw('b');
    await until(() => told.records.length === 3);
    await written;
    expect(told.facts).to.deep.equal([1, 2, 3].map((n) => `${uuidAt(n)} ${uuidAt(2)} 0`));
    expect(told.interruptions).to.equal(0);
  });

  it('are reported in commit order, including those of a generation that is removed at once', async () => {
    const [reader, writer] = [processes.open(cluster.urlOf('a')), processes.open(cluster.urlOf('a'))];
    const told = await followed(reader);
    for (let n = 1; n <= 50; n += 1) {
      await writer.generations.insert(aGeneration(n));
      await writer.generations.replace(aGeneration(n, { version: 1 }), 0);
      await writer.generations.remove(uuidAt(n), 1);
    }
    await until(() => told.records.length === 100);
    const expected = Array.from({ length: 50 }, (_, n) => [aGeneration(n + 1), aGeneration(n + 1, { version: 1 })]);
    expect(told.records).to.deep.equal(expected.flat());
  });

  it('are not reported when the primary is lost before the replica has them', async () => {
    const [reader, writer] = [processes.open(cluster.urlOf('a')), processes.open(cluster.urlOf('a'))];
    const told = await followed(reader);
    await cluster.freeze('b');
    const lost = writer.generations.insert(aGeneration(1)).catch(() => undefined);
    await until(async () => (await waiting(cluster.urlOf('a'))) === 1);
    await cluster.kill('a');
    await lost;
    await until(() => told.interruptions === 1);
    expect(told.records).to.deep.equal([]);
  });

  it('open on the new primary after a failover', async () => {
    const { url } = cluster;
    const [reader, writer] = [processes.open(url), processes.open(url)];
    const told = await followed(reader);
    await writer.generations.insert(aGeneration(1));
    await until(() => told.records.length === 1);
    await cluster.freeze('a');
    await cluster.promote('b');
    await cluster.setSynchronousStandbyNames('');
    await until(() => told.interruptions === 1);
    await until(() => told.openings === 2);
    await until(() =>
      writer.generations.insert(aGeneration(2)).then(
        () => true,
        () => false,
      ),
    );
    await until(() => told.records.length === 2);
    expect(told.records).to.deep.equal([aGeneration(1), aGeneration(2)]);
  });

  it('are interrupted, and open again later, when too many for the memory limit wait', async () => {
    const [reader, writer] = [processes.open(cluster.urlOf('a')), processes.open(cluster.urlOf('a'), PATIENCE_MS)];
    const told = await followed(reader);
    await cluster.freeze('b');
    const written = writer.connection.ask(
      `INSERT INTO darkroom.generations (id, account, app, kind, version, attention_at, doc)
        SELECT gen_random_uuid(), '${uuidAt(1)}', '${uuidAt(2)}', 'generation', 0, 0, repeat('x', 1048576)
        FROM generate_series(1, 65)`,
    );
    await until(() => told.interruptions === 1);
    cluster.thaw('b');
    await written;
    await until(() => told.openings === 2);
    await writer.generations.insert(aGeneration(1));
    await until(() => told.records.length === 1);
    expect(told.records).to.deep.equal([aGeneration(1)]);
  });

  it('are reported after an operator allows writes to continue without it', async () => {
    const [reader, writer] = [processes.open(cluster.urlOf('a')), processes.open(cluster.urlOf('a'), PATIENCE_MS)];
    const told = await followed(reader);
    await cluster.freeze('b');
    const written = writer.generations.insert(aGeneration(1));
    await until(async () => (await waiting(cluster.urlOf('a'))) === 1);
    await cluster.setSynchronousStandbyNames('');
    await written;
    await until(() => told.records.length === 1);
    expect(told.interruptions).to.equal(0);
  });
});

/** How many commits wait for the replica. */
async function waiting(url: string): Promise<number> {
  return (await queryOnce(url, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).length;
}
