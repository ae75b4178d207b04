import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { commandPath } from '../servers/find-program.js';
import { ClientAbsent } from './foreign-client.js';

const LIMIT_MS = 10 * 60_000;
const REASON_LENGTH = 2_000;

export interface ToolOptions {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a tool to its end and answers what it printed; what it complained of becomes the error. */
export async function runTool(
  command: string,
  args: readonly string[],
  { folder, environment = {} }: ToolOptions,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      cwd: folder,
      env: { ...process.env, ...environment },
      timeout: LIMIT_MS,
    });
    return stdout;
  } catch (error) {
    // Some complain where they print what they were asked for.
    const { stderr = '', stdout = '' } = error as { readonly stderr?: string; readonly stdout?: string };
    const said = stderr.trim() || stdout.trim() || (error as Error).message;
    throw new Error(`${command} ${args.slice(0, 3).join(' ')}: ${said.slice(-REASON_LENGTH)}`, { cause: error });
  }
}

export interface Toolchain {
  readonly language: string;
  readonly command: string;
  /** Have the command print its version. */
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The oldest version that will do, as `1.25`. */
  readonly least: string;
}

/** Throws `ClientAbsent` where the command is not on the PATH, or is too old. */
export async function requireToolchain({ language, command, args, environment = {}, least }: Toolchain): Promise<void> {
  const absent = (what: string) =>
    new ClientAbsent(`${what}: the ${language} client needs ${language} ${least} or newer.`);
  if (commandPath(command) === null) throw absent(`${language} is not on this machine`);
  const version = /\d+\.\d+/.exec(await runTool(command, args, { folder: tmpdir(), environment }))?.[0] ?? '0.0';
  if (least.localeCompare(version, 'en', { numeric: true }) > 0) throw absent(`${language} is ${version} here`);
}

/** The oldest that the packages of the tests are for. */
export function requirePython(): Promise<void> {
  return requireToolchain({ language: 'Python', command: 'python3', args: ['--version'], least: '3.10' });
}
