import { execFile } from 'node:child_process';
import { basename, delimiter } from 'node:path';
import { promisify } from 'node:util';

const LIMIT_MS = 10 * 60_000;
const REASON_LENGTH = 2_000;

export interface Place {
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** Runs a program to its end and returns its output. Throws with the end of what it printed if it fails. */
export async function run(command: string, args: readonly string[], { folder, environment }: Place): Promise<string> {
  try {
    const options = { cwd: folder, env: environment, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(command, [...args], options)).stdout;
  } catch (error) {
    const {
      stderr = '',
      stdout = '',
      message,
    } = error as Error & { readonly stderr?: string; readonly stdout?: string };
    const said = stderr.trim() || stdout.trim() || message;
    throw new Error(`${basename(command)} ${args.slice(0, 3).join(' ')}: ${said.slice(-REASON_LENGTH)}`, {
      cause: error,
    });
  }
}

/** Variables that package managers need to reach registries. All others come from an empty home. */
const KEPT = /^(LANG|LC_.*|TZ|TMPDIR|.*_CA(FILE|INFO|_CERTS|_BUNDLE)?|.*_CERTS?|SSL_CERT_.*|.*_proxy|PIP_.*)$/i;

/** The environment of somebody who has nothing but a home folder, and these folders of commands before the system's. */
export function emptyHome(home: string, commands: readonly string[] = []): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name));
  const { PATH: path = '' } = process.env;
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    PATH: [...commands, path].join(delimiter),
    npm_config_update_notifier: 'false',
  };
}
