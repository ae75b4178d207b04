import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { Client } from 'minio';
import { MinioObjectStore } from '../../../adapters/minio/minio-object-store.js';
import type { MinioOptions } from '../../../adapters/minio/minio-options.js';
import { setUpBucket } from '../../../adapters/minio/set-up-bucket.js';

export type S3Kind = 'minio' | 'versitygw';
export const S3_KINDS: readonly S3Kind[] = ['minio', 'versitygw'];

export type Server = Omit<MinioOptions, 'bucket'>;

/** Where the server of this kind is. Skips the suite whose hook asks, with a sentence, where there is none. */
export async function serverFor(kind: S3Kind, suite: Mocha.Context): Promise<Server> {
  const name = `TEST_${kind.toUpperCase()}_URL`;
  const given = process.env[name];
  if (given === undefined) {
    console.log(`      skipped: there is no ${kind} here; say where it is in ${name}`);
    return suite.skip();
  }
  const url = new URL(given);
  return { endpoint: url.origin, region: 'us-east-1', accessKey: url.username, secretKey: url.password };
}

/** The same server with a bucket name that nobody has. */
export function freshBucket(server: Server): MinioOptions {
  return { ...server, bucket: `test-${randomUUID()}` };
}

/** The S3 client by itself, to look at a bucket from the side and to remove it. */
export function clientOf({ endpoint, region, accessKey, secretKey }: Server): Client {
  const url = new URL(endpoint);
  return new Client({ endPoint: url.hostname, port: Number(url.port), useSSL: url.protocol === 'https:', region, accessKey, secretKey });
}

/** A store in a fresh bucket. */
export async function openFresh(options: MinioOptions): Promise<MinioObjectStore> {
  await setUpBucket(options);
  return MinioObjectStore.open({ ...options, clock: { now: () => Date.now() } });
}

/** Removes the bucket with everything in it; nothing happens when it is not there. */
export async function removeBucket(options: MinioOptions): Promise<void> {
  const client = clientOf(options);
  if (!(await client.bucketExists(options.bucket))) return;
  for (let keys = await keysOf(options); keys.length > 0; keys = await keysOf(options)) {
    for (const key of keys) await client.removeObject(options.bucket, key);
  }
  for (const { key, uploadId } of await incompleteUploads(options)) await client.abortMultipartUpload(options.bucket, key, uploadId);
  await client.removeBucket(options.bucket);
}

/** Up to 1,000 keys. Read from the text: the client takes a key of digits for a number. */
export async function keysOf(options: MinioOptions): Promise<string[]> {
  const answer = await clientOf(options).makeRequestAsync({ method: 'GET', bucketName: options.bucket, query: 'list-type=2' });
  return [...(await text(answer)).matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!);
}

/** The uploads in parts that were begun and not ended, under this key: MinIO lists those of one key only. */
export async function incompleteUploads(options: MinioOptions, key = ''): Promise<{ readonly key: string; readonly uploadId: string }[]> {
  return (await clientOf(options).listIncompleteUploadsQuery(options.bucket, key, '', '', '')).uploads;
}
