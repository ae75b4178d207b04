import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  commandPath,
  findProgram,
  installedFolder,
  PROGRAM_FILE,
  type Environment,
  type FoundProgram,
} from './find-program.js';
import { MachineLock } from './machine-lock.js';
import type { Command, Install } from './program-install.js';
import type { Program } from './programs.js';

const TOOL_LIMIT_MS = 15 * 60_000;
const PARTIAL = 'partial-';
const REASON_LENGTH = 300;

/** Every way to install the program failed; the message is a sentence with each way and its fault. */
export class NotInstalled extends Error {}

/**
 * Installs a program into the cache, by the first of its ways that works. It is built in a folder beside its place and
 * renamed, so the cache has only complete installs; of several concurrent processes one installs, and the others wait
 * for it.
 */
export async function installProgram(program: Program, environment: Environment = process.env): Promise<FoundProgram> {
  const reasons: string[] = [];
  for (const install of program.installs) {
    try {
      return await installOnce(program, install, environment);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new NotInstalled(reasons.join('; '));
}

async function installOnce(program: Program, install: Install, environment: Environment): Promise<FoundProgram> {
  if (commandPath(install.tool, environment) === null) throw new Error(`${install.needs} is not on this machine`);
  const folder = installedFolder(program, install, environment);
  mkdirSync(dirname(folder), { recursive: true });
  const lock = await MachineLock.take(`${folder}.lock`, TOOL_LIMIT_MS);
  if (!lock) throw new Error(`another process has been installing ${program.title} for too long`);
  try {
    // Another process may have been faster.
    const found = findProgram(program, environment);
    if (found) return found;
    await installWhole(install, folder, environment);
  } finally {
    lock.release();
  }
  const installed = findProgram(program, environment);
  if (!installed) throw new Error(`what ${install.tool} installed cannot be run`);
  return installed;
}

/** The lock is held, so an incomplete folder was left by a process that has ended. */
async function installWhole(install: Install, folder: string, environment: Environment): Promise<void> {
  const prefix = `${PARTIAL}${basename(folder)}-`;
  for (const name of readdirSync(dirname(folder))) {
    if (name.startsWith(prefix)) rmSync(join(dirname(folder), name), { recursive: true, force: true, maxRetries: 5 });
  }
  const partial = mkdtempSync(join(dirname(folder), prefix));
  try {
    for (const command of install.commands(partial)) await run(command, environment);
    const place = install.places.flatMap((pattern) => matching(partial, pattern))[0];
    if (place === undefined) throw new Error(`${install.tool} installed ${install.version} without the program in it`);
    symlinkSync(place, join(partial, PROGRAM_FILE));
    const { versionArgs = ['--version'] } = install;
    await run({ program: join(partial, PROGRAM_FILE), args: versionArgs }, environment);
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** The paths below a folder that a pattern names; a star in it stands for any part of one name. */
function matching(folder: string, pattern: string): string[] {
  const steps = pattern.split('/');
  return steps.reduce<string[]>(
    (paths, step) =>
      paths.flatMap((path) =>
        namesIn(join(folder, path))
          .filter((name) => fits(name, step))
          .map((name) => join(path, name)),
      ),
    [''],
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function fits(name: string, step: string): boolean {
  const [start = '', end] = step.split('*');
  return end === undefined ? name === step : name.startsWith(start) && name.endsWith(end);
}

/** Runs a tool to its end; its last error output becomes the error. */
async function run({ program, args, environment: own = {} }: Command, environment: Environment): Promise<void> {
  // The time limit of a process that cannot be started keeps this one waiting.
  if (!program.includes('/') && commandPath(program, environment) === null)
    throw new Error(`${program} is not on this machine`);
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      env: { ...environment, ...own },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TOOL_LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-20_000);
    });
    child.on('error', (error) => reject(new Error(`${basename(program)} cannot be run (${error.message})`)));
    child.on('close', (code, signal) => {
      const command = `${basename(program)} ${args.slice(0, 3).join(' ')}`;
      if (code === 0) resolve();
      else if (child.killed) reject(new Error(`${command} was not done after ${TOOL_LIMIT_MS / 60_000} minutes`));
      else reject(new Error(`${command} ended with ${code ?? signal}${reasonIn(complaint)}`));
    });
  });
}

/** The most informative line of a tool's output: the first that mentions an error, or the last. */
function reasonIn(complaint: string): string {
  const lines = complaint
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const line =
    lines.find((candidate) => /error|fatal|cannot|no such|not found|requires/i.test(candidate)) ?? lines.at(-1);
  return line === undefined ? '' : ` (${line.slice(0, REASON_LENGTH)})`;
}
