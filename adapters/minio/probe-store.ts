import { randomUUID } from 'node:crypto';
import type { SignedRequest } from '../../core/ports/object-store.js';
import { INSTALLATION_KEY, installationId } from './installation-id.js';
import { sendPlain } from './plain-request.js';
import type { S3Bucket } from './s3-bucket.js';

/** Signs a PUT of nothing to a key, as addresses for clients are signed. */
export type SignProbe = (key: string) => Promise<SignedRequest>;

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
    const { status } = await sendPlain(s3, { ...signed, method: 'PUT', headers, body: '' });
    if (isRefusal(status)) return 'refused';
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
    const { status } = await sendPlain(s3, {
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
    const { status } = await sendPlain(s3, { ...(await sign(key)), method: 'PUT', body: '' });
    return status === 200 ? 'harmful' : 'refused';
  });
}

/** Uses a unique key and removes it; other processes may do the same at the same time. */
async function probe(
  s3: S3Bucket,
  ask: (key: string) => Promise<'refused' | 'harmless' | 'harmful'>,
): Promise<boolean> {
  const key = `staging/probe/${randomUUID()}`;
  let outcome: 'refused' | 'harmless' | 'harmful' | undefined;
  try {
    outcome = await ask(key);
  } finally {
    if (outcome !== 'refused')
      await s3.callOr({ NoSuchKey: undefined }, async (client) => client.removeObject(s3.name, key));
  }
  return outcome === 'harmful';
}

/** Not found does not count as a refusal: the server has looked for the object to copy. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 404;
}
