import { StoreUnavailable } from '../../core/errors.js';
import { inlineDisposition } from '../../core/object-keys.js';
import type { Clock } from '../../core/ports/machine.js';
import { wantedPart } from '../ranged-request.js';
import type { SignedObjectRequest, SignedObjectResponse as Response } from '../signed-object-gate.js';
import type { ObjectFolder, StagedObject, StoredObject } from './object-folder.js';
import type { GetGrant, PutGrant, UrlSigner } from './url-signer.js';

/**
 * The gate to objects behind signed addresses, for an HTTP server to mount under `/objects/`. It streams both ways and
 * never throws. Success is 200, 204, 206 or 304; 403 is a signature that is not ours or has expired; 400 is a request
 * that also carries a credential; 400 and 411 are a PUT that differs from what was signed; 410 is a PUT whose bytes are
 * no longer needed; 404, 405, 416 and 503 have their usual meaning. The server bounds slow bodies. `HEAD` works with an
 * address signed for `GET`.
 */
export class SignedObjects {
  constructor(
    private readonly parts: {
      readonly folder: ObjectFolder;
      readonly signer: UrlSigner;
      readonly clock: Pick<Clock, 'now'>;
      readonly takesBytes: TakesBytes;
    },
  ) {}

  async handle(request: SignedObjectRequest): Promise<SignedObjectResponse> {
    try {
      return await this.answerTo(request);
    } catch (error) {
      if (error instanceof StoreUnavailable)
        return refusal(503, 'The store cannot answer right now.', { 'Retry-After': '5', 'Connection': 'close' });
      return refusal(500, 'Something went wrong on our side.', { Connection: 'close' });
    }
  }

  private async answerTo(request: SignedObjectRequest): Promise<SignedObjectResponse> {
    const { signer, clock } = this.parts;
    if (request.method === 'OPTIONS') return answer(204, { ...PREFLIGHT, Allow: METHODS });
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (method !== 'GET' && method !== 'PUT')
      return unread(request, refusal(405, `Use one of ${METHODS}.`, { Allow: METHODS }));
    if (request.headers['authorization'] !== undefined) return unread(request, refusal(400, TWO_WAYS));
    const grant = signer.verify(method, request.path, request.query);
    if (grant === undefined)
      return unread(request, refusal(403, 'The address is not one that was signed for this method.'));
    if (clock.now() >= grant.expiresAt) return unread(request, refusal(403, EXPIRED));
    return grant.method === 'PUT' ? this.answerPut(grant, request) : this.answerGet(grant, request);
  }

  /** Answers a verified GET or HEAD: all, a range, or nothing when the client has it already. */
  private async answerGet(grant: GetGrant, request: SignedObjectRequest): Promise<SignedObjectResponse> {
    const object = await this.parts.folder.open(grant.key);
    if (object === null) return refusal(404, 'There is no such object.');
    const response = describe(object, grant, request);
    // Every path that does not hand the file on must close it.
    if (response.body !== undefined && response.status < 300) return response;
    await object.close();
    return response;
  }

  /**
   * Answers a verified PUT: stores exactly the bytes that were signed for, or nothing. The expiry, and whether they are
   * still needed, are checked again once all bytes have arrived, so that no object appears after the target was closed.
   */
  private async answerPut(grant: PutGrant, request: SignedObjectRequest): Promise<SignedObjectResponse> {
    const refused = headerRefusal(grant, request.headers) ?? (await this.takenRefusal(grant));
    if (refused !== undefined) return unread(request, refused);
    let staged: StagedObject | 'too-large';
    try {
      staged = await this.parts.folder.stage(request.body, grant.byteSize);
    } catch (error) {
      // A disk failure is our fault; a client's disconnect is not.
      if (error instanceof StoreUnavailable) throw error;
      return refusal(400, 'The body ended before it was complete.', { Connection: 'close' });
    }
    if (staged === 'too-large')
      return refusal(400, `The body must have exactly ${grant.byteSize} bytes.`, { Connection: 'close' });
    let fault: SignedObjectResponse | undefined;
    try {
      fault = bodyRefusal(grant, staged, this.parts.clock.now()) ?? (await this.takenRefusal(grant));
    } catch (error) {
      await staged.discard();
      throw error;
    }
    if (fault !== undefined) {
      await staged.discard();
      return fault;
    }
    await staged.commit(grant.key);
    return answer(200, { 'ETag': `"${staged.sha256}"`, 'Content-Length': '0' });
  }

  private async takenRefusal({ key }: PutGrant): Promise<SignedObjectResponse | undefined> {
    return (await this.parts.takesBytes(key)) ? undefined : refusal(410, NO_LONGER_TAKEN);
  }
}

