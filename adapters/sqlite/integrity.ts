import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createPrivately, DataFolderRefused } from './data-folder.js';
import { type Database, isUnreadable, openDatabase } from './database.js';

/** A file up to this size is checked in less time than a process takes to start. */
export const SMALL_BYTES = 64 * 1024 * 1024;

/** The fault of the file's structure, in SQLite's words; undefined when it is whole. Reads all of it. */
function integrityFault(database: Database): string | undefined {
  const found = String(database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']);
  return found === 'ok' ? undefined : found.replaceAll(/\s+/g, ' ');
}

export function damagedFile(path: string, fault: string): string {
  return `${path} is damaged (${fault}); restore it from a backup.`;
}

/** Throws `DataFolderRefused` for a file that is damaged. */
export function requireIntegrity(database: Database, path: string): void {
  const fault = integrityFault(database);
  if (fault !== undefined) throw new DataFolderRefused(damagedFile(path, fault));
}

/** The fault that the check found, or null; why the check failed; or that it was ended before, or never began. */
export type CheckOutcome = { readonly fault: string | null } | { readonly failed: string } | 'not-finished';

/** Checks the file. One that cannot be read to its end is damaged. */
export function checkOutcome(path: string): CheckOutcome {
  try {
    return { fault: integrityFault(openDatabase(path, { readOnly: true })) ?? null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return isUnreadable(error) ? { fault: message } : { failed: message };
  }
}

/**
 * Checks the file in a process of its own: that can be ended at any moment, and a thread that is inside SQLite cannot. The check is
 * one read transaction, so SQLite cannot reuse its log meanwhile, and the log grows by what is written.
 */
export class BackgroundCheck {
  readonly #child: ChildProcess;

  constructor(path: string, report: (outcome: CheckOutcome) => void) {
    let outcome: CheckOutcome = 'not-finished';
    this.#child = fork(fileURLToPath(new URL('./check-database.js', import.meta.url)), [path], {
      stdio: 'ignore',
      execArgv: [],
    });
    this.#child.on('message', (told: CheckOutcome) => (outcome = told));
    this.#child.once('exit', () => report(outcome));
    // A process that cannot be started does not exit.
    this.#child.on('error', () => {
      if (this.#child.pid === undefined) report(outcome);
    });
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** Ends the check, finished or not. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/**
 * Writes the database in use at `path` into a new file, as of one moment, beside concurrent writers: one read
 * transaction, which blocks no writer. On the disk on return.
 */
export function snapshotDatabase(path: string, target: string): void {
  createPrivately(target);
  const database = openDatabase(path, { readOnly: true });
  try {
    database.prepare('VACUUM INTO ?').run(target);
  } finally {
    database.close();
  }
  const file = openSync(target, 'r');
  fsyncSync(file);
  closeSync(file);
}
