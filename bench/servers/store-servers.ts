import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../core/json.js';
import { migrateStores } from '../../apps/stores/migrate-stores.js';
import { bucketSettings, freshBucket, type FreshBucket, freshDatabase } from '../../test/servers/fresh-places.js';
import { ServerProcess } from '../../test/servers/server-process.js';
import { mongoServer, type MongoServer, s3Server, type S3Server, VARIABLES } from '../../test/servers/servers.js';
import type { Measured } from '../compare.js';
import type { Run } from '../run.js';
import { cpuMicrosOf } from '../usage.js';
import { benchConfig } from './program.js';

/** A server of the run's own, whose CPU can be seen, or one that the environment names, whose CPU cannot. */
interface Found<T> {
  readonly server: T;
  readonly process?: ServerProcess;
}

export interface ServersUse {
  readonly database: number | undefined;
  readonly objects: number | undefined;
}

/** The database and the object store of the distributed program, on this machine, with data of their own. */
export class StoreServers {
  private readonly places: { remove(): Promise<void> }[] = [];

  private constructor(
    private readonly mongo: Found<MongoServer>,
    private readonly s3: Found<S3Server>,
  ) {}

  /** Throws `ServerAbsent` where one is not to be had. */
  static async start(run: Run, { isSynced = true }: { readonly isSynced?: boolean } = {}): Promise<StoreServers> {
    const mongo = await findOrStart(
      run,
      'mongo-replica-set',
      isSynced,
      () => mongoServer('replica-set'),
      ({ url }) => ({ url }),
    );
    const s3 = await findOrStart(
      run,
      'minio',
      true,
      () => s3Server('minio'),
      (server) => server.s3,
    );
    return run.keep(new StoreServers(mongo, s3));
  }

  get mongoUrl(): string {
    return this.mongo.server.url;
  }

  /** The names of the servers, for the results. */
  get names(): readonly string[] {
    return [this.mongo, this.s3].map(({ process: own }) =>
      own ? `${own.kind} ${own.program.version ?? own.program.path}` : 'named by the environment',
    );
  }

  /**
   * Creates a folder on which the processes of one installation are started: with a database and a bucket of its own,
   * migrated.
   */
  async newInstallation(run: Run, name: string): Promise<string> {
    const [folder = ''] = await this.newInstallations(run, [{ name, mongoUrl: this.mongoUrl }]);
    return folder;
  }

  /** The same on a PostgreSQL database, with a new bucket on this object store. */
  async newPostgresInstallation(run: Run, name: string, url: string): Promise<string> {
    const bucket = freshBucket(this.s3.server);
    this.places.push(bucket);
    const stores = { database: 'postgres', objects: 'minio', wake_ups: 'agenda' };
    const postgres = { url, replicas: 1, timeout_seconds: 30 };
    const folder = writtenFolder(run, name, { stores, postgres, minio: bucketSettings(bucket) });
    await migrateStores(await benchConfig(folder), { role: 'server' });
    return folder;
  }

  /** Makes folders for processes of one installation that have different ways to the same database. */
  async newInstallations(
    run: Run,
    ways: readonly { readonly name: string; readonly mongoUrl: string }[],
  ): Promise<string[]> {
    const place = freshDatabase(this.mongo.server);
    const { database } = place;
    const bucket = freshBucket(this.s3.server);
    this.places.push({ remove: () => place.drop() }, bucket);
    const folders = ways.map(({ name, mongoUrl }) => newFolder(run, name, { mongoUrl, database, bucket }));
    await migrateStores(await benchConfig(folders[0] ?? ''), { role: 'server' });
    return folders;
  }

  usage(): ServersUse {
    return { database: cpuMicrosOf(this.mongo.process?.pid), objects: cpuMicrosOf(this.s3.process?.pid) };
  }

  async stop(): Promise<void> {
    // Data of servers that live on is ours to remove.
    if (!this.mongo.process || !this.s3.process) await Promise.all(this.places.map((place) => place.remove()));
    await Promise.all([this.mongo.process?.stop(), this.s3.process?.stop()]);
  }
}

interface Places {
  readonly mongoUrl: string;
  readonly database: string;
  readonly bucket: FreshBucket;
}

/** Creates a folder with a configuration in it. */
function newFolder(run: Run, name: string, { mongoUrl, database, bucket }: Places): string {
  return writtenFolder(run, name, {
    stores: { database: 'mongo', objects: 'minio', wake_ups: 'agenda' },
    mongo: { url: mongoUrl, database, timeout_seconds: 30 },
    minio: bucketSettings(bucket),
  });
}

function writtenFolder(run: Run, name: string, config: JsonObject): string {
  const folder = run.newFolder(name);
  writeFileSync(join(folder, 'darkroom.yaml'), JSON.stringify(config));
  return folder;
}

/** The CPU time that the servers used between two samples, per operation. */
export function serversCpu(
  before: ServersUse,
  after: ServersUse,
  count: number,
): Pick<Measured, 'databaseCpuMicros' | 'objectsCpuMicros'> {
  const spent = (name: keyof ServersUse) => ((after[name] ?? Number.NaN) - (before[name] ?? Number.NaN)) / count;
  const [database, objects] = [spent('database'), spent('objects')];
  return {
    ...(Number.isNaN(database) ? {} : { databaseCpuMicros: database }),
    ...(Number.isNaN(objects) ? {} : { objectsCpuMicros: objects }),
  };
}

async function findOrStart<T>(
  run: Run,
  kind: 'mongo-replica-set' | 'minio',
  isSynced: boolean,
  named: () => Promise<T>,
  own: (server: ServerProcess) => T,
): Promise<Found<T>> {
  if (process.env[VARIABLES[kind]]) return { server: await named() };
  const server = await ServerProcess.start(kind, { folder: run.newFolder(kind), isSynced });
  return { server: own(server), process: server };
}
