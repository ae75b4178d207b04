import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../core/errors.js';
import type { SignedRequest } from '../../core/ports/object-store.js';
import { MinioRefused } from './minio-options.js';
import { type PlainRequest, refusalCode, type S3Bucket, sendPlain, textOf } from './s3-bucket.js';

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

/** The remedy for each code. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'the store does not know the access key',
  XAdminUserNotFound: 'the store does not know the access key',
  SignatureDoesNotMatch: 'the secret key does not belong to the access key',
  AccessDenied: 'the access key must be allowed to read, write, remove and list',
  RequestTimeTooSkewed: 'the clocks of the two machines are too far apart',
  AuthorizationHeaderMalformed: 'the region is wrong',
};

/**
 * Checks that the bucket exists. Throws `MinioRefused` and `StoreUnavailable`. Reads an object, because an answer to
 * HEAD has no body with the reason.
 */
export async function hasBucket(s3: S3Bucket): Promise<boolean> {
  try {
    const answer = await s3.send({ method: 'GET', key: INSTALLATION_KEY }, { NoSuchKey: true, NoSuchBucket: false });
    if (typeof answer === 'boolean') return answer;
    answer.destroy();
    return true;
  } catch (error) {
    throw refused(s3, error);
  }
}

/** Maps a refusal that waiting does not fix to `MinioRefused`, with the remedy; returns every other error unchanged. */
export function refused(s3: S3Bucket, error: unknown): unknown {
  const code = error instanceof StoreUnavailable ? refusalCode(error.cause) : undefined;
  if (code === undefined) return error;
  const wayOut = WAYS_OUT[code];
  return new MinioRefused(
    `The object store refuses ${s3.where} (${code})${wayOut === undefined ? '' : `: ${wayOut}`}.`,
    error,
  );
}

/** Signs a PUT of nothing to a key, as addresses for clients are signed. */
export type SignProbe = (key: string) => Promise<SignedRequest>;

type Outcome = 'refused' | 'harmless' | 'harmful';
type Ask = (key: string) => Promise<Outcome>;

const REFUSALS = 3;
const PAUSE_MS = 20;
const NOT_IMPLEMENTED = 501;
/** Timed out, too many requests, connection closed. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 499]);

/** How one chunk without bytes, and its checksum, is sent. */
const NO_BYTES = {
  headers: {
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': '0',
    'x-amz-trailer': 'x-amz-checksum-crc32',
    'Content-Encoding': 'aws-chunked',
  },
  body: '0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n',
} as const;

/** Whether a client with an address for an upload can copy an object there by an unsigned header. */
export async function obeysCopySource(s3: S3Bucket, sign: SignProbe): Promise<boolean> {
  // There is something to copy, so that a refusal is one.
  await installationId(s3);
  return probe(s3, async (key) => {
    const signed = await sign(key);
    const headers = { ...signed.headers, 'x-amz-copy-source': `/${s3.name}/${INSTALLATION_KEY}` };
    if (isRefusal(await statusOf(s3, { ...signed, method: 'PUT', headers, body: '' }))) return 'refused';
    const stored = await s3.callOr({ NotFound: null, NoSuchKey: null }, async (client) =>
      client.statObject(s3.name, key),
    );
    // A store that does not know the header stores what was signed: nothing.
    return stored?.size === 0 ? 'harmless' : 'harmful';
  });
}

/**
 * Whether the server accepts an unsigned upload from a client that knows an access key, which every address contains.
 */
export async function takesUnsignedUploads(s3: S3Bucket, sign: SignProbe): Promise<boolean> {
  return probe(s3, async (key) => {
    const { url, headers } = await sign(key);
    const forged = url.replace(/(?<=[?&]X-Amz-Signature=)[0-9a-f]+/, (signature) => '0'.repeat(signature.length));
    const status = await statusOf(s3, {
      url: forged,
      method: 'PUT',
      headers: { ...headers, ...NO_BYTES.headers },
      body: NO_BYTES.body,
    });
    return isRefusal(status) ? 'refused' : 'harmful';
  });
}

/** Whether an honest upload works. */
export async function takesUploads(s3: S3Bucket, sign: SignProbe): Promise<boolean> {
  return probe(s3, async (key) => {
    const status = await statusOf(s3, { ...(await sign(key)), method: 'PUT', body: '' });
    return status === 200 ? 'harmful' : 'refused';
  });
}

/**
 * Uses unique keys and removes them; other processes may do the same at the same time. A refusal counts when the server
 * repeats it: servers over a file system refuse a write now and then (MinIO with 403, versitygw with 409) while the
 * removal of another object empties its folder.
 */
async function probe(s3: S3Bucket, ask: Ask): Promise<boolean> {
  for (let asked = 1; ; asked += 1) {
    const outcome = await askOnce(s3, ask);
    if (outcome !== 'refused') return outcome === 'harmful';
    if (asked === REFUSALS) return false;
    await sleep(asked * PAUSE_MS);
  }
}

async function askOnce(s3: S3Bucket, ask: Ask): Promise<Outcome> {
  const key = `staging/probe/${randomUUID()}`;
  const remove = async () => s3.callOr({ NoSuchKey: undefined }, async (client) => client.removeObject(s3.name, key));
  let outcome: Outcome;
  try {
    outcome = await ask(key);
  } catch (error) {
    // An error of the removal would hide the original cause.
    await remove().catch(() => undefined);
    throw error;
  }
  if (outcome !== 'refused') await remove();
  return outcome;
}

/** Throws `StoreUnavailable` if the server failed, because that does not show what it allows. */
async function statusOf(s3: S3Bucket, request: PlainRequest): Promise<number> {
  const { status } = await sendPlain(s3, request);
  if (PASSING.has(status) || (status >= 500 && status !== NOT_IMPLEMENTED)) throw s3.unavailable(`HTTP ${status}`);
  return status;
}

/** Not found does not count as a refusal: the server has looked for the object to copy. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 404;
}
