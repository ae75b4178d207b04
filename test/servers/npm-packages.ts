import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FoundProgram } from './find-program.js';
import { packagesCheck } from './install-program.js';
import type { Program } from './programs.js';

type Install = Program['installs'][number];

/**
 * The packages of the lock file in `sources`, as a program that the tests install once for each content of that file. Their
 * scripts do not run, and they may ask for another Node release. `then`: commands that follow the installation.
 */
export function npmPackages(
  { name, title }: Pick<Program, 'name' | 'title'>,
  sources: string,
  place: string,
  then: (folder: string) => ReturnType<Install['commands']> = () => [],
): Program {
  const files = ['package.json', 'package-lock.json'].map((file) => join(sources, file));
  const lock = readFileSync(join(sources, 'package-lock.json'));
  const options = ['--engine-strict=false', '--ignore-scripts', '--no-audit', '--loglevel=error'];
  return {
    name,
    title,
    variables: [],
    commands: [],
    installs: [
      {
        tool: 'npm',
        needs: 'npm',
        version: createHash('sha256').update(lock).digest('hex').slice(0, 12),
        commands: (folder) => [
          { program: 'cp', args: [...files, folder] },
          { program: 'npm', args: ['ci', '--prefix', folder, ...options] },
          packagesCheck(folder),
          ...then(folder),
        ],
        places: [place],
      },
    ],
  };
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
