import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Lent } from '../../../adapters/driver.js';
import { readConnectionUrl } from '../../../adapters/postgres/connection-url.js';
import { PostgresConnection, type PostgresOptions } from '../../../adapters/postgres/connection.js';
import {
  lookIntoPostgres,
  migrated,
  openPostgres,
  PostgresRefused,
  serverFault,
  type ServerNeeds,
} from '../../../adapters/postgres/open-postgres.js';
import { postgresDriver } from '../../../adapters/postgres/postgres-driver.js';
import { MIGRATIONS } from '../../../adapters/postgres/schema.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { Authority } from '../../fixtures/authority.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { freshPostgresDatabase, type FreshPostgresDatabase } from '../../servers/fresh-places.js';
import { PostgresCluster } from '../../servers/postgres-cluster.js';
import { copyInitialised, giveAway } from '../../servers/postgres.js';
import { queryOnce, withClient } from '../../servers/postgres-client.js';
import { ServerProcess } from '../../servers/server-process.js';
import { orSkip, postgresServer } from '../../servers/servers.js';
import { POSTGRES_LANES } from './on-postgres.js';

// Goal: a server or database that is not safe to use is refused with one sentence without a password. The set-up creates the
// schema once, even if many processes run it concurrently or other clients use it. A connection is encrypted if the URL asks.
// Method: URLs, databases and servers that are each invalid in one way.

const PASSWORD = 'hunter2';
/** A port without a listener. */
const DEAF = 9;

/** Each way to open a database. */
const WAYS: readonly ((options: PostgresOptions & ServerNeeds) => Promise<unknown>)[] = [
  openPostgres,
  lookIntoPostgres,
  (options) => migrated(options),
];

/** The error that a call ends with. */
async function faultOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(Error);
  const { message } = outcome as Error;
  expect(message)
    .to.match(/^[A-Z].*\.$/)
    .and.not.include('\n')
    .and.not.include(PASSWORD);
  return outcome as Error;
}

