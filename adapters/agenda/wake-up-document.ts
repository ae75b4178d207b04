/** Where wake-ups are kept. One document a subject, so that a schedule replaces the one before. */
export const COLLECTION = 'agenda_wake_ups';

/**
 * The one name of Agenda's jobs here: Agenda queries for each name separately, so more names would mean more queries.
 */
export const JOB_NAME = 'wake-up';

/**
 * A wake-up as Agenda's job. A process that takes it for long postpones `nextRunAt` instead of setting a separate lock: the
 * job then comes due again by itself when that process dies, and one index finds both due and dropped jobs. One that is
 * done at once is removed when it is taken.
 */
export interface WakeUpDocument {
  readonly name: string;
  readonly type: 'normal';
  readonly priority: number;
  /** When the next process may take it. */
  readonly nextRunAt: Date;
  /** How often in a row a handler rejected it. */
  readonly failCount: number;
  readonly data: {
    /**
     * The key of the subject. For generations it is their id, which releases before this one know alone; hence the
     * name.
     */
    readonly generationId: string;
    /**
     * Replaced whenever the wake-up is scheduled, taken or given back: only a process that knows the stamp may keep
     * this wake-up, end it or give it back.
     */
    readonly stamp: string;
  };
}

/** A wake-up that this process has taken and has not ended yet. */
export interface HeldWakeUp {
  /** Of its subject. */
  readonly key: string;
  readonly stamp: string;
  readonly failCount: number;
  /** Whether there is a document with this stamp. One that is done at once needs none while it is held. */
  readonly isStored: 'yes' | 'no' | 'perhaps';
}
