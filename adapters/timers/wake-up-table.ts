export interface ScheduledWakeUp {
  /** Of its subject. */
  readonly key: string;
  readonly at: number;
}

/** Where scheduled wake-ups are kept over a restart, one a subject. Any store of such a shape will do. */
export interface WakeUpTable {
  /**
   * Sets the time of a subject's wake-up. Durable on return. Writes of one process apply in the order they were made.
   */
  upsert(key: string, at: number): Promise<void>;

  /** Wake-ups at or before `now`, earliest first; at most `limit`, 1 to 1,000. */
  due(now: number, limit: number): readonly ScheduledWakeUp[] | Promise<readonly ScheduledWakeUp[]>;

  /** Removes the wake-up, unless its time has changed. */
  done(key: string, at: number): Promise<void>;

  /** The time of the first wake-up after `now`. */
  nextAt(now: number): number | undefined | Promise<number | undefined>;
}
