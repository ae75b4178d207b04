/** `create-compatible`: a create of the OpenAI-compatible API, whose keys are its own. */
export type ClaimedOperation = 'create' | 'create-compatible' | 'prepare' | 'complete';

/** The scope of a key: the same text sent by another App, or for another operation, is another key. */
export interface ClaimKey {
  readonly accountId: string;
  readonly appId: string;
  readonly operation: ClaimedOperation;
  readonly key: string;
}

/** A key's record of the request that first used it. */
export interface Claim extends ClaimKey {
  /**
   * Starts anywhere, 0 to 2^48 - 1, so that two claims of one key do not share one; grows by one when the claim is
   * taken over.
   */
  readonly version: number;
  /** Digest of the request's canonical JSON. */
  readonly digest: string;
  /** The id of its effect: a generation id, or an upload id. */
  readonly subjectId: string;
  readonly createdAt: number;
  /** Until then only the process that took the claim may act on it. 0 once it has reported success. */
  readonly leaseExpiresAt: number;
  /** Boot id of the process that took the claim; absent in records of earlier releases. */
  readonly bootId?: string;
  /** When the record itself is removed, and the key with it. */
  readonly removeAt: number;
}
