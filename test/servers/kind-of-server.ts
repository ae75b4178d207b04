import { join } from 'node:path';
import type { FoundProgram } from './find-program.js';
import type { ProgramName } from './programs.js';
import type { SystemUser } from './supervisor-messages.js';

/** The settings of a server at its start. */
export interface Settings {
  readonly port: number;
  /** The server's own folder; its data is in `data`. */
  readonly folder: string;
  /** The credentials of an object store. */
  readonly accessKey: string;
  readonly secretKey: string;
  /** Whether a write is on disk before it is acknowledged; false for a database that a benchmark slows down itself. */
  readonly isSynced: boolean;
  /** Lines for its configuration file; see ServerOptions. */
  readonly lines: string;
}

/** How one kind of server is started, and how its readiness is checked. */
export interface KindOfServer {
  readonly program: ProgramName;
  /** Prepares its folder before each start. */
  readonly prepare?: (settings: Settings, found: FoundProgram) => void | Promise<void>;
  /** The command to run; the program itself when absent. */
  readonly command?: (found: FoundProgram) => string | Promise<string>;
  /** The user that runs it; this process's own when absent. */
  readonly user?: SystemUser | undefined;
  /** The signals that end it while clients are connected; SIGTERM and SIGKILL when absent. */
  readonly ends?: { readonly inOrder: NodeJS.Signals; readonly atOnce: NodeJS.Signals };
  /** Removes what a killed server leaves outside its folder. */
  readonly removeRemains?: (settings: Settings) => void;
  readonly args: (settings: Settings, found: FoundProgram) => readonly string[];
  readonly environment?: (settings: Settings, found: FoundProgram) => Readonly<Record<string, string>>;
  readonly url: (port: number) => string;
  /** Throws or returns false while the server is not ready. */
  readonly isReady: (settings: Settings, found: FoundProgram) => Promise<boolean>;
}

/** The folder of a server's data. */
export function dataOf({ folder }: { readonly folder: string }): string {
  return join(folder, 'data');
}
