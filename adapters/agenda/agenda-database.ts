import type { Db } from 'mongodb';

/** The database that wake-ups are kept in, and how it is asked. */
export interface AgendaDatabase {
  /** Its writes are to be acknowledged by a majority and journalled: they are made as the database says. */
  readonly db: Db;
  /**
   * One operation, with a bound on its wait. Throws `StoreUnavailable` when it failed for want of the server or its
   * time is over, in which case it may have happened, or may yet; and what the server says of a mistake as it is.
   */
  ask<T>(operation: () => Promise<T>): Promise<T>;
}