const METHODS = 'GET, HEAD, PUT, OPTIONS';

/** Refused as S3 does: a client that sends an API key to an address that others may share has made a mistake. */
const TWO_WAYS = 'A signed address accepts no Authorization header; send the request without it.';

/** The header that must carry the digest a PUT was signed for, in lower-case hex. */
export const DIGEST_HEADER = 'x-darkroom-sha256';

const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, HEAD, PUT',
  'Access-Control-Allow-Headers': `Content-Type, If-None-Match, If-Range, Range, ${DIGEST_HEADER}`,
  'Access-Control-Max-Age': '600',
} as const;

export type { SignedObjectRequest };

export interface SignedObjectResponse extends Response {
  /** Holds a file open until it is read to its end or left by `return()`. */
  readonly body?: AsyncIterable<Uint8Array>;
}

/**
 * On every answer. Any origin may use a signed address, as the signature authorises it, not a cookie; and no served
 * content may execute, whatever its bytes are.
 */
const ALWAYS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
} as const;

function answer(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body?: AsyncIterable<Uint8Array>,
): SignedObjectResponse {
  return { status, headers: { ...ALWAYS, ...headers }, ...(body === undefined ? {} : { body }) };
}

/** A refusal with one plain sentence. */
function refusal(
  status: number,
  sentence: string,
  headers: Readonly<Record<string, string>> = {},
): SignedObjectResponse {
  const bytes = new TextEncoder().encode(`${sentence}\n`);
  const described = {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(bytes.byteLength),
    ...headers,
  };
  return answer(
    status,
    described,
    (async function* once() {
      yield bytes;
    })(),
  );
}

function describe(object: StoredObject, grant: GetGrant, request: SignedObjectRequest): SignedObjectResponse {
  const etag = `"${object.etag}"`;
  const range = wantedPart(request, etag, object.byteSize);
  if (range.kind === 'unchanged') return answer(304, { ETag: etag });
  const headers = {
    'Content-Type': grant.mediaType,
    'Content-Disposition': inlineDisposition(grant.filename),
    'Accept-Ranges': 'bytes',
    'ETag': etag,
  };
  if (range.kind === 'unsatisfiable') {
    const size = { 'Content-Range': `bytes */${object.byteSize}`, 'Accept-Ranges': 'bytes', 'ETag': etag };
    return refusal(416, `The object has ${object.byteSize} bytes.`, size);
  }
  if (range.kind === 'part') {
    const part = {
      'Content-Length': String(range.to - range.from),
      'Content-Range': `bytes ${range.from}-${range.to - 1}/${object.byteSize}`,
    };
    return answer(206, { ...headers, ...part }, object.bytes(range.from, range.to));
  }
  const all = { ...headers, 'Content-Length': String(object.byteSize) };
  return request.method === 'HEAD' ? answer(200, all) : answer(200, all, object.bytes());
}

/**
 * A body that will not be stored is read so far before the connection is closed, so that a small client reads our
 * answer.
 */
const MAX_DRAINED_BYTES = 64 * 1024;

const EXPIRED = 'The signed address has expired.';
const NO_LONGER_TAKEN = 'The upload of this address is completed or removed; the address accepts no more bytes.';

/** Whether bytes sent to a key still have a use. Throws `StoreUnavailable`. */
export type TakesBytes = (key: string) => Promise<boolean>;

/** The refusal of a verified PUT for its headers, or undefined. */
function headerRefusal(grant: PutGrant, headers: SignedObjectRequest['headers']): SignedObjectResponse | undefined {
  const length = headers['content-length'];
  if (length === undefined) return refusal(411, `Send a Content-Length of ${grant.byteSize}.`);
  if (length !== String(grant.byteSize)) return refusal(400, `Content-Length must be ${grant.byteSize}.`);
  if (headers['content-type'] !== grant.mediaType) return refusal(400, `Content-Type must be ${grant.mediaType}.`);
  if (grant.sha256 !== undefined && headers[DIGEST_HEADER] !== grant.sha256)
    return refusal(400, `${DIGEST_HEADER} must be ${grant.sha256}.`);
  return undefined;
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

/**
 * Refuses after it has read a short body; a longer one costs the client its connection. The body's iterator is not
 * ended: a server's request stream would then destroy the socket, and the answer with it. A client that waits for 100
 * Continue is refused before it sends any.
 */
async function unread(request: SignedObjectRequest, refused: SignedObjectResponse): Promise<SignedObjectResponse> {
  if (request.headers['expect'] !== undefined) return refused;
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
