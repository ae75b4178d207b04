export interface SignedRequest {
  readonly url: string;
  readonly method: 'PUT' | 'GET';
  /** Headers that must be sent with exactly these values; any other value is refused. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ObjectFacts {
  readonly byteSize: number;
  /** Changes whenever the bytes do. */
  readonly etag: string;
}

/**
 * Keeps bytes under keys. A key is one to 512 characters of [a-z0-9/._-], without empty, `.` or `..` segments. An
 * object becomes visible as a whole or not at all. Every method may throw `StoreUnavailable`.
 */
export interface ObjectStore {
  /**
   * Signs one PUT to `key`, valid until `expiresAt`. The signature covers the method, the key, Content-Type,
   * Content-Length and, when given, the SHA-256 (lower-case hex): bytes that differ are refused and not stored. May be
   * used again until it expires.
   */
  signPut(target: {
    readonly key: string;
    readonly mediaType: string;
    readonly byteSize: number;
    readonly sha256?: string;
    readonly expiresAt: number;
  }): Promise<SignedRequest>;

  /**
   * Signs one GET of `key`, valid until `expiresAt`. The answer carries `mediaType` and the disposition `inline` with
   * `filename`, and honours Range. It carries `nosniff` too, except from a store that cannot send it: then the proxy
   * in front of the store adds it.
   */
  signGet(target: {
    readonly key: string;
    readonly mediaType: string;
    readonly filename: string;
    readonly expiresAt: number;
  }): Promise<SignedRequest>;

  /** Size and etag, or null when there is no such object. */
  stat(key: string): Promise<ObjectFacts | null>;

  /** The bytes in order, from `from` (inclusive) to `to` (exclusive) when given; null when there is no such object. */
  read(key: string, range?: { readonly from: number; readonly to: number }): Promise<AsyncIterable<Uint8Array> | null>;

  /**
   * Stores the bytes, replacing the object that was there; durable on return. Beyond `maxBytes` it stores nothing and
   * returns `too-large`.
   */
  write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    limit: { readonly mediaType: string; readonly maxBytes: number },
  ): Promise<{ readonly byteSize: number; readonly sha256: string } | 'too-large'>;

  /**
   * Copies `from` to `to` if `from` still has that etag and there is no object at `to`; durable on return. The store
   * makes the copy; the bytes do not pass through this process.
   */
  copy(from: string, to: string, ifEtag: string): Promise<'copied' | 'changed' | 'missing' | 'exists'>;

  /** Removes the object; no error when there is none. */
  remove(key: string): Promise<void>;
}
