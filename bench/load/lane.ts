/** Sends one request and waits for its answer. Rejects when that is not the right one. */
export type Lane = () => Promise<LaneAnswer>;

export interface LaneAnswer {
  /** As whom it was asked. */
  readonly credential: string;
  /** JSON; over gRPC the message in base64. */
  readonly body: string;
  /** Of an answer to a create. */
  readonly generationId: () => string;
}
