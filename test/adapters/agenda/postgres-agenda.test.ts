// Goal: PostgreSQL announces each new wake-up without slowing writes, and polling finds it if no announcement arrives. Each
// wake-up is taken once, and statements use an index. A database that is not migrated is refused, and a migration prepares it.
// Method: a database on a real server; connections that the server cuts, and a pooler that does not deliver notifications.
import { expect } from 'chai';
import { AgendaWakeUps } from '../../../adapters/agenda/agenda-wake-ups.js';
import { Notifications } from '../../../adapters/agenda/postgres/notifications.js';
import { PostgresWakeUps } from '../../../adapters/agenda/postgres/postgres-wake-ups.js';
import { STATEMENTS, TABLE } from '../../../adapters/agenda/postgres/wake-up-rows.js';
import { AgendaRefused, type WokenBy } from '../../../adapters/agenda/wake-up-store.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { until } from '../../fixtures/clocks.js';
import { aboutGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { withClient } from '../../servers/postgres-client.js';
import { ServerProcess } from '../../servers/server-process.js';
import { orSkip } from '../../servers/servers.js';
import { elapsed, onManualClock } from './agenda-place.js';
import { PostgresAgendaPlace } from './postgres-place.js';

const clock = new SystemClock();
/** The polling interval is longer than a test. */
const NEVER_POLLED = { pollMs: 600_000 };
const LISTENERS = `pid FROM pg_stat_activity WHERE application_name = 'darkroom wake-ups' AND datname = current_database()`;

describe('AgendaWakeUps in PostgreSQL', () => {
  const place = new PostgresAgendaPlace('18', 'notifications');
  before(async function prepare() {
    await place.prepare(this);
  });
  after(() => place.remove());
  afterEach(() => place.empty());

  /** Starts a process that handles wake-ups; returns their ids in the order of delivery. */
  async function worker(options: Parameters<PostgresAgendaPlace['open']>[0]): Promise<readonly string[]> {
    const delivered: string[] = [];
    const wakeUps = await place.open(options);
    await wakeUps.start(async ({ id }) => {
      delivered.push(id);
    }, 10);
    return delivered;
  }

  const listening = (count: number) => until(async () => (await place.rows(`SELECT ${LISTENERS}`)).length === count);

  it('listen on one connection per process, and reconnect after it is cut', async () => {
    const lost: unknown[] = [];
    const log = { info: () => undefined, warn: (event: string) => void lost.push(event) };
    const delivered = await worker({ ...NEVER_POLLED, log });
    const scheduling = await place.open();
    await listening(1);
    await scheduling.schedule(aboutGeneration(uuidAt(1)), Date.now());
    await until(() => delivered.length === 1);
    await place.rows(`SELECT pg_terminate_backend(pid) FROM (SELECT ${LISTENERS}) AS listeners`);
    await until(() => lost.length === 1);
    // No process is listening: the wake-up is found after a process reconnects.
    await scheduling.schedule(aboutGeneration(uuidAt(2)), Date.now());
    await until(() => delivered.length === 2);
    await listening(1);
    await scheduling.schedule(aboutGeneration(uuidAt(3)), Date.now());
    await until(() => delivered.length === 3);
    expect(lost).to.deep.equal(['wake-up stream lost']);
  });

  it('close the connection when they stop', async () => {
    const wakeUps = await place.open();
    await wakeUps.start(async () => undefined, 1);
    await listening(1);
    await wakeUps.stop();
    await listening(0);
  });

  it('detect a connection that receives no notifications, and poll meanwhile', async function pooled() {
    const { hostname, port, pathname } = new URL(place.url);
    const pooler = await orSkip(
      this,
      ServerProcess.start('pgbouncer', { lines: `${pathname.slice(1)} = host=${hostname} port=${port}` }),
    );
    try {
      const directUrl = pooler.url.replace(/\/[^/]*$/, pathname);
      const lost: unknown[] = [];
      const log = {
        info: () => undefined,
        warn: (_: string, { error }: { error?: unknown } = {}) => void lost.push(error),
      };
      const processes = onManualClock();
      const delivered = await worker({ ...processes, directUrl, log });
      const scheduling = await place.open();
      await scheduling.schedule(aboutGeneration(uuidAt(1)), processes.clock.now() - 1);
      await until(async () => {
        await processes.clock.advance(100);
        return delivered.length === 1;
      });
      await until(async () => {
        await processes.clock.advance(5_000);
        return lost.length > 0;
      });
      expect(String(lost[0])).to.include('does not hear this process');
    } finally {
      await place.empty();
      await pooler.stop();
    }
  });

  it('keep the connection while it receives notifications', async () => {
    const lost: unknown[] = [];
    const log = { info: () => undefined, warn: (event: string) => void lost.push(event) };
    const processes = onManualClock();
    await worker({ ...processes, log });
    const pid = async () => {
      await listening(1);
      return (await place.rows(`SELECT ${LISTENERS}`))[0]?.['pid'];
    };
    const before = await pid();
    for (let checks = 0; checks < 4; checks += 1) {
      await processes.clock.advance(15_000);
      // The notification arrives on a separate connection.
      await elapsed(50);
    }
    expect(await pid()).to.equal(before);
    expect(lost).to.deep.equal([]);
  });

  it('announce many wake-ups with few notifications, and do not announce one that is due much later', async () => {
    await withClient(place.url, async (listener) => {
      let heard = 0;
      listener.on('notification', () => {
        heard += 1;
      });
      await listener.query('LISTEN darkroom_wake_ups');
      const scheduling = await place.open();
      await scheduling.schedule(aboutGeneration(uuidAt(999)), Date.now() + 3_600_000);
      await elapsed(50);
      expect(heard).to.equal(0);
      const begun = performance.now();
      await Promise.all(
        Array.from({ length: 300 }, (_, n) => scheduling.schedule(aboutGeneration(uuidAt(n)), Date.now())),
      );
      await elapsed(50);
      const most = Math.ceil((performance.now() - begun) / 5);
      console.log(`      300 wake-ups, ${heard} notifications`);
      expect(heard).to.be.within(1, most);
    });
  });

  it('are each taken once by concurrent processes', async () => {
    const takers = await Promise.all(Array.from({ length: 8 }, () => place.openStore(clock, 600_000)));
    const [first = await place.openStore(clock, 600_000)] = takers;
    await Promise.all(Array.from({ length: 200 }, (_, n) => first.put(uuidAt(n), clock.now() - n)));
    const taken = await Promise.all(
      takers.map(async (taker, index) => {
        const keys: string[] = [];
        let empty = 0;
        while (empty < 3) {
          const some = await taker.take(clock.now(), true, 1 + index);
          expect(some.length).to.be.at.most(1 + index);
          keys.push(...some.map(({ key }) => key));
          empty = some.length === 0 ? empty + 1 : 0;
        }
        return keys;
      }),
    );
    expect(taken.flat().toSorted()).to.deep.equal(Array.from({ length: 200 }, (_, n) => uuidAt(n)).toSorted());
  });

  it('do not change the durability of the next statement on a connection', async () => {
    const connections = place.connect({ poolSize: 1 });
    const { store } = await new PostgresWakeUps(connections).open({ clock, holdMs: 1_000, wokenBy: 'notifications' });
    await store.put(uuidAt(1), 0);
    const [taken] = await store.take(1, true, 1);
    if (taken === undefined) throw new Error('It was not taken.');
    expect((await connections.ask('SHOW synchronous_commit')).rows).to.deep.equal([{ synchronous_commit: 'on' }]);
    await store.end(taken);
    expect((await connections.ask('SHOW synchronous_commit')).rows).to.deep.equal([{ synchronous_commit: 'on' }]);
    expect(await place.storedCount()).to.equal(0);
  });

  it('find each row by an index', async () => {
    await place.rows(
      `INSERT INTO ${TABLE} SELECT gen_random_uuid()::text, n, gen_random_uuid(), 0 FROM generate_series(1, 20000) AS n`,
    );
    await place.rows(`ANALYZE ${TABLE}`);
    await withClient(place.url, async (client) => {
      for (const statement of STATEMENTS) {
        const { rows } = await client.query({ text: `EXPLAIN (GENERIC_PLAN) ${statement}`, rowMode: 'array' });
        expect(rows.join('\n'), statement).not.to.include(`Seq Scan on agenda_wake_ups`);
      }
    });
  });
});

describe('WakeUpRows while no replica confirms a write', () => {
  const place = new PostgresAgendaPlace('18', 'notifications');
  let server: ServerProcess | undefined;
  before(async function own() {
    server = await orSkip(this, ServerProcess.start('postgres-18'));
    await place.prepareOn(server);
  });
  after(async () => {
    await place.rows('ALTER SYSTEM RESET synchronous_standby_names');
    await place.rows('SELECT pg_reload_conf()');
    await place.remove();
    await server?.stop();
  });

  it('takes, ends and announces, and refuses to schedule', async () => {
    const store = await place.openStore(clock, 600_000);
    await store.put(uuidAt(1), clock.now());
    const hasty = new PostgresWakeUps(place.connect({ timeoutMs: 1_000 }));
    const { store: scheduling } = await hasty.open({ clock, holdMs: 600_000, wokenBy: 'polling' });
    await withClient(place.url, async (listener) => {
      const heard: string[] = [];
      listener.on('notification', ({ payload = '' }) => heard.push(payload));
      await listener.query('LISTEN darkroom_wake_ups');
      await place.rows(`ALTER SYSTEM SET synchronous_standby_names = 'absent'`);
      await place.rows('SELECT pg_reload_conf()');
      // The processes of the server reload the setting one after the other.
      await until(() =>
        scheduling.put(uuidAt(2), clock.now() + 3_600_000).then(
          () => false,
          (error: unknown) => error instanceof StoreUnavailable,
        ),
      );
      const [taken] = await store.take(clock.now(), true, 10);
      expect(taken).to.include({ key: uuidAt(1) });
      if (taken !== undefined) await store.end(taken);
      await new Notifications(place.connect(), clock).announce(clock.now());
      await until(() => heard.length === 1);
    });
  });
});

describe('PostgresWakeUps', () => {
  const place = new PostgresAgendaPlace('18', 'notifications');
  before(async function prepare() {
    await place.prepare(this);
  });
  beforeEach(() => place.rows('DROP SCHEMA IF EXISTS darkroom CASCADE'));
  after(async () => {
    await new PostgresWakeUps(place.connect()).migrate();
    await place.remove();
  });

  const refused = (wokenBy: WokenBy) =>
    AgendaWakeUps.open({ database: new PostgresWakeUps(place.connect()), clock, wokenBy }).catch(
      (error: unknown) => error,
    );

  it('creates the table, reports it, and has nothing to do the next time', async () => {
    const database = new PostgresWakeUps(place.connect());
    expect(await database.missing()).to.deep.equal(['The table darkroom.agenda_wake_ups is missing.']);
    expect(await database.migrate()).to.deep.equal(['Made the table darkroom.agenda_wake_ups.']);
    expect(await database.missing()).to.deep.equal([]);
    expect(await database.migrate()).to.deep.equal([]);
  });

  it('runs safely in many processes concurrently', async () => {
    await Promise.all(Array.from({ length: 8 }, () => new PostgresWakeUps(place.connect()).migrate()));
    expect(await new PostgresWakeUps(place.connect()).missing()).to.deep.equal([]);
  });

  it('makes a missing index', async () => {
    const database = new PostgresWakeUps(place.connect());
    await database.migrate();
    await place.rows('DROP INDEX darkroom.agenda_wake_ups_due');
    expect(await database.migrate()).to.deep.equal(['Made the index agenda_wake_ups_due of darkroom.agenda_wake_ups.']);
    expect(await database.missing()).to.deep.equal([]);
  });

  it('refuses another table of that name', async () => {
    await place.rows('CREATE SCHEMA darkroom');
    await place.rows(`CREATE TABLE ${TABLE} (subject text, at bigint)`);
    const error: unknown = await new PostgresWakeUps(place.connect()).migrate().catch((fault: unknown) => fault);
    expect(error)
      .to.be.instanceOf(AgendaRefused)
      .with.property('message')
      .that.includes('lacks stamp uuid and fail_count integer');
  });

  it('is named in the error of a process that finds the database not ready', async () => {
    expect(await refused('auto'))
      .to.be.instanceOf(AgendaRefused)
      .with.property('message')
      .that.includes('darkroom migrate');
  });

  it('refuses change streams', async () => {
    await new PostgresWakeUps(place.connect()).migrate();
    expect(await refused('change-streams'))
      .to.be.instanceOf(AgendaRefused)
      .with.property('message')
      .that.includes('agenda.woken_by');
  });
});
