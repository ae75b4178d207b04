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
    private readonly bootPath: string,
    /**
     * Whether the database may have lost writes: the last server did not stop by itself, and the machine was started since then,
     * or may have been; or the last check found damage. A killed process loses nothing that it has written to the system.
     */
    readonly mayHaveLostWrites: boolean,
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
      const pid = readIfThere(pidPath);
      const other = pid === '' ? 'Another server' : `Another server (process ${pid})`;
      throw new DataFolderRefused(`${other} is using ${folder}; stop it first, or choose another data folder.`);
    }
    const bootPath = join(folder, 'server.boot');
    const [wasCut, servedIn] = [readIfThere(pidPath) !== '', readIfThere(bootPath)];
    writeFileSync(pidPath, `${process.pid}\n`);
    const hasSameBoot = servedIn !== '' && servedIn === machineBoot();
    return new ServerLock(database, pidPath, bootPath, servedIn === DAMAGED || (wasCut && !hasSameBoot));
  }

  /** Notes that the database was checked and is whole. */
  noteWhole(): void {
    writePrivately(this.bootPath, machineBoot());
  }

  /** Has the next server check the database before it uses it. */
  noteDamaged(): void {
    writePrivately(this.bootPath, DAMAGED);
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

const DAMAGED = 'damaged';

/** Linux's id of this start of the machine; empty on other systems. */
function machineBoot(): string {
  return readIfThere('/proc/sys/kernel/random/boot_id');
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}

function writePrivately(path: string, text: string): void {
  createPrivately(path);
  writeFileSync(path, `${text}\n`);
}

/** A connection that nothing refers to may be closed at any time, and its lock would go with it. */
const KEPT: ServerLock[] = [];
