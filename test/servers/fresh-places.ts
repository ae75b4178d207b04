import { MongoClient } from 'mongodb';
import { randomBytes } from 'node:crypto';
import { s3Client } from './readiness.js';
import type { MongoServer, S3Server } from './servers.js';

export interface FreshDatabase {
  readonly url: string;
  readonly database: string;
  drop(): Promise<void>;
}

/** A database that nobody else uses, on a server that others may use too. */
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

export interface FreshBucket extends S3Server {
  /** Not made yet. */
  readonly bucket: string;
  /** Removes it with everything in it, if it is there. */
  remove(): Promise<void>;
}

/** The name of a bucket that nobody else uses, on a server that others may use too. */
export function freshBucket(server: S3Server): FreshBucket {
  const bucket = freshName();
  return {
    ...server,
    bucket,
    remove: async () => {
      const client = s3Client(server);
      if (!(await client.bucketExists(bucket))) return;
      const names: string[] = [];
      for await (const item of client.listObjectsV2(bucket, '', true)) names.push((item as { readonly name: string }).name);
      for (const name of names) await client.removeObject(bucket, name);
      await client.removeBucket(bucket);
    },
  };
}

function freshName(): string {
  return `darkroom-test-${randomBytes(6).toString('hex')}`;
}
