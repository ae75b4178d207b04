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

/** The same for PostgreSQL, which the build above does not know: the first build whose failovers all tests passed. */
const COMMIT_WITH_POSTGRES = '06d3a1be67f822cb9a43d793785def873c3e2ee7';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const MAIN = 'dist/apps/cli/main.js';

function buildOf(commit: string): Program {
  return {
    name: 'release',
    title: 'the release before',
    variables: [],
    commands: [],
    installs: [
      {
        tool: 'npm',
        needs: 'npm',
        version: commit.slice(0, 12),
        commands: (folder) => {
          const archive = join(folder, 'release.tar');
          return [
            { program: 'git', args: ['-C', REPOSITORY, 'archive', '--output', archive, commit] },
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
}

/** Set by `test/release/upgrade.sh`: the programs of two releases, in place of the release before and of this build. */
const { TEST_UPGRADE_FROM: from, TEST_UPGRADE_TO: to } = process.env;

/** The compiled program that the release before is upgraded to. */
export const RELEASE_AFTER = to ?? PROGRAM;

/** Whether the release before recorded in the ledger what credits are used for. */
export const HAD_ATTRIBUTIONS = from !== undefined;

/**
 * The compiled program of the release before, by default over MongoDB or embedded, built on the first call on this machine.
 * Throws `ServerAbsent` where the repository's history lacks its commit or its packages cannot be had.
 */
export async function releaseBefore({ withPostgres = false } = {}): Promise<string> {
  if (from !== undefined) return from;
  const commit = withPostgres ? COMMIT_WITH_POSTGRES : COMMIT_BEFORE;
  const build = buildOf(commit);
  const found = findProgram(build);
  if (found) return found.path;
  const known = spawnSync('git', ['-C', REPOSITORY, 'cat-file', '-e', `${commit}^{commit}`]);
  if (known.status !== 0)
    throw new ServerAbsent(
      `The upgrade from the release before needs its commit ${commit.slice(0, 12)}, which is not in this clone; fetch the whole history, as by \`git fetch --unshallow\`.`,
    );
  try {
    return (await installProgram(build)).path;
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error;
    throw new ServerAbsent(`The release before cannot be built: ${error.message}.`);
  }
}
