/** What a wake-up is about: work of one kind, by its id. The kinds are core's; an adapter takes any. */
export interface WakeUpSubject {
  /** 1 to 32 lower-case letters and dashes. */
  readonly kind: string;
  /** Without a colon; not empty. */
  readonly id: string;
}

/**
 * Scheduled calls: "look at this subject at time T". Delivery is at least once, in no promised order, possibly late and
 * possibly twice at the same time in two processes. Recovery makes up for a lost one, but a store-backed adapter keeps
 * them over a restart.
 */
export interface WakeUps {
  /** Replaces any wake-up of this subject. Durable on return. A process that also works may deliver at once. */
  schedule(subject: WakeUpSubject, at: number): Promise<void>;

  /**
   * Starts delivering. A wake-up is done when `handler` resolves, and is delivered again later when it rejects or the
   * process dies before. At most `limit` handlers are under way at once.
   */
  start(handler: (subject: WakeUpSubject) => Promise<void>, limit: number): Promise<void>;

  /** Stops delivering and waits for handlers under way. Undelivered wake-ups stay. */
  stop(): Promise<void>;
}
