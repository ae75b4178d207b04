import type { SignedObjectRequest } from './signed-object-gate.js';

/** What a GET or HEAD of a stored file asks for: all of it, a part (`to` exclusive), a part that does not exist, or nothing new. */
export type WantedPart =
  | { readonly kind: 'all' | 'unsatisfiable' | 'unchanged' }
  | { readonly kind: 'part'; readonly from: number; readonly to: number };

type Conditions = Pick<SignedObjectRequest, 'method' | 'headers'>;

/** Reads If-None-Match, If-Range and Range (RFC 9110) for a file of `byteSize` bytes; `etag` has its quotation marks. */
export function wantedPart(request: Conditions, etag: string, byteSize: number): WantedPart {
  if (alreadyHas(request, etag)) return { kind: 'unchanged' };
  return readRange(wantedRange(request, etag), byteSize);
}

/** Whether the client's copy is the one we have: weak comparison, as RFC 9110 requires for If-None-Match. */
function alreadyHas(request: Conditions, etag: string): boolean {
  const held = header(request, 'if-none-match');
  return (
    held !== undefined && held.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
  );
}

/** A range counts on GET only, and not when If-Range names other bytes than ours. */
function wantedRange(request: Conditions, etag: string): string | undefined {
  const ifRange = header(request, 'if-range');
  return request.method === 'GET' && (ifRange === undefined || ifRange === etag) ? header(request, 'range') : undefined;
}

function header({ headers }: Conditions, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}

/** Reads one range of bytes. Several ranges, other units and nonsense are ignored, as a server may. */
function readRange(range: string | undefined, byteSize: number): WantedPart {
  const match = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(range ?? '');
  const [first, last] = [match?.[1] ?? '', match?.[2] ?? ''];
  if (first === '' && last === '') return { kind: 'all' };
  if (first === '') {
    const from = Math.max(0, byteSize - Number(last));
    return from < byteSize ? { kind: 'part', from, to: byteSize } : { kind: 'unsatisfiable' };
  }
  if (last !== '' && Number(last) < Number(first)) return { kind: 'all' };
  if (Number(first) >= byteSize) return { kind: 'unsatisfiable' };
  return { kind: 'part', from: Number(first), to: last === '' ? byteSize : Math.min(Number(last) + 1, byteSize) };
}
