import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase, SQLITE_BUSY, sqliteCode } from '../../adapters/sqlite/database.js';

const POLL_MS = 100;

/**
 * An exclusive lock among the processes of a machine, which the operating system releases however its holder ends.
 */
export class MachineLock {
  private constructor(private readonly database: Database) {}

  /** Takes the lock that this file represents; returns null if another process holds it. The folder must exist. */
  static tryTake(path: string): MachineLock | null {
    const database = openDatabase(path);
    try {
      database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
      return new MachineLock(database);
    } catch (error) {
      database.close();
      if (sqliteCode(error) === SQLITE_BUSY) return null;
      throw error;
    }
  }

  /** Waits until it has the lock, at most this long; null after that. */
  static async take(path: string, waitMs: number): Promise<MachineLock | null> {
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      const lock = MachineLock.tryTake(path);
      if (lock || waitedMs >= waitMs) return lock;
      await sleep(POLL_MS);
    }
  }

  release(): void {
    this.database.close();
  }
}
