import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPrivately, DataFolderRefused } from './data-folder.js';
import { type Database, isBroken, openDatabase, SQLITE_BUSY, sqliteCode } from './database.js';

/**
 * Makes this process the only server on a data folder until it ends: an exclusive lock on a second, empty database,
 * which the operating system releases however the process ends.
 */
export class ServerLock {
  private isWhole = false;

  private constructor(
    private readonly database: Database,
    private readonly pidPath: string,
    private readonly bootPath: string,
    private readonly found: {
      /** The last server did not stop by itself: its process id is still there. */
      readonly wasCut: boolean;
      readonly mayHaveLostWrites: boolean;
    },
  ) {}

  /**
   * Whether the database may have lost writes: the last server did not stop by itself, and the machine was started since then,
   * or may have been; or the last check found damage. A killed process loses nothing that it has written to the system.
   */
  get mayHaveLostWrites(): boolean {
    return this.found.mayHaveLostWrites;
  }

  static take(folder: string): ServerLock {
    const path = join(folder, 'server.lock');
    // The process id is in a separate file: reading the locked file here would drop the lock.
    const pidPath = join(folder, 'server.pid');
    createPrivately(path);
    const database = openDatabase(path);
    try {
      database.exec(`PRAGMA busy_timeout = ${LOOK_MS}; BEGIN EXCLUSIVE`);
    } catch (error) {
      database.close();
      if (sqliteCode(error) !== SQLITE_BUSY) {
        const remedy = isBroken(error)
          ? '; move it away and start again'
          : ` (${error instanceof Error ? error.message : String(error)})`;
        throw new DataFolderRefused(`The lock file ${path} cannot be used${remedy}.`, error);
      }
      const pid = readIfThere(pidPath);
      // The process of a container is number 1 in it, which identifies nothing outside.
      const other = pid === '' || pid === '1' ? 'Another server' : `Another server (process ${pid})`;
      throw new DataFolderRefused(`${other} is using ${folder}; stop it first, or choose another data folder.`);
    }
    try {
      const bootPath = join(folder, 'server.boot');
      const [wasCut, servedIn] = [existsSync(pidPath), readIfThere(bootPath)];
      writePrivately(pidPath, `${process.pid}`);
      const hasSameBoot = servedIn !== '' && servedIn === machineBoot();
      return new ServerLock(database, pidPath, bootPath, {
        wasCut,
        mayHaveLostWrites: servedIn === DAMAGED || (wasCut && !hasSameBoot),
      });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Whether a server uses the folder now. */
  static isTaken(folder: string): boolean {
    const path = join(folder, 'server.lock');
    if (!existsSync(path)) return false;
    let database: Database | undefined;
    try {
      database = openDatabase(path, { readOnly: true });
      database.exec('PRAGMA busy_timeout = 0; SELECT name FROM sqlite_master');
      return false;
    } catch (error) {
      return sqliteCode(error) === SQLITE_BUSY;
    } finally {
      database?.close();
    }
  }

  /** Notes that the database was checked and is whole. */
  noteWhole(): void {
    writePrivately(this.bootPath, machineBoot());
    this.isWhole = true;
  }

  /** Makes the next server check the database before it uses it. */
  noteDamaged(): void {
    writePrivately(this.bootPath, DAMAGED);
  }

  /** The process id goes first, while no other server can have written its own. */
  release(): void {
    try {
      rmSync(this.pidPath, { force: true });
    } finally {
      this.database.close();
    }
  }

  /** Lets the folder go after a start that failed. Until a check has passed, the next start has to find that a server was cut off. */
  abandon(): void {
    if (this.found.wasCut && !this.isWhole) this.database.close();
    else this.release();
  }

  /** Holds the lock until the process ends, for work that continues after the stores are closed. */
  keep(): void {
    KEPT.push(this);
  }
}

/** How long a start waits for the lock, in milliseconds: `isTaken` reads the file, which takes far less. */
const LOOK_MS = 100;

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
