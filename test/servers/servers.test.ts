/**
 * Goal: a test gets servers that work, one of each kind a process, and places on them that nobody else uses.
 * Method: use every kind for what it is there for: write and read, and pass bytes through.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import pg from 'pg';
import { MONGO_KINDS, S3_KINDS } from '../harness/store-pairs.js';
import { freshBucket, freshDatabase, freshPostgresDatabase } from './fresh-places.js';
import { childrenOf, isGone } from './process-tree.js';
import { queryOnce } from './postgres-client.js';
import { s3Client } from './readiness.js';
import { ServerProcess } from './server-process.js';
import {
  mongoServer,
  orSkip,
  postgresServer,
  s3Server,
  sdServer,
  toxiproxyServer,
  type MongoServer,
  type PostgresServer,
  type S3Server,
} from './servers.js';
import { isStopped } from './stopped.js';

for (const kind of MONGO_KINDS) {
  describe(`MongoDB as ${kind}`, () => {
    let server: MongoServer;

    before(async function () {
      server = await orSkip(this, mongoServer(kind));
    });

    it('is started once per process', async () => {
      expect(await mongoServer(kind)).to.equal(server);
    });

    it('reports its kind', async () => {
      const client = new MongoClient(server.url);
      try {
        const { setName } = await client.db('admin').command({ hello: 1 });
        if (kind === 'standalone') expect(setName).to.equal(undefined);
        else expect(setName).to.be.a('string');
      } finally {
        await client.close();
      }
    });

    it('gives databases that leave nothing behind', async () => {
      const place = freshDatabase(server);
      const other = freshDatabase(server);
      const client = new MongoClient(place.url);
      try {
        await client.db(place.database).collection('things').insertOne({ name: 'one' });
        expect(await client.db(place.database).collection('things').countDocuments()).to.equal(1);
        expect(await client.db(other.database).collection('things').countDocuments()).to.equal(0);
        await place.drop();
        const { databases } = await client.db('admin').admin().listDatabases();
        expect(databases.map(({ name }) => name)).not.to.include(place.database);
      } finally {
        await client.close();
      }
    });
  });
}

for (const version of ['18', '15'] as const) {
  describe(`PostgreSQL ${version}`, () => {
    let server: PostgresServer;

    before(async function () {
      server = await orSkip(this, postgresServer(version));
    });

    it('is started once per process', async () => {
      expect(await postgresServer(version)).to.equal(server);
    });

    it('has the features that the stores need, and writes to disk', async () => {
      const settings = ['wal_level', 'fsync', 'full_page_writes', 'synchronous_commit', 'server_encoding'];
      const values = await queryOnce(server.url, 'SELECT name, setting FROM pg_settings WHERE name = ANY($1)', [
        settings,
      ]);
      expect(Object.fromEntries(values.map(({ name, setting }) => [name, setting]))).to.deep.equal({
        wal_level: 'logical',
        fsync: 'on',
        full_page_writes: 'on',
        synchronous_commit: 'on',
        server_encoding: 'UTF8',
      });
    });

    it('provides databases that leave nothing behind, even if a client is connected', async () => {
      const [place, other] = [await freshPostgresDatabase(server), await freshPostgresDatabase(server)];
      await queryOnce(place.url, 'CREATE TABLE things AS SELECT 1');
      expect(await queryOnce(place.url, `SELECT to_regclass('things') IS NOT NULL AS made`)).to.deep.equal([
        { made: true },
      ]);
      expect(await queryOnce(other.url, `SELECT to_regclass('things') IS NOT NULL AS made`)).to.deep.equal([
        { made: false },
      ]);
      const client = new pg.Client({ connectionString: place.url });
      client.on('error', () => undefined);
      await client.connect();
      const closed = new Promise((resolve) => client.once('end', resolve));
      for (const each of [place, other]) await each.drop();
      await closed;
      const names = await queryOnce(server.url, 'SELECT datname FROM pg_database');
      expect(names.map(({ datname }) => datname)).not.to.include.members([place.database]);
      await place.drop();
    });

    it('can be killed, frozen and restarted with all of its processes, and keeps acknowledged writes', async function () {
      const own = await orSkip(this, ServerProcess.start(`postgres-${version}`));
      await queryOnce(own.url, 'CREATE TABLE things AS SELECT 1 AS number');
      await own.pause();
      const pids = [own.pid ?? 0, ...childrenOf(own.pid ?? 0)].filter((pid) => !isGone(pid));
      expect(pids).to.have.length.greaterThan(3);
      expect(pids.every(isStopped)).to.equal(true);
      own.resume();
      await own.kill();
      expect(pids.every(isGone)).to.equal(true);
      await own.restart();
      expect(await queryOnce(own.url, 'SELECT number FROM things')).to.deep.equal([{ number: 1 }]);
      await own.stop();
    });
  });
}

describe('PgBouncer', () => {
  it('forwards statements and pools by transaction', async function () {
    const { url } = await orSkip(this, postgresServer('18'));
    const { hostname, port } = new URL(url);
    const pooler = await orSkip(
      this,
      ServerProcess.start('pgbouncer', { lines: `postgres = host=${hostname} port=${port}` }),
    );
    expect(await queryOnce(pooler.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    const [pool] = await queryOnce(pooler.url.replace(/postgres$/, 'pgbouncer'), 'SHOW CONFIG').then((rows) =>
      rows.filter(({ key }) => key === 'pool_mode'),
    );
    expect(pool).to.include({ value: 'transaction' });
    await pooler.stop();
  });
});

for (const kind of S3_KINDS) {
  describe(`S3 as ${kind}`, () => {
    let server: S3Server;

    before(async function () {
      server = await orSkip(this, s3Server(kind));
    });

    it('is started once per process', async () => {
      expect(await s3Server(kind)).to.equal(server);
    });

    it('gives buckets that leave nothing behind', async () => {
      const place = freshBucket(server);
      const client = s3Client(server);
      await client.makeBucket(place.bucket, place.region);
      await client.putObject(place.bucket, 'a/b', Buffer.from('bytes'));
      expect((await client.statObject(place.bucket, 'a/b')).size).to.equal(5);
      await place.remove();
      expect(await client.bucketExists(place.bucket)).to.equal(false);
      await place.remove();
    });
  });
}

describe('toxiproxy', () => {
  it('serves its interface', async function () {
    const { url } = await orSkip(this, toxiproxyServer());
    expect(await (await fetch(`${url}/proxies`)).json()).to.be.an('object');
  });
});

describe('stable-diffusion.cpp', () => {
  it('makes a picture of nothing', async function () {
    const { url } = await orSkip(this, sdServer());
    const accepted = await fetch(`${url}/sdcpp/v1/img_gen`, {
      method: 'POST',
      body: JSON.stringify({ prompt: 'anything', width: 64, height: 64, sample_params: { sample_steps: 1 } }),
    });
    expect(accepted.status).to.equal(202);
    const { poll_url: address } = (await accepted.json()) as { readonly poll_url: string };
    const { result } = await untilCompleted(`${url}${address}`);
    expect(
      Buffer.from(result.images[0]?.b64_json ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).to.equal('PNG');
  });
});

interface CompletedJob {
  readonly status: string;
  readonly result: { readonly images: readonly { readonly b64_json: string }[] };
}

/** Mocha's own limit ends it for a job that never completes. */
async function untilCompleted(address: string): Promise<CompletedJob> {
  for (;;) {
    const job = (await (await fetch(address)).json()) as CompletedJob;
    if (job.status === 'completed') return job;
    if (job.status === 'failed') throw new Error('The job failed.');
    await sleep(20);
  }
}
