import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM } from '../faults/served-process.js';
import { findProgram } from '../servers/find-program.js';
import { installProgram, NotInstalled } from '../servers/install-program.js';
import { packagesCheck } from '../servers/npm-install.js';
import type { Program } from '../servers/programs.js';
import { ServerAbsent } from '../servers/server-absent.js';

/**
 * The build that an upgrade to this one starts from: the commit of the release before or, until there is a release, the
 * one before the stores got drivers, wake-ups got subjects and the ledger got attributions. Its stored data is read as
 * it is, and its processes run beside those of this build.
 */
export const COMMIT_BEFORE = '812500e0240d6d703b7d511ec1e62183278580c4';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const MAIN = 'dist/apps/cli/main.js';

const BUILD: Program = {
  name: 'release',
  title: 'the release before',
  variables: [],
  commands: [],
  installs: [
    {
      tool: 'npm',
      needs: 'npm',
      version: COMMIT_BEFORE.slice(0, 12),
      commands: (folder) => {
        const archive = join(folder, 'release.tar');
        return [
          { program: 'git', args: ['-C', REPOSITORY, 'archive', '--output', archive, COMMIT_BEFORE] },
          { program: 'tar', args: ['-xf', archive, '-C', folder] },
          // Installs by the release's own lockfile; its prepare script builds it.
          { program: 'npm', args: ['ci', '--prefix', folder] },
          { program: 'npm', args: ['prune', '--omit', 'dev', '--ignore-scripts', '--prefix', folder] },
          packagesCheck(folder, '--omit=dev'),
          { program: 'chmod', args: ['+x', join(folder, MAIN)] },
        ];
      },
      places: [MAIN],
    },
  ],
};

/** Set by `test/release/upgrade.sh`: the programs of two releases, in place of the release before and of this build. */
const { TEST_UPGRADE_FROM: from, TEST_UPGRADE_TO: to } = process.env;

/** The compiled program that the release before is upgraded to. */
export const RELEASE_AFTER = to ?? PROGRAM;

/** Whether the release before recorded in the ledger what credits are used for. */
export const HAD_ATTRIBUTIONS = from !== undefined;

/**
 * The compiled program of the release before, built on the first call on this machine. Throws `ServerAbsent` where the
 * repository's history lacks its commit or its packages cannot be had.
 */
export async function releaseBefore(): Promise<string> {
  if (from !== undefined) return from;
  const found = findProgram(BUILD);
  if (found) return found.path;
  const known = spawnSync('git', ['-C', REPOSITORY, 'cat-file', '-e', `${COMMIT_BEFORE}^{commit}`]);
  if (known.status !== 0)
    throw new ServerAbsent(
      `The upgrade from the release before needs its commit ${COMMIT_BEFORE.slice(0, 12)}, which is not in this clone; fetch the whole history, as by \`git fetch --unshallow\`.`,
    );
  try {
    return (await installProgram(BUILD)).path;
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error;
    throw new ServerAbsent(`The release before cannot be built: ${error.message}.`);
  }
}
