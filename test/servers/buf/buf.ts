import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../find-program.js';
import { installProgram, NotInstalled } from '../install-program.js';
import { npmPackages, packagesFolder } from '../npm-packages.js';
import { ServerAbsent } from '../server-absent.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** buf and the generator of TypeScript types, at the versions of the lock file in packages/. */
export const BUF = npmPackages(
  { name: 'buf', title: 'buf' },
  join(ROOT, 'test/servers/buf/packages'),
  'node_modules/.bin/buf',
);

export interface BufRun {
  readonly code: number;
  /** Standard output and standard error. */
  readonly text: string;
}

/** Runs buf in the project's folder, or in another. Its plugins are found beside it. */
export type Buf = (args: readonly string[], folder?: string, environment?: NodeJS.ProcessEnv) => BufRun;

/** Finds or installs buf. Throws `ServerAbsent`, with a sentence, where it cannot be had. */
export async function bufProgram(): Promise<Buf> {
  const { path, folder: packages } = await bufPlace();
  return (args, folder = ROOT, environment = process.env) => {
    const PATH = [join(packages, 'node_modules/.bin'), environment['PATH']].join(delimiter);
    const { status, stdout, stderr, error } = spawnSync(path, args, {
      cwd: folder,
      env: { ...environment, PATH },
      encoding: 'utf8',
    });
    if (error) throw error;
    return { code: status ?? 1, text: `${stdout}${stderr}` };
  };
}

async function bufPlace(): Promise<{ readonly path: string; readonly folder: string }> {
  const found = findProgram(BUF) ?? (await installed());
  return { path: found.path, folder: packagesFolder(found) };
}

async function installed() {
  if (process.env['TEST_SERVERS_INSTALL'] === 'never')
    throw new ServerAbsent('buf is not on this machine, and TEST_SERVERS_INSTALL says never.');
  try {
    return await installProgram(BUF);
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error;
    throw new ServerAbsent(`buf, which checks proto/, cannot be installed: ${error.message}.`);
  }
}
