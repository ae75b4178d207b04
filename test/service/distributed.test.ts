// Goal: several processes share MongoDB, an S3 store and Agenda as documented: stores that are not ready, not the same
// or missing are refused with one sentence, and a service that is started in parts works as one.
// Method: the compiled program's own commands and servers over the test's own database and bucket.
import { expect } from 'chai';
import { type Db, MongoClient } from 'mongodb';
import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../core/json.js';
import type { CliProcess } from '../harness/cli-run.js';
import { freePort } from '../servers/free-port.js';
import { freshBucket } from '../servers/fresh-places.js';
import { s3Client } from '../servers/readiness.js';
import { s3Server } from '../servers/servers.js';
import { ON_MONGO, type OpenLane } from './lanes.js';
import { Client } from './live-service.js';
import { Place } from './place.js';

describe('a start over unusable shared stores', () => {
  let lane: OpenLane | undefined;
  let place: Place;
  before(async function open() {
    lane = await ON_MONGO[0]?.open(this);
    place = new Place(lane?.config ?? {});
  });
  after(async () => {
    place.remove();
    await lane?.remove();
  });

  it('is refused until it is migrated, by server, check and tool alike', async () => {
    for (const args of [['serve'], ['migrate', '--check'], ['accounts', 'list']]) {
      expect(await place.refusal(args), args[0]).to.match(
        /^darkroom: Database darkroom-test-\w+ .*run darkroom migrate first, or correct mongo\.database\.\n$/,
      );
    }
  });

  it('leaves a database as empty as a check found it', async () => {
    expect(await inDatabase(place, async (db) => (await db.collections()).length)).to.equal(0);
  });

  it('creates nothing in a migration that lacks the secret', async () => {
    await place.refusal(['migrate'], { DARKROOM_SECRET_FILE: 'forgotten.secret' });
    expect(await inDatabase(place, async (db) => (await db.collections()).length)).to.equal(0);
  });

  it('is migrated by a command that says what it did, and nothing the second time', async () => {
    const first = await place.json<{ done: string[] }>(['migrate']);
    expect(first.done.join('\n'))
      .to.match(/index/i)
      .and.to.match(/bucket/i);
    expect(await place.json<{ done: string[] }>(['migrate'])).to.deep.include({ done: [] });
    expect((await place.run(['migrate', '--check'])).stdout).to.match(
      /^Database darkroom-test-\w+ at [\w.:]+ is ready; darkroom serve starts the service\.\n$/,
    );
  });

  it('is not bound by a check with another secret or bucket', async () => {
    const facts = (db: Db) => db.collection<{ _id: string }>('installation').findOne({ _id: 'facts' });
    await inDatabase(place, (db) => db.collection<{ _id: string }>('installation').deleteOne({ _id: 'facts' }));
    const other = new Place(place.config, 'cd'.repeat(32));
    expect(await other.run(['migrate', '--check'])).to.include({ code: 0, stderr: '' });
    other.remove();
    const bare = freshBucket(await s3Server('minio'));
    const client = s3Client(bare);
    await client.makeBucket(bare.bucket);
    expect(await place.refusal(['migrate', '--check'], { DARKROOM_MINIO_BUCKET: bare.bucket })).to.match(
      /could not be set up; run darkroom migrate first\.\n$/,
    );
    expect((await client.listObjectsV2(bare.bucket).toArray()).length, 'objects in that bucket').to.equal(0);
    await bare.remove();
    expect(await inDatabase(place, facts), 'facts after the checks').to.equal(null);
    expect(await place.run(['accounts', 'list'])).to.include({ code: 0, stderr: '' });
    expect(await inDatabase(place, facts), 'facts of the first that used it').to.be.an('object');
  });

  it('reports that the shared secret is missing, and creates none', async () => {
    const environment = { DARKROOM_SECRET_FILE: 'forgotten.secret' };
    for (const args of [
      ['migrate'],
      ['migrate', '--check'],
      ['accounts', 'list'],
      ['serve', '--role', 'rest'],
      ['serve', '--role', 'worker'],
    ]) {
      expect(await place.refusal(args, environment), args.join(' ')).to.match(
        /forgotten\.secret is missing, and every process .* needs the same secret; create it once with openssl rand -hex 32/,
      );
    }
  });

  it('reports a dropped index', async () => {
    await inDatabase(place, (db) => db.collection('generations').dropIndexes());
    expect(await place.refusal(['serve'])).to.include('run darkroom migrate first');
    await place.json(['migrate']);
  });

  it('is refused with another secret', async () => {
    const other = new Place(place.config, 'cd'.repeat(32));
    for (const args of [['serve'], ['migrate', '--check']])
      expect(await other.refusal(args)).to.match(
        /^darkroom: The secret in \S+ is not the one that database \S+ was first used with; give every process the same secret_file\.\n$/,
      );
    other.remove();
  });

  it('is refused with other objects', async () => {
    const other = new Place({ ...place.config, stores: { database: 'mongo', objects: 'files', wake_ups: 'timers' } });
    expect(await other.refusal(['serve'])).to.match(/was first used with other objects than the ones configured here/);
    other.remove();
  });

  it('reports an unreachable database, without its password', async () => {
    const url = `mongodb://darkroom:hushhush@127.0.0.1:${await freePort()}/?directConnection=true`;
    const refused = await place.refusal(['serve'], { DARKROOM_MONGO_URL: url, DARKROOM_MONGO_TIMEOUT_SECONDS: '1' });
    expect(refused).to.include('The store cannot answer').and.not.to.include('hushhush');
  });

  it('reports a password that is not percent-encoded, without any part of it', async () => {
    for (const password of ['hush/shh', 'hush@shh', 'hu@sh/shh', 'hush?shh', 'hush:shh', 'hush#shh']) {
      const refused = await place.refusal(['migrate', '--check'], {
        DARKROOM_MONGO_URL: `mongodb://darkroom:${password}@127.0.0.1:1/`,
        DARKROOM_MONGO_TIMEOUT_SECONDS: '1',
      });
      expect(refused, password).to.not.match(/hu|shh/);
      if (!/[:#]/.test(password)) expect(refused).to.include('percent-encode @ : / ? # in a password');
    }
  });

  it('reports an unreachable object store, without its key', async () => {
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    // A server may start then: see objects-away.test.ts.
    const refused = await place.refusal(['migrate', '--check'], {
      DARKROOM_MINIO_ENDPOINT: endpoint,
      DARKROOM_MINIO_SECRET_KEY: 'hushhush',
      DARKROOM_MINIO_TIMEOUT_SECONDS: '1',
    });
    expect(refused).to.include(endpoint).and.not.to.include('hushhush');
  });

  it('reports a missing bucket, and creates none for a database that was used with one', async () => {
    for (const args of [['serve'], ['serve', '--migrate'], ['migrate'], ['migrate', '--check']]) {
      expect(await place.refusal(args, { DARKROOM_MINIO_BUCKET: 'darkroom-test-nowhere' }), args.join(' ')).to.match(
        /^darkroom: Database \S+ was first used with another bucket, and there is no bucket darkroom-test-nowhere at \S+: correct minio\.bucket, or restore/,
      );
    }
  });

  it('creates nothing in a new database when the object store does not know the key', async () => {
    const other = new Place({
      ...place.config,
      mongo: { ...(place.config['mongo'] as JsonObject), database: 'darkroom-test-unmade' },
    });
    expect(await other.refusal(['migrate'], { DARKROOM_MINIO_SECRET_KEY: 'not-that-one' })).to.include(
      'the secret key does not belong',
    );
    expect(await inDatabase(other, async (db) => (await db.collections()).length)).to.equal(0);
    other.remove();
  });

  it('leaves foreign databases and buckets unchanged when a migration names the wrong ones', async () => {
    const bare = freshBucket(await s3Server('minio'));
    const client = s3Client(bare);
    await client.makeBucket(bare.bucket);
    await inDatabase(place, (db) => db.collection('generations').dropIndexes());
    const other = new Place(place.config, 'cd'.repeat(32));
    expect(await other.refusal(['migrate'])).to.include('is not the one that database');
    other.remove();
    expect(await place.refusal(['migrate'], { DARKROOM_MINIO_BUCKET: bare.bucket })).to.include('with other objects');
    expect(await client.getBucketLifecycle(bare.bucket).catch(() => null), 'rules of that bucket').to.equal(null);
    expect((await client.listObjectsV2(bare.bucket).toArray()).length, 'objects in that bucket').to.equal(0);
    expect(await inDatabase(place, async (db) => (await db.collection('generations').indexes()).length)).to.equal(1);
    await bare.remove();
    await place.json(['migrate']);
  });

  it('gives operators access to accounts and keys while the object store is unavailable', async () => {
    const away = {
      DARKROOM_MINIO_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      DARKROOM_MINIO_TIMEOUT_SECONDS: '1',
    };
    expect(await place.run(['accounts', 'create', 'while away', '--json'], away)).to.include({ code: 0, stderr: '' });
    expect(await place.run(['verify'], away)).to.include({ code: 0, stderr: '' });
  });
});

describe('SQLite with other objects than before', () => {
  let lane: OpenLane | undefined;
  let place: Place;
  const stores = (objects: 'files' | 'minio') => ({
    DARKROOM_STORES_DATABASE: 'sqlite',
    DARKROOM_STORES_OBJECTS: objects,
    DARKROOM_STORES_WAKE_UPS: 'timers',
  });
  before(async function open() {
    lane = await ON_MONGO[0]?.open(this);
    place = new Place(lane?.config ?? {});
  });
  after(async () => {
    place.remove();
    await lane?.remove();
  });

  it('is refused as over MongoDB: another bucket, or a folder', async () => {
    const migrated = async (environment: Readonly<Record<string, string>>) =>
      expect((await place.run(['migrate'], environment)).stderr).to.equal('');
    await migrated(stores('minio'));
    expect(await place.run(['migrate', '--check'], stores('minio'))).to.include({ code: 0, stderr: '' });
    const other = freshBucket(await s3Server('minio'));
    const elsewhere = { ...stores('minio'), DARKROOM_MINIO_BUCKET: other.bucket };
    await migrated({ ...elsewhere, DARKROOM_DATA_FOLDER: 'another' });
    for (const environment of [elsewhere, stores('files')]) {
      for (const args of [['serve'], ['migrate'], ['accounts', 'list']]) {
        expect(await place.refusal(args, environment)).to.match(
          /^darkroom: Database darkroom\.db in \S+ was first used with other objects .* or name another data_folder\.\n$/,
        );
      }
    }
    expect(await place.refusal(['migrate', '--check'], elsewhere)).to.include('with other objects');
    await other.remove();
  });

  it('is refused when it had files', async () => {
    const had = { DARKROOM_DATA_FOLDER: 'had-files' };
    expect((await place.run(['migrate'], { ...stores('files'), ...had })).code).to.equal(0);
    expect(await place.refusal(['serve'], { ...stores('minio'), ...had })).to.include('with other objects');
  });
});

describe('a service in parts', () => {
  let lane: OpenLane | undefined;
  let place: Place;
  const running: CliProcess[] = [];
  before(async function open() {
    lane = await ON_MONGO.at(-1)?.open(this);
    place = new Place(lane?.config ?? {});
    expect((await place.run(['migrate'])).code).to.equal(0);
  });
  afterEach(() => stopAll(running));
  after(async () => {
    place.remove();
    await lane?.remove();
  });

  async function serve(
    role: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<{ process: CliProcess; url: string | null }> {
    const process = place.start(['serve', '--role', role, '--json'], { DARKROOM_REST_PORT: '0', ...environment });
    running.push(process);
    await process.until('stdout', '}\n');
    return { process, ...(JSON.parse(process.stdout) as { url: string | null }) };
  }

  it('runs in one process what another accepted, and hands over gracefully', async () => {
    const { account_id: accountId } = await place.json<{ account_id: string }>(['accounts', 'create', 'parts']);
    const { app_id: appId } = await place.json<{ app_id: string }>(['apps', 'create', accountId, 'parts']);
    const { secret } = await place.json<{ secret: string }>(['keys', 'create', appId, '--name', 'parts']);
    await place.json(['grants', 'create', accountId, '100']);
    const front = await serve('rest');
    const other = await serve('rest');
    const client = new Client(front.url ?? '', secret);
    const { status, data } = await client.create('first', 'sandbox-image');
    expect(status).to.equal(202);
    const id = data['generation_id'] as string;
    const again = await new Client(other.url ?? '', secret).create('first', 'sandbox-image');
    expect([again.status, again.headers.get('idempotency-replayed'), again.data['generation_id']]).to.deep.equal([
      202,
      'true',
      id,
    ]);
    expect((await client.look(id)).data['status'], 'nobody works yet').to.equal('queued');

    const worker = await serve('worker');
    expect(worker.url).to.equal(null);
    const task = await client.until(id);
    expect(task['status']).to.equal('succeeded');
    const [output] = task['outputs'] as { url: string }[];
    expect((await fetch(output?.url ?? '')).status, 'the signed address').to.equal(200);

    const slow = await client.create('slow', 'sandbox-test', { behaviour: 'slow', delay_ms: 2_000, size: '128x128' });
    await client.until(slow.data['generation_id'] as string, ['running']);
    const next = await serve('worker');
    worker.process.child.kill('SIGTERM');
    expect((await worker.process.ended).code).to.equal(0);
    expect((await client.until(slow.data['generation_id'] as string))['status']).to.equal('succeeded');
    expect(next.process.child.exitCode).to.equal(null);
    expect(await place.json(['verify'])).to.deep.include({ findings: [], generations: 2 });
  });

  it('answers probes and metrics of a worker on its internal port, and nothing else', async () => {
    const port = await freePort();
    await serve('worker', { DARKROOM_INTERNAL_PORT: String(port) });
    const url = `http://127.0.0.1:${port}`;
    const statuses = await Promise.all(
      ['/livez', '/readyz', '/metrics', '/api/v1/developer/models'].map(
        async (path) => (await fetch(url + path)).status,
      ),
    );
    expect(statuses).to.deep.equal([200, 200, 200, 404]);
  });

  it('creates the demo account only in a process in the role all', async () => {
    const before = await place.json<{ accounts: JsonObject[] }>(['accounts', 'list']);
    expect(before.accounts.map(({ name }) => name)).to.deep.equal(['parts']);
  });
});

describe('MongoDB with files and timers in one process', () => {
  let lane: OpenLane | undefined;
  let place: Place;
  let server: CliProcess | undefined;
  before(async function open() {
    lane = await ON_MONGO[0]?.open(this);
    place = new Place({ ...lane?.config, stores: { database: 'mongo', objects: 'files', wake_ups: 'timers' } });
  });
  after(async () => {
    await stopAll(server === undefined ? [] : [server]);
    place.remove();
    await lane?.remove();
  });

  it('starts with one command, creates a picture, and refuses a second process', async () => {
    server = place.start(['serve', '--migrate', '--json'], { DARKROOM_REST_PORT: '0' });
    await server.until('stdout', '}\n');
    const { url, key_file } = JSON.parse(server.stdout) as { url: string; key_file: string };
    const client = new Client(url, readFileSync(key_file, 'utf8').trim());
    const { data } = await client.create('first', 'sandbox-image');
    const task = await client.until(data['generation_id'] as string);
    expect((await fetch((task['outputs'] as { url: string }[])[0]?.url ?? '')).status).to.equal(200);
    expect(await place.refusal(['serve'])).to.match(
      /^darkroom: Another server \(process \d+\) is using \S+; stop it first, or choose another data folder\.\n$/,
    );
    expect(
      await place.refusal(['serve'], { DARKROOM_DATA_FOLDER: 'elsewhere' }),
      'with the same secret and another folder',
    ).to.include('other objects');
  });
});

async function inDatabase<T>({ config }: Place, work: (db: Db) => Promise<T>): Promise<T> {
  const { url, database } = config['mongo'] as { url: string; database: string };
  const client = new MongoClient(url);
  try {
    return await work(client.db(database));
  } finally {
    await client.close();
  }
}

async function stopAll(processes: CliProcess[]): Promise<void> {
  for (const process of processes.splice(0)) {
    process.child.kill('SIGKILL');
    await process.ended;
  }
}
