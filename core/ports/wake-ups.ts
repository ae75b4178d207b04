/**
 * Scheduled calls: "look at generation X at time T". Delivery is at least once, in no promised order, possibly late and
 * possibly twice at the same time in two processes. Losing one is survived by recovery, but a store-backed adapter keeps
 * them over a restart.
 */
export interface WakeUps {
  /** Replaces any wake-up of this generation. Durable on return. A process that also works may deliver at once. */
  schedule(generationId: string, at: number): Promise<void>;

  /**
   * Starts delivering. A wake-up is done when `handler` resolves, and is delivered again later when it rejects or the
   * process dies before. At most `limit` handlers are under way at once.
   */
  start(handler: (generationId: string) => Promise<void>, limit: number): Promise<void>;

  /** Stops delivering and waits for handlers under way. Undelivered wake-ups stay. */
  stop(): Promise<void>;
}