/** The sentence of the error with which a call is refused. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const fault = await faultOf(work);
  expect(fault).to.be.instanceOf(PostgresRefused);
  return fault.message;
}

describe('A PostgreSQL URL', () => {
  const refused = (url: string) => refusal(Promise.resolve().then(() => readConnectionUrl(url)));

  it('is refused if it is malformed, and not included in the message', async () => {
    for (const url of [
      '',
      'http://127.0.0.1/x',
      'postgres://',
      `postgres://user:${PASSWORD}@/x`,
      `postgres://user:${PASSWORD}@127.0.0.1`,
      `postgres://user:${PASSWORD}@127.0.0.1/`,
      `postgres://user:${PASSWORD}@127.0.0.1:port/x`,
      `postgres://user:${PASSWORD}@127.0.0.1,,b/x`,
      `postgres://user:${PASSWORD}/x@127.0.0.1/x`,
      `postgres://user:${PASSWORD}@[::1/x`,
      `postgres://user:${PASSWORD}%@127.0.0.1/x`,
      `postgres://user:${PASSWORD}@127.0.0.1/x#part`,
      `postgres://user:${PASSWORD}@127.0.0.1/x?host=/tmp`,
    ])
      expect(await refused(url), url).to.include('is invalid');
  });

  it('is refused with an unknown parameter, which the message names', async () => {
    expect(await refused(`postgres://u:${PASSWORD}@127.0.0.1/x?connect_timeout=3`)).to.include('connect_timeout');
    expect(await refused(`postgres://u@127.0.0.1/x?password=${PASSWORD}`)).to.include('password');
  });

  it('is refused if it does not verify the identity of the server', async () => {
    for (const mode of ['require', 'prefer', 'allow', 'verify-ca', 'no-verify', ''])
      expect(await refused(`postgres://u:${PASSWORD}@127.0.0.1/x?sslmode=${mode}`), mode).to.include('verify-full');
    for (const host of ['db.example', '10.0.0.1', '127.0.0.1,10.0.0.1', '[fd00::1]'])
      expect(await refused(`postgres://u:${PASSWORD}@${host}/x`), host).to.include('sslmode');
  });

  it('is refused with a file of authorities that cannot be read', async () => {
    const read = async () => readConnectionUrl('postgres://u@db.example/x?sslmode=verify-full', '/nowhere/ca.pem');
    expect(await refusal(read())).to.include('/nowhere/ca.pem');
  });

  it('is read with several hosts, encoded characters and defaults', () => {
    const url = 'postgresql://a%40b:p%3Aw%2F@one.example:5433,[::1],two.example/my%20db?sslmode=disable';
    const common = { user: 'a@b', password: 'p:w/', database: 'my db', ssl: false };
    expect(readConnectionUrl(url)).to.deep.equal({
      logins: [
        { ...common, host: 'one.example', port: 5433 },
        { ...common, host: '::1', port: 5432 },
        { ...common, host: 'two.example', port: 5432 },
      ],
      hosts: 'one.example:5433,[::1],two.example',
      database: 'my db',
    });
    expect(readConnectionUrl('postgres:///x?host=/run/postgresql').logins).to.deep.equal([
      { user: 'postgres', database: 'x', host: '/run/postgresql', port: 5432, ssl: false },
    ]);
    expect(readConnectionUrl('postgres://localhost/x').logins[0]?.ssl).to.equal(false);
  });
});

describe('A PostgreSQL server that cannot be reached', () => {
  it('is an outage with its address and no password, even if it is one of several', async () => {
    for (const hosts of [`127.0.0.1:${DEAF}`, `127.0.0.1:${DEAF},127.0.0.1:${DEAF}`]) {
      const fault = await faultOf(openPostgres({ url: `postgres://u:${PASSWORD}@${hosts}/x`, timeoutMs: 200 }));
      expect(fault).to.be.instanceOf(StoreUnavailable);
      expect(fault.message).to.include(hosts);
    }
  });

  it('is an outage within the time limit of one operation when it accepts connections and never answers', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    const { port } = silent.address() as AddressInfo;
    const open = openPostgres({ url: `postgres://u:${PASSWORD}@127.0.0.1:${port}/x`, timeoutMs: 200 });
    expect(await faultOf(open)).to.be.instanceOf(StoreUnavailable);
    silent.close();
  });
});

describe('The settings of a PostgreSQL server', () => {
  const safe = {
    version: 150_000,
    fsync: 'on',
    fullPageWrites: 'on',
    synchronousCommit: 'on',
    standbyNames: '',
    readOnly: 'off',
  };

  it('are refused if it is too old, accepts no writes, or may lose them', () => {
    expect(serverFault(safe, 0)).to.equal(undefined);
    expect(serverFault({ ...safe, version: 149_999 }, 0)).to.include('15');
    expect(serverFault({ ...safe, readOnly: 'on' }, 0)).to.include('is a replica');
    expect(serverFault({ ...safe, fsync: 'off' }, 0)).to.include('fsync');
    expect(serverFault({ ...safe, fullPageWrites: 'off' }, 0)).to.include('full_page_writes');
    for (const synchronousCommit of ['off', 'local'])
      expect(serverFault({ ...safe, synchronousCommit }, 0)).to.include(`synchronous_commit ${synchronousCommit}`);
    for (const synchronousCommit of ['remote_write', 'remote_apply'])
      expect(serverFault({ ...safe, synchronousCommit }, 0)).to.equal(undefined);
    expect(serverFault(safe, 1)).to.include('synchronous_standby_names');
    expect(serverFault({ ...safe, standbyNames: 'ANY 1 (b, c)' }, 1)).to.equal(undefined);
  });
});

for (const { title, version } of POSTGRES_LANES.filter(({ isPooled }) => !isPooled)) {
  describe(`A database of ${title}`, () => {
    let place: FreshPostgresDatabase;
    beforeEach(async function database() {
      place = await freshPostgresDatabase(await orSkip(this, postgresServer(version)));
    });
    afterEach(() => place.drop());

    describe('being opened', () => opening(() => place));
    describe('being set up', () => settingUp(() => place));
  });

  describe(`A server of ${title}`, () => servers(version));
}

function opening(place: () => FreshPostgresDatabase): void {
  it('is refused if it does not exist', async () => {
    const { url, database } = place();
    for (const use of WAYS)
      expect(await refusal(use({ url: `${url}-absent` }))).to.include(`no database ${database}-absent`);
  });

  it('is refused before the set-up, and not changed', async () => {
    expect(await refusal(openPostgres(place()))).to.include('darkroom migrate');
    expect(await tablesOf(place().url)).to.deep.equal([]);
    expect(await lookIntoPostgres(place())).to.equal(undefined);
  });

  it('is refused, also by the set-up, when a newer release has made it unreadable for this one', async () => {
    await migrated(place());
    const newer = MIGRATIONS.length + 2;
    await mark(place().url, newer - 1, MIGRATIONS.length);
    await (await openPostgres(place())).close();
    await mark(place().url, newer, MIGRATIONS.length + 1);
    for (const use of WAYS)
      expect(await refusal(use(place())))
        .to.include(`schema ${newer}`)
        .and.include('cannot read');
  });

  it('is refused when it may lose acknowledged writes', async () => {
    await migrated(place());
    const { url, database } = place();
    for (const setting of ['off', 'local', 'on', 'remote_apply']) {
      await queryOnce(url, `ALTER DATABASE "${database}" SET synchronous_commit = ${setting}`);
      if (setting === 'on' || setting === 'remote_apply') await (await openPostgres({ url })).close();
      else for (const use of WAYS) expect(await refusal(use({ url }))).to.include(`synchronous_commit ${setting}`);
    }
  });

  it('is refused over TLS if the server does not support it', async () => {
    const { url } = place();
    expect(await refusal(openPostgres({ url: `${url}?sslmode=verify-full` }))).to.include('offers no TLS');
  });

  it('is refused when a replica is required and no write waits for one', async () => {
    await migrated(place());
    expect(await refusal(openPostgres({ url: place().url, replicas: 1 }))).to.include('synchronous_standby_names');
  });

  it('is ready until it is closed, and refuses calls afterwards', async () => {
    await migrated(place());
    const stores = await openPostgres(place());
    expect(await stores.isReady()).to.equal(true);
    await stores.close();
    expect(await stores.isReady()).to.equal(false);
    expect(await faultOf(stores.generations.read(uuidAt(1)))).to.be.instanceOf(StoreUnavailable);
  });

  it('ends a call that waits for a connection when it is closed, not at the time limit of the call', async () => {
    const connection = new PostgresConnection({ url: place().url, poolSize: 1, timeoutMs: 600_000 });
    const underWay = connection.ask('SELECT pg_sleep(2)');
    while ((await queryOnce(place().url, SLEEPING)).length === 0) await sleep(10);
    const waiting = faultOf(connection.ask('SELECT'));
    await sleep(10);
    await connection.close();
    expect(await waiting).to.be.instanceOf(StoreUnavailable);
    expect(await underWay).to.have.property('rowCount', 1);
  });

  it('cancels a statement that takes too long', async () => {
    await migrated(place());
    const stores = await openPostgres({ url: place().url, timeoutMs: 200 });
    expect(await faultOf(stores.db.ask('SELECT pg_sleep(60)'))).to.be.instanceOf(StoreUnavailable);
    expect(await stores.isReady()).to.equal(true);
    await stores.close();
  });
}

function settingUp(place: () => FreshPostgresDatabase): void {
  it('reports each migration in a line, and changes nothing when repeated', async () => {
    expect(await migrated(place())).to.deep.equal(
      MIGRATIONS.map(({ name }, index) => `Applied migration ${index + 1}: ${name}.`),
    );
    const before = await tablesOf(place().url);
    expect(before).not.to.deep.equal([]);
    expect(await migrated(place())).to.deep.equal([]);
    expect(await tablesOf(place().url)).to.deep.equal(before);
  });

  it('is done once by eight concurrent processes', async () => {
    const lines = await Promise.all(Array.from({ length: 8 }, () => migrated(place())));
    expect(lines.flat()).to.have.length(MIGRATIONS.length);
    await (await openPostgres(place())).close();
  });

  it('stops waiting for a lock that other clients need, and tries again', async () => {
    await withClient(place().url, async (other) => {
      await other.query('CREATE SCHEMA darkroom');
      await other.query('BEGIN; CREATE TABLE darkroom.installation (x int)');
      const migrating = migrated(place());
      await withClient(place().url, async (client) => {
        const waits = async (type: string | null) => {
          const { rows } = await client.query<{ type: string | null; state: string }>(
            `SELECT nullif(wait_event_type, 'Client') AS type, state FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'darkroom migrate'`,
          );
          return rows.some((row) => row.type === type && (type !== null || row.state === 'idle'));
        };
        while (!(await waits('Lock'))) await sleep(10);
        while (!(await waits(null))) await sleep(10);
        expect(await tablesOf(place().url)).to.have.length(2);
      });
      await other.query('ROLLBACK');
      expect(await migrating).to.have.length(MIGRATIONS.length);
    });
    await (await openPostgres(place())).close();
  });

  it('is refused with one sentence to a user without permission to create a schema', async () => {
    const { url, database } = place();
    const user = `${database}-user`;
    await queryOnce(url, `CREATE ROLE "${user}" LOGIN PASSWORD '${PASSWORD}'`);
    const limited = new URL(url);
    [limited.username, limited.password] = [user, PASSWORD];
    expect(await refusal(migrated({ url: limited.href })))
      .to.include(user)
      .and.include('permission denied');
    await queryOnce(url, `DROP ROLE "${user}"`);
  });

  it('lends the set-up of wake-ups everything that an open database lends', async () => {
    const needs = {
      options: { url: place().url, replicas: 0, prepared: true, pool_size: 5, timeout_seconds: 5 },
      dataFolder: '/nowhere',
      clock: new SystemClock(),
      log: { info: () => undefined, warn: () => undefined },
    };
    let lent: Lent = {};
    await postgresDriver.migrate(needs, async (beside) => {
      lent = beside;
      return [];
    });
    expect(Object.keys(lent)).to.have.members(postgresDriver.lends);
  });
}

function servers(version: '18' | '15'): void {
  let folder: string;
  let authority: Authority;
  let stranger: Authority;
  let server: ServerProcess | undefined;
  let cluster: PostgresCluster | undefined;

  before(async function start() {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-postgres-'));
    authority = await orSkip(this, Authority.make(folder, 'authority'));
    stranger = await Authority.make(folder, 'stranger');
    const { cert, key } = authority.issue({ names: ['IP:127.0.0.1'], commonName: 'database', usage: 'serverAuth' });
    const files = {
      'server.crt': cert,
      'server.key': key,
      'hba.conf': 'host all careful all scram-sha-256\nhost all all all trust\n',
    };
    server = await orSkip(
      this,
      ServerProcess.start(`postgres-${version}`, {
        lines: lines(),
        fill: async (data, found) => {
          await copyInitialised(found, data);
          for (const [name, content] of Object.entries(files)) {
            writeFileSync(join(data, name), content, { mode: 0o600 });
            giveAway(join(data, name));
          }
        },
      }),
    );
    await queryOnce(server.url, `CREATE ROLE careful SUPERUSER LOGIN PASSWORD '${PASSWORD}'`);
    await migrated({ url: server.url });
  });
  after(async () => {
    await server?.stop();
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const lines = (more = '') =>
    [
      'ssl = on',
      `ssl_cert_file = 'server.crt'`,
      `ssl_key_file = 'server.key'`,
      `hba_file = 'data/hba.conf'`,
      more,
    ].join('\n');
  const at = (login: string, query = ''): Pick<PostgresOptions, 'url'> => ({
    url: `postgres://${login}@127.0.0.1:${server?.port}/postgres${query}`,
  });

  it('is refused if the name and password are not accepted, and used if they are', async () => {
    for (const login of ['careful:wrong', 'careful', `nobody-here:${PASSWORD}`])
      for (const use of WAYS) expect(await refusal(use(at(login))), login).to.include('user name and password');
    await (await openPostgres(at(`careful:${PASSWORD}`))).close();
  });

  it('is used over TLS if its certificate is signed by the authority and names the host', async () => {
    const query = '?sslmode=verify-full';
    const stores = await openPostgres({ ...at(`careful:${PASSWORD}`, query), caFile: authority.certFile });
    const { rows } = await stores.db.ask('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    expect(rows).to.deep.equal([{ ssl: true }]);
    const direct = await stores.db.connectDirectly({ applicationName: 'test' });
    expect((await direct.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).rows).to.deep.equal(rows);
    await direct.end();
    await stores.close();
  });

  it('is refused if its certificate is from another authority or for another host', async () => {
    const { url } = at(`careful:${PASSWORD}`, '?sslmode=verify-full');
    for (const options of [
      { url, caFile: stranger.certFile },
      { url },
      { url: url.replace('@127.0.0.1:', '@localhost:'), caFile: authority.certFile },
    ])
      expect(await refusal(openPostgres(options))).to.include('certificate');
  });

  it('is refused while it may lose acknowledged writes', async () => {
    for (const setting of ['fsync', 'full_page_writes']) {
      await configured(`${setting} = off`, setting, 'off');
      for (const use of WAYS) expect(await refusal(use(at('postgres')))).to.include(setting);
      await configured(`${setting} = on`, setting, 'on');
      await (await openPostgres(at('postgres'))).close();
    }
  });

  it('is used with a required replica once writes wait for one', async () => {
    await configured(`synchronous_standby_names = 'ANY 1 (b, c)'`, 'synchronous_standby_names', 'ANY 1 (b, c)');
    await (await openPostgres({ ...at('postgres'), replicas: 1 })).close();
    await configured(`synchronous_standby_names = ''`, 'synchronous_standby_names', '');
    expect(await refusal(openPostgres({ ...at('postgres'), replicas: 1 }))).to.include('synchronous_standby_names');
  });

  it('is refused if it is a standby on its own, and used together with its primary', async function standby() {
    cluster = await orSkip(this, PostgresCluster.start({ version, replicas: 1 }));
    await migrated({ url: cluster.url });
    await cluster.untilFollowed();
    for (const use of WAYS) expect(await refusal(use({ url: cluster.urlOf('b') }))).to.include('is a replica');
    await (await openPostgres({ url: cluster.url })).close();
  });

  async function configured(line: string, name: string, value: string): Promise<void> {
    const { url } = server!;
    await server?.configure(lines(line));
    const shown = async () => (await queryOnce(url, `SHOW ${name}`))[0]?.[name];
    while ((await shown()) !== value) await sleep(10);
  }
}

const SLEEPING = `SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(2)%' AND state = 'active' AND pid <> pg_backend_pid()`;

/** The tables and indexes, each with its file: one that is created again has another file. */
async function tablesOf(url: string): Promise<readonly string[]> {
  const rows = await queryOnce(
    url,
    `SELECT relname || ' ' || relfilenode AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = 'darkroom' ORDER BY 1`,
  );
  return rows.map(({ name }) => name as string);
}

async function mark(url: string, number: number, readableFrom: number): Promise<void> {
  await queryOnce(url, 'INSERT INTO darkroom.migrations (number, name, readable_from) VALUES ($1, $2, $3)', [
    number,
    'Of a later release',
    readableFrom,
  ]);
}
