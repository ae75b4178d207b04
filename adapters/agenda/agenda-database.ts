import type { Db } from 'mongodb';

/** The database of the wake-ups, and the function that calls it. */
export interface AgendaDatabase {
  /** Its writes are to be acknowledged by a majority and journalled: they are made as the database says. */
  readonly db: Db;
  /**
   * One operation, with a bound on its wait. Throws `StoreUnavailable` if the server was unavailable or the time is
   * over: the operation may then have happened, or may still happen. A server's report of a programming error is passed
   * on unchanged.
   */
  ask<T>(operation: () => Promise<T>): Promise<T>;
}
