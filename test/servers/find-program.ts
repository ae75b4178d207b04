import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';
import type { Install } from './program-install.js';
import { MONGOD, type Program } from './programs.js';

/** Variables as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface FoundProgram {
  readonly path: string;
  readonly from: 'PATH' | 'cache';
  /** The pinned version of a cached program; the version of a program on the PATH is unknown. */
  readonly version?: string;
  /** Whether it is MongoDB's own server, which is started in another way than its stand-in. */
  readonly isMongod: boolean;
}

/** The first of: the program on the PATH, the program in the cache. */
export function findProgram(program: Program, environment: Environment = process.env): FoundProgram | null {
  for (const command of program.commands) {
    const path = commandPath(command, environment);
    if (path !== null) return { path, from: 'PATH', isMongod: basename(path) === MONGOD };
  }
  for (const install of program.installs) {
    const path = join(installedFolder(program, install, environment), PROGRAM_FILE);
    if (isExecutable(path)) return { path, from: 'cache', version: install.version, isMongod: false };
  }
  return null;
}

/** The link to the program in the folder of each install. */
export const PROGRAM_FILE = 'program';

/** The folder of installed servers, shared by all clones on the machine. */
export function cacheFolder(environment: Environment = process.env): string {
  const { XDG_CACHE_HOME: configured } = environment;
  return join(
    configured !== undefined && configured.startsWith('/') ? configured : join(homedir(), '.cache'),
    'darkroom',
    'servers',
  );
}

export function installedFolder(program: Program, install: Install, environment: Environment = process.env): string {
  return join(cacheFolder(environment), `${program.name}-${install.tool}-${install.version}`);
}

export function commandPath(command: string, environment: Environment = process.env): string | null {
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => resolve(folder, command)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
