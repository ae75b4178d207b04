import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderRefused } from './data-folder-refused.js';
import { createPrivately } from './data-folder.js';
import { isBroken, openDatabase, SQLITE_BUSY, sqliteCode, type Database } from './driver.js';

/**
 * Makes this process the only server on a data folder until it ends: an exclusive lock on a second, empty database,
 * which the operating system releases however the process ends.
 */
export class ServerLock {
  private constructor(
    private readonly database: Database,
    private readonly pidPath: string,
  ) {}

  static take(folder: string): ServerLock {
    const path = join(folder, 'server.lock');
    // The process id is in a separate file: reading the locked file here would drop the lock.
    const pidPath = join(folder, 'server.pid');
    createPrivately(path);
    createPrivately(pidPath);
    const database = openDatabase(path);
    try {
      database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
    } catch (error) {
      database.close();
      if (sqliteCode(error) !== SQLITE_BUSY) {
        const remedy = isBroken(error)
          ? '; move it away and start again'
          : ` (${error instanceof Error ? error.message : String(error)})`;
        throw new DataFolderRefused(`The lock file ${path} cannot be used${remedy}.`, error);
      }
      const pid = existsSync(pidPath) ? readFileSync(pidPath, 'utf8').trim() : '';
      const other = pid === '' ? 'Another server' : `Another server (process ${pid})`;
      throw new DataFolderRefused(`${other} is using ${folder}; stop it first, or choose another data folder.`);
    }
    writeFileSync(pidPath, `${process.pid}\n`);
    return new ServerLock(database, pidPath);
  }

  /** The process id goes first, while no other server can have written its own. */
  release(): void {
    rmSync(this.pidPath, { force: true });
    this.database.close();
  }

  /** Holds the lock until the process ends, for work that continues after the stores are closed. */
  keep(): void {
    KEPT.push(this);
  }
}

/** A connection that nothing refers to may be closed at any time, and its lock would go with it. */
const KEPT: ServerLock[] = [];
