import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SignedRequest } from '../../core/ports/object-store.js';
import { INSTALLATION_KEY, installationId } from './installation-id.js';
import { sendPlain } from './plain-request.js';
import type { PlainRequest } from './plain-request.js';
import type { S3Bucket } from './s3-bucket.js';

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
    // What the removal fails with would hide why.
    await remove().catch(() => undefined);
    throw error;
  }
  if (outcome !== 'refused') await remove();
  return outcome;
}

/** Throws `StoreUnavailable` for a server that failed, which says nothing about what it allows. */
async function statusOf(s3: S3Bucket, request: PlainRequest): Promise<number> {
  const { status } = await sendPlain(s3, request);
  if (PASSING.has(status) || (status >= 500 && status !== NOT_IMPLEMENTED)) throw s3.unavailable(`HTTP ${status}`);
  return status;
}

/** Not found does not count as a refusal: the server has looked for the object to copy. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 404;
}
