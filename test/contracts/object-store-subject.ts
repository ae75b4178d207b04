import type { ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import type { ContractSubject } from './subject.js';

export interface SentRequest extends Omit<SignedRequest, 'method'> {
  readonly method: string;
  readonly body?: Uint8Array;
}

export interface SentAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ObjectStoreSupports {
  /** Sends a signed request as a client would: by `sendByFetch`, or by hand where there is no HTTP. */
  readonly send: (store: ObjectStore, request: SentRequest) => Promise<SentAnswer>;
  /** The store's time, for expiries. */
  readonly now: () => number;
  /** Whether a key of another form than the port's is refused, not just never used. */
  readonly refusesInvalidKeys: boolean;
  /** Whether the address of a signed GET is protected as a whole, its media type and filename included. */
  readonly signsWholeAddress: boolean;
  /** Whether answers to a signed GET carry `nosniff`. S3 has no way to ask for it: some servers always send it. */
  readonly sendsNosniff: boolean;
  /**
   * Whether a segment may be as long as a key, and one key stand under another: a file system underneath may allow
   * neither.
   */
  readonly keepsEveryKey: boolean;
  /** Whether exactly one of many concurrent copies onto one key wins. Some servers look first and then copy. */
  readonly copiesOntoOneKeyOnce: boolean;
}

export type ObjectStoreSubject = ContractSubject<ObjectStore, ObjectStoreSupports>;

/** Sends a signed request over HTTP. */
export async function sendByFetch(_store: ObjectStore, request: SentRequest): Promise<SentAnswer> {
  const response = await fetch(request.url, {
    method: request.method,
    headers: request.headers,
    body: request.body === undefined ? null : Uint8Array.from(request.body),
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: new Uint8Array(await response.arrayBuffer()),
  };
}
