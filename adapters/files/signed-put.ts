import { StoreUnavailable } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import type { ObjectFolder } from './object-folder.js';
import { answer, refusal } from './signed-answers.js';
import type { SignedObjectRequest, SignedObjectResponse } from './signed-answers.js';
import type { StagedObject } from './staged-object.js';
import type { PutGrant } from './url-signer.js';

/** The header that must carry the digest a PUT was signed for, in lower-case hex. */
export const DIGEST_HEADER = 'x-darkroom-sha256';

/**
 * A body that will not be stored is read so far before the connection is closed, so that a small client reads our
 * answer.
 */
const MAX_DRAINED_BYTES = 64 * 1024;

export const EXPIRED = 'The signed address has expired.';
const NO_LONGER_TAKEN = 'The upload of this address is completed or removed; the address accepts no more bytes.';

/** Whether bytes sent to a key still have a use. Throws `StoreUnavailable`. */
export type TakesBytes = (key: string) => Promise<boolean>;

/** What is wrong with the headers of a verified PUT, or undefined. */
function headerRefusal(grant: PutGrant, headers: SignedObjectRequest['headers']): SignedObjectResponse | undefined {
  const length = headers['content-length'];
  if (length === undefined) return refusal(411, `Send a Content-Length of ${grant.byteSize}.`);
  if (length !== String(grant.byteSize)) return refusal(400, `Content-Length must be ${grant.byteSize}.`);
  if (headers['content-type'] !== grant.mediaType) return refusal(400, `Content-Type must be ${grant.mediaType}.`);
  if (grant.sha256 !== undefined && headers[DIGEST_HEADER] !== grant.sha256)
    return refusal(400, `${DIGEST_HEADER} must be ${grant.sha256}.`);
  return undefined;
}

/**
 * Answers a verified PUT: stores exactly the bytes that were signed for, or nothing. The expiry, and whether they are
 * still needed, are checked again once all bytes have arrived, so that no object appears after the target was closed.
 */
export async function answerPut(
  folder: ObjectFolder,
  clock: Pick<Clock, 'now'>,
  takesBytes: TakesBytes,
  grant: PutGrant,
  request: SignedObjectRequest,
): Promise<SignedObjectResponse> {
  const refused = headerRefusal(grant, request.headers) ?? (await takenRefusal(takesBytes, grant));
  if (refused !== undefined) return unread(request, refused);
  const staged = await stageBody(folder, grant, request);
  if (staged === 'broke-off') return refusal(400, 'The body ended before it was complete.', { Connection: 'close' });
  if (staged === 'too-large')
    return refusal(400, `The body must have exactly ${grant.byteSize} bytes.`, { Connection: 'close' });
  const fault = bodyRefusal(grant, staged, clock.now()) ?? (await lateRefusal(takesBytes, grant, staged));
  if (fault !== undefined) {
    await staged.discard();
    return fault;
  }
  await staged.commit(grant.key);
  return answer(200, { 'ETag': `"${staged.sha256}"`, 'Content-Length': '0' });
}

async function takenRefusal(takesBytes: TakesBytes, { key }: PutGrant): Promise<SignedObjectResponse | undefined> {
  return (await takesBytes(key)) ? undefined : refusal(410, NO_LONGER_TAKEN);
}

/** The same once the bytes are here, which a failure must not leave behind. */
async function lateRefusal(
  takesBytes: TakesBytes,
  grant: PutGrant,
  staged: StagedObject,
): Promise<SignedObjectResponse | undefined> {
  try {
    return await takenRefusal(takesBytes, grant);
  } catch (error) {
    await staged.discard();
    throw error;
  }
}

function bodyRefusal(
  grant: PutGrant,
  body: { readonly byteSize: number; readonly sha256: string },
  now: number,
): SignedObjectResponse | undefined {
  if (body.byteSize !== grant.byteSize) return refusal(400, `The body must have exactly ${grant.byteSize} bytes.`);
  if (grant.sha256 !== undefined && body.sha256 !== grant.sha256)
    return refusal(400, 'The body does not have the SHA-256 it was signed for.');
  return now >= grant.expiresAt ? refusal(403, EXPIRED) : undefined;
}

/** A disk failure is our fault and is passed on; a client's disconnect is not. */
async function stageBody(
  folder: ObjectFolder,
  grant: PutGrant,
  request: SignedObjectRequest,
): Promise<StagedObject | 'too-large' | 'broke-off'> {
  try {
    return await folder.stage(request.body, grant.byteSize);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    return 'broke-off';
  }
}

/**
 * Refuses after it has read a short body; a longer one costs the client its connection. The body's iterator is not
 * ended: a server's request stream would then destroy the socket, and the answer with it.
 */
export async function unread(
  request: SignedObjectRequest,
  refused: SignedObjectResponse,
): Promise<SignedObjectResponse> {
  const body = request.body[Symbol.asyncIterator]();
  try {
    for (let drained = 0; drained <= MAX_DRAINED_BYTES;) {
      const next = await body.next();
      if (next.done === true) return refused;
      drained += next.value.byteLength;
    }
  } catch {
    // The client has disconnected: the answer will not be read.
  }
  return { ...refused, headers: { ...refused.headers, Connection: 'close' } };
}
