import { randomUUID } from 'node:crypto';
import { textOf } from './answer-body.js';
import { MinioRefused } from './minio-refused.js';
import type { S3Bucket } from './s3-bucket.js';

/** In capitals, which no key of the port has. */
export const INSTALLATION_KEY = 'INSTALLATION-ID';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The id that the bucket stores, or undefined if it has none yet; writes nothing. Throws `StoreUnavailable`, and
 * `MinioRefused` if the object is not an id.
 */
export async function keptId(s3: S3Bucket): Promise<string | undefined> {
  const answer = await s3.send({ method: 'GET', key: INSTALLATION_KEY }, { NoSuchKey: undefined });
  if (answer === undefined) return undefined;
  const id = await textOf(s3, answer);
  if (!UUID.test(id))
    throw new MinioRefused(
      `The object ${INSTALLATION_KEY} in ${s3.where} was not written by Darkroom; use a separate bucket.`,
    );
  return id;
}

/**
 * A random id, stored in the bucket by the first caller. The id that is read back counts, not the one written: a server
 * that accepts two first writes keeps the later.
 */
export async function installationId(s3: S3Bucket): Promise<string> {
  const kept = await keptId(s3);
  if (kept !== undefined) return kept;
  const headers = { 'Content-Type': 'text/plain', 'If-None-Match': '*' };
  const answer = await s3.send(
    { method: 'PUT', key: INSTALLATION_KEY, headers, body: randomUUID() },
    { PreconditionFailed: undefined },
  );
  if (answer !== undefined) await textOf(s3, answer);
  const written = await keptId(s3);
  if (written === undefined) throw s3.unavailable('NoSuchKey');
  return written;
}
