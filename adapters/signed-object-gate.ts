/** One request to a signed address, as an object store's own gate takes it. */
export interface SignedObjectRequest {
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface SignedObjectResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array> | Uint8Array;
}

/** Serves `/objects/…` if the object store has no server itself. Must not throw because of what a client sent. */
export interface SignedObjectGate {
  handle(request: SignedObjectRequest): Promise<SignedObjectResponse>;
}
