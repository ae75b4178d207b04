import { dirname, join } from 'node:path';
import type { FoundProgram } from './find-program.js';
import { npmInstall } from './npm-install.js';
import type { Program } from './programs.js';

/**
 * The packages of the lock file in `sources`, as a program that the tests install once for each content of that file.
 * `then`: commands that follow the installation.
 */
export function npmPackages(
  { name, title }: Pick<Program, 'name' | 'title'>,
  sources: string,
  place: string,
  then?: Parameters<typeof npmInstall>[2],
): Program {
  return { name, title, variables: [], commands: [], installs: [npmInstall(sources, place, then)] };
}

const NODE = 'node';

/** The same for packages that this Node loads or runs: a link to it is the program of the install. */
export function nodePackages(named: Pick<Program, 'name' | 'title'>, sources: string): Program {
  return npmPackages(named, sources, NODE, (folder) => [
    { program: 'ln', args: ['-s', process.execPath, join(folder, NODE)] },
  ]);
}

/** The folder whose `node_modules` has the packages of an install. */
export function packagesFolder({ path }: FoundProgram): string {
  return dirname(path);
}
