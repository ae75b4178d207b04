import { inlineDisposition } from '../../core/objects/content-disposition.js';
import { readRange } from './byte-range.js';
import type { ObjectFolder } from './object-folder.js';
import { answer, refusal } from './signed-answers.js';
import type { SignedObjectRequest, SignedObjectResponse } from './signed-answers.js';
import type { StoredObject } from './stored-object.js';
import type { GetGrant } from './url-signer.js';

function header(request: SignedObjectRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}

/** Whether the client's copy is the one we have: weak comparison, as RFC 9110 requires for If-None-Match. */
function alreadyHas(request: SignedObjectRequest, etag: string): boolean {
  const held = header(request, 'if-none-match');
  return (
    held !== undefined && held.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
  );
}

/** A range counts on GET only, and not when If-Range names other bytes than ours. */
function wantedRange(request: SignedObjectRequest, etag: string): string | undefined {
  const ifRange = header(request, 'if-range');
  return request.method === 'GET' && (ifRange === undefined || ifRange === etag) ? header(request, 'range') : undefined;
}

/** Answers a verified GET or HEAD: all, a range, or nothing when the client has it already. */
export async function answerGet(
  folder: ObjectFolder,
  grant: GetGrant,
  request: SignedObjectRequest,
): Promise<SignedObjectResponse> {
  const object = await folder.open(grant.key);
  if (object === null) return refusal(404, 'There is no such object.');
  const response = describe(object, grant, request);
  // Every path that does not hand the file on must close it.
  if (response.body !== undefined && response.status < 300) return response;
  await object.close();
  return response;
}

function describe(object: StoredObject, grant: GetGrant, request: SignedObjectRequest): SignedObjectResponse {
  const etag = `"${object.etag}"`;
  if (alreadyHas(request, etag)) return answer(304, { ETag: etag });
  const headers = {
    'Content-Type': grant.mediaType,
    'Content-Disposition': inlineDisposition(grant.filename),
    'Accept-Ranges': 'bytes',
    'ETag': etag,
  };
  const range = readRange(wantedRange(request, etag), object.byteSize);
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
