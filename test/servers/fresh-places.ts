import type { Client } from 'minio';
import { MongoClient } from 'mongodb';
import { randomBytes } from 'node:crypto';
import { buffer, text } from 'node:stream/consumers';
import { withClient } from './postgres-client.js';
import { s3Client } from './readiness.js';
import type { MongoServer, PostgresServer, S3Server } from './servers.js';

export interface FreshDatabase {
  readonly url: string;
  readonly database: string;
  drop(): Promise<void>;
}

/** A new database, on a server that may be shared. */
export function freshDatabase({ url }: MongoServer): FreshDatabase {
  const database = freshName();
  return {
    url,
    database,
    drop: async () => {
      const client = new MongoClient(url, { serverSelectionTimeoutMS: 5_000 });
      try {
        await client.db(database).dropDatabase();
      } finally {
        await client.close();
      }
    },
  };
}

export interface FreshPostgresDatabase {
  /** Includes the name of the database. */
  readonly url: string;
  readonly database: string;
  /** Also ends its connections. */
  drop(): Promise<void>;
}

/** Makes a new database, on a server that may be shared. */
export async function freshPostgresDatabase(server: PostgresServer): Promise<FreshPostgresDatabase> {
  const database = freshName();
  const url = new URL(server.url);
  url.pathname = database;
  await onPostgres(server, `CREATE DATABASE "${database}"`);
  return {
    url: url.href,
    database,
    drop: () =>
      onPostgres(
        server,
        // FORCE does not end replication connections.
        `SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots WHERE database = '${database}'`,
        `DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`,
      ),
  };
}

async function onPostgres({ url }: PostgresServer, ...statements: readonly string[]): Promise<void> {
  await withClient(url, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
}

export interface FreshBucket extends S3Server {
  /** Not made yet. */
  readonly bucket: string;
  /** All of its objects, by key. */
  objects(): Promise<ReadonlyMap<string, Buffer>>;
  /** Removes it with everything in it, if it is there. */
  remove(): Promise<void>;
}

/** A new bucket, on a server that may be shared. */
export function freshBucket(server: S3Server): FreshBucket {
  const bucket = freshName();
  return {
    ...server,
    bucket,
    objects: async () => {
      const client = s3Client(server);
      const found = new Map<string, Buffer>();
      for (const key of await someKeys(client, bucket))
        found.set(key, await buffer(await client.getObject(bucket, key)));
      return found;
    },
    remove: async () => {
      const client = s3Client(server);
      if (!(await client.bucketExists(bucket))) return;
      for (let keys = await someKeys(client, bucket); keys.length > 0; keys = await someKeys(client, bucket)) {
        for (const key of keys) await client.removeObject(bucket, key);
      }
      for (const { key, uploadId } of (await client.listIncompleteUploadsQuery(bucket, '', '', '', '')).uploads) {
        await client.abortMultipartUpload(bucket, key, uploadId);
      }
      await client.removeBucket(bucket);
    },
  };
}

/** The part of a configuration that names a bucket. */
export function bucketSettings({
  endpoint,
  region,
  bucket,
  accessKey,
  secretKey,
}: Omit<FreshBucket, 'objects' | 'remove'>) {
  return { endpoint, region, bucket, access_key: accessKey, secret_key: secretKey };
}

/** Up to 1,000 keys. Read from the answer's text: the client's own list takes a key of digits for a number. */
async function someKeys(client: Client, bucket: string): Promise<string[]> {
  const answer = await client.makeRequestAsync({ method: 'GET', bucketName: bucket, query: 'list-type=2' });
  return [...(await text(answer)).matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!);
}

function freshName(): string {
  return `darkroom-test-${randomBytes(6).toString('hex')}`;
}
