import { createHmac, timingSafeEqual } from 'node:crypto';
import { assertMediaType, assertObjectKey, isObjectKey } from '../../core/object-keys.js';
import type { ObjectStore } from '../../core/ports/object-store.js';

const MIN_SECRET_BYTES = 32;
const PATH_PREFIX = '/objects/';
const SIGNED_PARAMETERS = ['expires', 'type', 'length', 'sha256', 'filename'] as const;

type Target<Method extends 'signPut' | 'signGet'> = Readonly<Parameters<ObjectStore[Method]>[0]>;

export type PutGrant = { readonly method: 'PUT' } & Target<'signPut'>;
export type GetGrant = { readonly method: 'GET' } & Target<'signGet'>;
export type Grant = PutGrant | GetGrant;

/**
 * Signs addresses with HMAC-SHA256 over the method, the key and every parameter. A JSON array of strings keeps the
 * parts apart, and its first element keeps these signatures apart from any other use of the secret.
 */
export class UrlSigner {
  readonly #secret: Uint8Array;
  readonly #publicBaseUrl: () => string;

  /**
   * `secret` has at least 32 bytes; `publicBaseUrl` returns the address at which clients reach the gate, with or
   * without a path, and is called at every signing, as a server may learn its port after it opened the store.
   */
  constructor(options: { readonly secret: Uint8Array; readonly publicBaseUrl: () => string }) {
    if (options.secret.byteLength < MIN_SECRET_BYTES) {
      throw new RangeError(`The secret of signed addresses must have at least ${MIN_SECRET_BYTES} bytes.`);
    }
    this.#secret = Uint8Array.from(options.secret);
    this.#publicBaseUrl = options.publicBaseUrl;
  }

  sign(grant: Grant): string {
    assertObjectKey(grant.key);
    assertMediaType(grant.mediaType);
    if (!Number.isSafeInteger(grant.expiresAt))
      throw new RangeError('An expiry is whole milliseconds since the epoch.');
    const query = new URLSearchParams({ expires: String(grant.expiresAt), type: grant.mediaType });
    if (grant.method === 'GET') query.set('filename', grant.filename);
    else {
      query.set('length', String(grant.byteSize));
      if (grant.sha256 !== undefined) query.set('sha256', grant.sha256);
    }
    // Read back from the query, which has replaced what cannot be encoded.
    query.set('signature', this.#signature(grant.method, grant.key, query));
    return `${this.#publicBaseUrl().replace(/\/+$/, '')}${PATH_PREFIX}${grant.key}?${query.toString()}`;
  }

  /** The grant of this address for this method; undefined when we never signed it. It may have expired. */
  verify(method: 'PUT' | 'GET', path: string, query: URLSearchParams): Grant | undefined {
    const key = path.startsWith(PATH_PREFIX) ? path.slice(PATH_PREFIX.length) : '';
    const known: readonly string[] = [...SIGNED_PARAMETERS, 'signature'];
    const names = [...query.keys()];
    if (!isObjectKey(key) || new Set(names).size !== names.length || names.some((name) => !known.includes(name)))
      return undefined;
    const expected = Buffer.from(this.#signature(method, key, query));
    const given = Buffer.from(query.get('signature') ?? '');
    if (given.byteLength !== expected.byteLength || !timingSafeEqual(given, expected)) return undefined;
    return grantOf(method, key, query);
  }

  #signature(method: string, key: string, query: URLSearchParams): string {
    const parts = ['darkroom-object-1', method, key, ...SIGNED_PARAMETERS.map((name) => query.get(name))];
    return createHmac('sha256', this.#secret).update(JSON.stringify(parts)).digest('hex');
  }
}

/** The grant a verified query spells out. */
function grantOf(method: 'PUT' | 'GET', key: string, query: URLSearchParams): Grant {
  const shared = { key, mediaType: query.get('type')!, expiresAt: Number(query.get('expires')) };
  if (method === 'GET') return { method, ...shared, filename: query.get('filename') ?? '' };
  const sha256 = query.get('sha256');
  return { method, ...shared, byteSize: Number(query.get('length')), ...(sha256 === null ? {} : { sha256 }) };
}
