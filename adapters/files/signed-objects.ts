import { StoreUnavailable } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import type { ObjectFolder } from './object-folder.js';
import { answer, refusal } from './signed-answers.js';
import type { SignedObjectRequest, SignedObjectResponse } from './signed-answers.js';
import { answerGet } from './signed-get.js';
import { answerPut, DIGEST_HEADER, EXPIRED, unread, type TakesBytes } from './signed-put.js';
import type { UrlSigner } from './url-signer.js';

const METHODS = 'GET, HEAD, PUT, OPTIONS';

/** Refused as S3 does: a client that sends an API key to an address that others may share has made a mistake. */
const TWO_WAYS = 'A signed address accepts no Authorization header; send the request without it.';

const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, HEAD, PUT',
  'Access-Control-Allow-Headers': `Content-Type, If-None-Match, If-Range, Range, ${DIGEST_HEADER}`,
  'Access-Control-Max-Age': '600',
} as const;

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
    const { folder, signer, clock, takesBytes } = this.parts;
    if (request.method === 'OPTIONS') return answer(204, { ...PREFLIGHT, Allow: METHODS });
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (method !== 'GET' && method !== 'PUT')
      return unread(request, refusal(405, `Use one of ${METHODS}.`, { Allow: METHODS }));
    if (request.headers['authorization'] !== undefined) return unread(request, refusal(400, TWO_WAYS));
    const grant = signer.verify(method, request.path, request.query);
    if (grant === undefined)
      return unread(request, refusal(403, 'The address is not one that was signed for this method.'));
    if (clock.now() >= grant.expiresAt) return unread(request, refusal(403, EXPIRED));
    return grant.method === 'PUT'
      ? answerPut(folder, clock, takesBytes, grant, request)
      : answerGet(folder, grant, request);
  }
}
