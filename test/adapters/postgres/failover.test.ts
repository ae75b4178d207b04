/**
 * Goal: a process loses no acknowledged write, continues after a failover without a restart, never uses a former primary, and
 * ends every call within its time limit. Method: stores that are configured with all hosts of a real cluster with synchronous
 * replication; its servers are killed, frozen, promoted and restarted.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrated, openPostgres, type PostgresStores } from '../../../adapters/postgres/open-postgres.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { anAccount, uuidAt } from '../../fixtures/stored-records.js';
import { queryOnce, withClient } from '../../servers/postgres-client.js';
import { PostgresCluster } from '../../servers/postgres-cluster.js';
import { orSkip } from '../../servers/servers.js';

const TIMEOUT_MS = 1_000;
/** Extra time allowed on a busy machine. */
const SLACK_MS = 2_000;
const POOL_SIZE = 4;
const CALLERS = 30;
/** Connections of the search for a primary: one to each server, and possibly one more for a write. */
const SEARCHING = 3;
const LOOK_EVERY_MS = 20;

describe('failover of PostgreSQL', () => {
  let cluster: PostgresCluster;
  let stores: PostgresStores;
  let made = 0;

  beforeEach(async function start() {
    cluster = await orSkip(this, PostgresCluster.start({ replicas: 1, synchronousStandbyNames: '*' }));
    await migrated({ url: cluster.url });
    stores = await openPostgres(options());
  });
  afterEach(async () => {
    await (stores as PostgresStores | undefined)?.close();
    await (cluster as PostgresCluster | undefined)?.close();
  });

  const options = () => ({ url: cluster.url, replicas: 1 as const, poolSize: POOL_SIZE, timeoutMs: TIMEOUT_MS });

  /** Writes an account, and returns its number. */
  async function write(into = stores): Promise<number> {
    made += 1;
    const number = made;
    await into.accounts.create(anAccount(number));
    return number;
  }

  const isThere = async (number: number, from = stores) => (await from.accounts.read(uuidAt(number))) !== null;

  /** Retries until an account is written. */
  async function written(into = stores): Promise<number> {
    for (;;) {
      try {
        return await write(into);
      } catch (error) {
        expect(error).to.be.instanceOf(StoreUnavailable);
      }
    }
  }

  /** Writes concurrently until `isOver`; returns the acknowledged accounts and the duration of each failed call. */
  async function underLoad(isOver: () => boolean) {
    const acknowledged: number[] = [];
    const failedMs: number[] = [];
    const caller = async () => {
      while (!isOver()) {
        const beganAt = performance.now();
        try {
          acknowledged.push(await write());
        } catch (error) {
          expect(error).to.be.instanceOf(StoreUnavailable);
          failedMs.push(performance.now() - beganAt);
        }
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    return { acknowledged, failedMs };
  }

  /** Promotes the replica, whose writes then wait for no other server. */
  async function failOver(): Promise<void> {
    await cluster.promote('b');
    await cluster.setSynchronousStandbyNames('');
  }

  it('continues on the replica after a crash of the primary, with every acknowledged write', async () => {
    let isOver = false;
    const load = underLoad(() => isOver);
    await sleep(300);
    await cluster.kill('a');
    await failOver();
    const after = await written();
    isOver = true;
    const { acknowledged } = await load;
    expect(acknowledged.length).to.be.greaterThan(CALLERS);
    for (const number of [...acknowledged, after]) expect(await isThere(number), String(number)).to.equal(true);
  });

  it('never uses a former primary that was restarted', async () => {
    await cluster.kill('a');
    await failOver();
    await written();
    // The former primary reports that it accepts writes, and could acknowledge them.
    await cluster.restart('a');
    const [own] = await onNode('a', 'SELECT pg_is_in_recovery() AS "isReplica"');
    expect(own?.['isReplica']).to.equal(false);
    await cluster.kill('b');
    await expectUnavailable(write());
    expect(await expectUnavailable(write())).to.match(/^No PostgreSQL server takes writes/);
    await cluster.restart('b');
    const after = await written();
    expect(await accountsOn('b')).to.include(uuidAt(after));
    expect(await accountsOn('a')).not.to.include(uuidAt(after));

    const another = await openPostgres({ ...options(), replicas: 0 });
    try {
      const first = await written(another);
      expect(await accountsOn('b')).to.include(uuidAt(first));
    } finally {
      await another.close();
    }
  });

  it('ends calls in time while the primary is frozen, and continues after a promotion', async () => {
    const before = await write();
    let isOver = false;
    const load = underLoad(() => isOver);
    await cluster.freeze('a');
    await sleep(2 * TIMEOUT_MS);
    await failOver();
    const after = await written();
    cluster.thaw('a');
    await sleep(300);
    isOver = true;
    const { acknowledged, failedMs } = await load;
    expect(failedMs.length).to.be.at.least(CALLERS);
    expect(Math.max(...failedMs)).to.be.lessThan(TIMEOUT_MS + SLACK_MS);
    const onPrimary = await accountsOn('b');
    for (const number of [before, after, ...acknowledged]) expect(onPrimary).to.include(uuidAt(number));
  });

  it('leaves a former primary that was frozen, even if it only reads', async () => {
    await write();
    await cluster.freeze('a');
    await failOver();
    const another = await openPostgres({ ...options(), replicas: 0 });
    const after = await written(another);
    await another.close();
    cluster.thaw('a');
    expect(await isThere(after), 'still on the former primary').to.equal(false);
    while (!(await isThere(after).catch(() => false))) await sleep(LOOK_EVERY_MS);
  });

  it('acknowledges no write whose wait for the replica was cancelled', async () => {
    await cluster.freeze('b');
    const writing = expectUnavailable(write());
    let cancelled: unknown;
    while (cancelled !== true) {
      const [row] = await onNode(
        'a',
        `SELECT pg_cancel_backend(pid) AS cancelled FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
      );
      cancelled = row?.['cancelled'];
    }
    expect(await writing).to.match(/wait for its replica was cancelled/);
    // The primary has the account, but a failover would lose it.
    expect(await accountsOn('a')).to.include(uuidAt(made));
    cluster.thaw('b');
    await written();
  });

  for (const { what, node } of [
    { what: 'primary', node: 'a' },
    { what: 'replica', node: 'b' },
  ])
    it(`opens no more connections while the ${what} is frozen`, async () => {
      let isOver = false;
      const load = underLoad(() => isOver);
      await sleep(200);
      await cluster.freeze(node);
      const looking = node === 'b' ? mostConnections(() => isOver) : undefined;
      await sleep(6 * TIMEOUT_MS);
      cluster.thaw(node);
      const most = looking ?? mostConnections(() => isOver);
      await written();
      isOver = true;
      await load;
      // Connections from before the outage may still be waiting.
      expect(await most).to.be.within(1, 2 * POOL_SIZE + SEARCHING);
    });

  /** The highest number of concurrent client connections to the primary. */
  async function mostConnections(isOver: () => boolean): Promise<number> {
    let most = 0;
    await withClient(cluster.urlOf('a'), async (client) => {
      while (!isOver()) {
        const { rows } = await client.query<{ count: number }>(
          `SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
        );
        most = Math.max(most, rows[0]?.count ?? 0);
        await sleep(LOOK_EVERY_MS);
      }
    });
    return most;
  }

  const accountsOn = async (name: string) =>
    (await onNode(name, 'SELECT id FROM darkroom.accounts')).map(({ id }) => id);

  const onNode = (name: string, statement: string) => queryOnce(cluster.urlOf(name), statement);
});

/** Expects StoreUnavailable, and returns its message. */
async function expectUnavailable(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(StoreUnavailable);
  return (error as StoreUnavailable).message;
}
