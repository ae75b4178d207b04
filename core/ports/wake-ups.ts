import type { WakeUpSubject } from '../ids.js';

export type { WakeUpSubject };

/**
 * Scheduled calls: "look at this subject at time T". Delivery is at least once, in no particular order, possibly late
 * and possibly in two processes at the same time. Recovery finds work whose wake-up was lost; an adapter with a store
 * keeps them across restarts all the same.
 */
export interface WakeUps {
  /** Replaces any wake-up of this subject. Durable on return. A process that also works may deliver at once. */
  schedule(subject: WakeUpSubject, at: number): Promise<void>;

  /**
   * Starts delivering. A wake-up is done when `handler` resolves. It is delivered again later when the handler rejects
   * or the process dies first; but a process may lose those it has taken in the last second when it dies, or is cut off
   * from its store. At most `limit` handlers run at once.
   */
  start(handler: (subject: WakeUpSubject) => Promise<void>, limit: number): Promise<void>;

  /** Stops delivering and waits for running handlers. Undelivered wake-ups stay. */
  stop(): Promise<void>;
}
