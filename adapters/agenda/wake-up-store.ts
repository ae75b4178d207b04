import type { Clock } from '../../core/ports/machine.js';

/** A wake-up that this process has taken and has not ended yet. */
export interface HeldWakeUp {
  /** The key of its subject. */
  readonly key: string;
  readonly stamp: string;
  readonly failCount: number;
  /** Whether there is a record with this stamp. One that is done at once needs none while it is held. */
  readonly isStored: 'yes' | 'no' | 'perhaps';
}

/**
 * The wake-ups of a database, one record a subject, so that a schedule replaces the one before. A process that takes one
 * for long postpones its time instead of setting a separate lock: it then comes due again by itself when that process
 * dies, and one index finds both due and dropped ones. The stamp of a record is replaced whenever the wake-up is
 * scheduled, taken or released: only a process that knows the stamp may keep this wake-up, end it or release it. Every
 * method throws `StoreUnavailable` when there is no answer in time; a write may then have happened, or may still happen.
 */
export interface WakeUpStore {
  /** Replaces the subject's wake-up, and returns its stamp. Durable on return. */
  put(key: string, at: number): Promise<string>;
  /** Replaces the subject's wake-up by one that this process holds already. Durable on return. */
  putHeld(key: string): Promise<HeldWakeUp>;
  /**
   * Takes some of the wake-ups that have been due longest, of those due by `at`, and at least one unless others take them
   * at this moment; at most `most`, which is at least 1. No other process gets them while they are held. `stays`: the
   * records stay until the wake-ups are ended; otherwise they may be removed by this.
   */
  take(at: number, stays: boolean, most: number): Promise<readonly HeldWakeUp[]>;
  /**
   * Stores a wake-up that was taken away, as held by this process, unless its subject was scheduled again; returns
   * whether it did.
   */
  store(wakeUp: HeldWakeUp): Promise<boolean>;
  /** When the first wake-up comes due, or came due; or, if it is being taken at this moment, when to look again. */
  firstAt(): Promise<number | undefined>;
  /** Removes the wake-up, unless it was scheduled again or our hold on it has lapsed. */
  end(wakeUp: HeldWakeUp): Promise<void>;
  /**
   * Gives the wake-up back, to be taken at `at`. A `keep` of it that is still in progress finds another stamp, and
   * changes nothing.
   */
  putBack(wakeUp: HeldWakeUp, at: number, failCount: number): Promise<void>;
  /** Gives the wake-up back, to be taken by another process now. */
  handOver(wakeUp: HeldWakeUp): Promise<void>;
  /** Extends the hold on wake-ups, at most 1,000, that were not scheduled again. */
  keep(held: readonly HeldWakeUp[]): Promise<void>;
}

/** How a process learns of wake-ups that others have scheduled. */
export interface Announcements {
  /** Polls only find what was not announced: they may be less frequent by this factor while this is open. */
  readonly pollFactor: number;
  /** Begins to listen; never throws. The caller closes it, also after it was lost. */
  listen(listener: AnnouncementListener): { close(): void };
  /** The longest pause before listening again, in milliseconds. The first pause is a second; each one is twice as long as the last, until an announcement arrives. */
  readonly longestPauseMs: number;
}

export interface AnnouncementListener {
  /** A wake-up comes due then. */
  readonly heard: (at: number) => void;
  /** Further announcements are not received. */
  readonly lost: (error: unknown) => void;
}

/** `auto` is the best that the database has. */
export type WokenBy = 'auto' | 'change-streams' | 'notifications' | 'polling';

export interface WakeUpStoreOptions {
  readonly clock: Clock;
  /** How long after a process has died its wake-ups come due again. */
  readonly holdMs: number;
  readonly wokenBy: WokenBy;
}

export interface OpenWakeUpStore {
  readonly store: WakeUpStore;
  /** Absent where the database is only polled. */
  readonly announcements?: Announcements;
}

/** A database in which wake-ups can be kept. Each method throws `StoreUnavailable`. */
export interface WakeUpDatabase {
  /** The name of the database, for messages. */
  readonly name: string;
  /**
   * Creates what is missing, and returns a line for each thing it did. Any number of processes may do so at the same
   * time. Throws `AgendaRefused` when something conflicts with it.
   */
  migrate(): Promise<readonly string[]>;
  /** Names each thing that `migrate` has yet to make; empty when the database is ready. Throws as it does. */
  missing(): Promise<readonly string[]>;
  /** Throws `AgendaRefused` if the database cannot announce wake-ups in the way that is asked for. */
  open(options: WakeUpStoreOptions): Promise<OpenWakeUpStore>;
}

/**
 * The one name of Agenda's jobs here: Agenda queries for each name separately, so more names would mean more queries.
 */
export const JOB_NAME = 'wake-up';

/** The database cannot store wake-ups as it is; the message tells the operator why, and what to do. */
export class AgendaRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'AgendaRefused';
  }
}
