import { createHash } from 'node:crypto';
import type { Clock } from '../../../core/ports/machine.js';
import type { ObjectFacts, ObjectStore, SignedRequest } from '../../../core/ports/object-store.js';

interface StoredObject extends ObjectFacts {
  readonly bytes: Uint8Array;
}

export interface ObjectRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface ObjectResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * Objects in this process's memory; gone when the process ends. Signed requests carry `memory://` addresses that only
 * `handle` understands: it does for a client what an HTTP server in front of a store would do.
 */
export class MemoryObjectStore implements ObjectStore {
  private readonly objects = new Map<string, StoredObject>();
  private readonly grants: MemoryGrants;
  private writes = 0;

  constructor({ clock }: { readonly clock: Clock }) {
    this.grants = new MemoryGrants(clock);
  }

  async signPut(target: PutTarget): Promise<SignedRequest> {
    return this.grants.put(target);
  }

  async signGet(target: GetTarget): Promise<SignedRequest> {
    return this.grants.get(target);
  }

  async stat(key: string): Promise<ObjectFacts | null> {
    const found = this.objects.get(key);
    return found === undefined ? null : { byteSize: found.byteSize, etag: found.etag };
  }

  async read(
    key: string,
    range?: { readonly from: number; readonly to: number },
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const found = this.objects.get(key);
    return found === undefined ? null : once(found.bytes.slice(range?.from, range?.to));
  }

  async write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    limit: { readonly mediaType: string; readonly maxBytes: number },
  ): Promise<{ readonly byteSize: number; readonly sha256: string } | 'too-large'> {
    const chunks: Uint8Array[] = [];
    let byteSize = 0;
    for await (const chunk of bytes) {
      byteSize += chunk.byteLength;
      if (byteSize > limit.maxBytes) return 'too-large';
      chunks.push(chunk.slice());
    }
    const whole = Buffer.concat(chunks);
    this.keep(key, whole);
    return { byteSize, sha256: sha256Of(whole) };
  }

  async copy(from: string, to: string, ifEtag: string): Promise<'copied' | 'changed' | 'missing' | 'exists'> {
    const source = this.objects.get(from);
    if (source === undefined) return 'missing';
    if (source.etag !== ifEtag) return 'changed';
    if (this.objects.has(to)) return 'exists';
    this.keep(to, source.bytes);
    return 'copied';
  }

  async remove(key: string): Promise<void> {
    this.objects.delete(key);
  }

  /**
   * Answers a client's signed request: 200, or 206 for a range; 400, 403 or 404 when it is refused, storing nothing.
   */
  handle(request: ObjectRequest): ObjectResponse {
    const grant = this.grants.find(request.url);
    if (grant === undefined || grant.method !== request.method) return refusal(403);
    return grant.method === 'PUT' ? this.handlePut(request, grant) : this.handleGet(request, grant.target);
  }

  private handlePut(
    request: ObjectRequest,
    { target, headers }: Extract<Grant, { readonly method: 'PUT' }>,
  ): ObjectResponse {
    const sent = lowerCased(request.headers);
    const body = request.body ?? new Uint8Array();
    // A client that sends the bytes whole may leave their count to its HTTP library.
    const signed = Object.entries(lowerCased(headers)).filter(
      ([name]) => name !== 'content-length' || sent[name] !== undefined,
    );
    if (signed.some(([name, value]) => sent[name] !== value)) return refusal(403);
    if (body.byteLength !== target.byteSize) return refusal(400);
    if (target.sha256 !== undefined && sha256Of(body) !== target.sha256) return refusal(400);
    this.keep(target.key, body.slice());
    return { status: 200, headers: {}, body: new Uint8Array() };
  }

  private handleGet(request: ObjectRequest, target: GetTarget): ObjectResponse {
    const found = this.objects.get(target.key);
    if (found === undefined) return refusal(404);
    const headers = {
      'content-type': target.mediaType,
      'content-disposition': `inline; filename="${target.filename}"`,
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    };
    const range = /^bytes=(\d+)-(\d*)$/.exec(lowerCased(request.headers)['range'] ?? '');
    if (range === null) return { status: 200, headers, body: found.bytes.slice() };
    const from = Number(range[1]);
    const last = Math.min(range[2] === '' ? Infinity : Number(range[2]), found.byteSize - 1);
    if (from > last)
      return { status: 416, headers: { 'content-range': `bytes */${found.byteSize}` }, body: new Uint8Array() };
    const contentRange = `bytes ${from}-${last}/${found.byteSize}`;
    return {
      status: 206,
      headers: { ...headers, 'content-range': contentRange },
      body: found.bytes.slice(from, last + 1),
    };
  }

  private keep(key: string, bytes: Uint8Array): void {
    this.writes += 1;
    this.objects.set(key, { bytes, byteSize: bytes.byteLength, etag: `${this.writes}` });
  }
}

type PutTarget = Parameters<ObjectStore['signPut']>[0];
type GetTarget = Parameters<ObjectStore['signGet']>[0];

type Grant =
  | { readonly method: 'PUT'; readonly target: PutTarget; readonly headers: Readonly<Record<string, string>> }
  | { readonly method: 'GET'; readonly target: GetTarget; readonly headers: Readonly<Record<string, string>> };

/**
 * Signed requests by URL. Within one process no signature is needed: a URL that was not handed out is unknown. Expired
 * grants are dropped when new ones are made.
 */
class MemoryGrants {
  private readonly grants = new Map<string, Grant>();
  private granted = 0;

  constructor(private readonly clock: Clock) {}

  put(target: PutTarget): SignedRequest {
    const headers = {
      'Content-Type': target.mediaType,
      'Content-Length': String(target.byteSize),
      ...(target.sha256 === undefined
        ? {}
        : { 'x-amz-checksum-sha256': Buffer.from(target.sha256, 'hex').toString('base64') }),
    };
    return this.grant({ method: 'PUT', target: { ...target }, headers });
  }

  get(target: GetTarget): SignedRequest {
    return this.grant({ method: 'GET', target: { ...target }, headers: {} });
  }

  /** The grant at this address while it is valid. */
  find(url: string): Grant | undefined {
    const grant = this.grants.get(url);
    return grant !== undefined && this.clock.now() < grant.target.expiresAt ? grant : undefined;
  }

  private grant(grant: Grant): SignedRequest {
    for (const [url, { target }] of this.grants) {
      if (target.expiresAt > this.clock.now()) break;
      this.grants.delete(url);
    }
    this.granted += 1;
    const url = `memory://objects/${grant.target.key}?grant=${this.granted}`;
    this.grants.set(url, grant);
    return { url, method: grant.method, headers: { ...grant.headers } };
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.byteLength > 0) yield bytes;
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function refusal(status: number): ObjectResponse {
  return { status, headers: {}, body: new Uint8Array() };
}
