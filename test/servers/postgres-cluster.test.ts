/**
 * Goal: the cluster for fault tests works as they expect: replicas follow, crashes and pauses affect whole servers, and a
 * promoted replica becomes the primary. Method: one cluster with two replicas goes through these events, and the test reads the
 * rows that were written.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryOnce } from './postgres-client.js';
import { PostgresCluster } from './postgres-cluster.js';
import { isGone } from './process-tree.js';
import { ScriptProcess } from './script-process.js';
import { orSkip } from './servers.js';

describe('a PostgreSQL cluster', () => {
  let cluster: PostgresCluster;

  before(async function () {
    cluster = await orSkip(
      this,
      PostgresCluster.start({ replicas: 2, synchronousStandbyNames: 'ANY 1 (b, c)', delayMs: 5 }),
    );
    await queryOnce(cluster.urlOf(), 'CREATE TABLE things (number int)');
  });
  after(() => cluster?.close());

  it('has a primary that replicas follow', async () => {
    await queryOnce(cluster.urlOf(), 'INSERT INTO things VALUES (1)');
    await cluster.untilFollowed();
    for (const name of cluster.names) expect(await numbersOn(name), name).to.deep.equal([1]);
    expect(cluster.url).to.match(
      /^postgres:\/\/postgres@127\.0\.0\.1:\d+,127\.0\.0\.1:\d+,127\.0\.0\.1:\d+\/postgres$/,
    );
  });

  it('acknowledges a write only after a replica has it, which takes the latency of the line', async () => {
    const beganAt = performance.now();
    await queryOnce(cluster.urlOf(), 'INSERT INTO things VALUES (2)');
    expect(performance.now() - beganAt).to.be.at.least(10);
    for (const name of ['b', 'c']) await cluster.freeze(name);
    let isAcknowledged = false;
    const write = queryOnce(cluster.urlOf(), 'INSERT INTO things VALUES (3)').then(() => (isAcknowledged = true));
    await sleep(100);
    expect(isAcknowledged).to.equal(false);
    cluster.thaw('c');
    await write;
    cluster.thaw('b');
    await cluster.untilFollowed();
  });

  it('continues on a replica after a crash of the primary, and the other replica follows it', async () => {
    await cluster.kill('a');
    await cluster.promote('b');
    await queryOnce(cluster.urlOf(), 'INSERT INTO things VALUES (4)');
    await cluster.untilFollowed('c');
    expect(await numbersOn('c')).to.deep.equal([1, 2, 3, 4]);
  });

  it('accepts a former primary as a replica, which receives the rows that it has missed', async () => {
    await cluster.rejoin('a');
    await cluster.setSynchronousStandbyNames('a');
    await queryOnce(cluster.urlOf(), 'INSERT INTO things VALUES (5)');
    await cluster.untilFollowed();
    for (const name of cluster.names) expect(await numbersOn(name), name).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it('can disconnect its nodes from each other and connect them again', async () => {
    await cluster.setSynchronousStandbyNames('');
    cluster.disconnect('b');
    await queryOnce(cluster.urlOf(), 'INSERT INTO things VALUES (6)');
    await sleep(100);
    expect(await numbersOn('a')).not.to.include(6);
    cluster.connect('b');
    await cluster.untilFollowed();
    expect(await numbersOn('a')).to.include(6);
  });

  it('ends with the process that started it, even if a node is paused', async () => {
    const script = ScriptProcess.ofLines(`
      const { PostgresCluster } = await import(here + 'postgres-cluster.js');
      const { childrenOf } = await import(here + 'process-tree.js');
      const cluster = await PostgresCluster.start();
      await cluster.freeze('b');
      const servers = (await import(here + 'supervision.js')).supervision();
      const pids = childrenOf((await servers).pid).flatMap((pid) => [pid, ...childrenOf(pid)]);
      console.log('started ' + JSON.stringify(pids));
      setInterval(() => undefined, 1000);`);
    const [, started = ''] = await script.until(/started (\[.*\])\n/);
    const pids = JSON.parse(started) as readonly number[];
    expect(pids).to.have.length.greaterThan(8);
    script.child.kill('SIGKILL');
    await script.ended;
    while (!pids.every(isGone)) await sleep(25);
  });

  async function numbersOn(name: string): Promise<readonly unknown[]> {
    const rows = await queryOnce(cluster.urlOf(name), 'SELECT number FROM things ORDER BY number');
    return rows.map(({ number }) => number);
  }
});
