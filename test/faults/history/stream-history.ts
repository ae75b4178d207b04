import type { JsonObject } from '../../../core/json.js';

/** An event as it came to a client. Times are milliseconds of the clock of clients. */
export interface StreamedEvent {
  readonly at: number;
  readonly id: string;
  readonly type: string;
  readonly task: JsonObject;
}

/** One connection on which a client followed events, however it ended. */
export interface SeenStream {
  /** Who followed: the connections of one follower are one after another. */
  readonly follower: string;
  /** A party. */
  readonly by: string;
  readonly through: string;
  /** The one generation that is followed; all of the App when absent. */
  readonly generationId?: string;
  /** When the first bytes of the stream had come. */
  readonly openedAt: number;
  /** The id of the event that it was resumed behind. */
  readonly after?: string;
  readonly events: readonly StreamedEvent[];
}
