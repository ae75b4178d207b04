import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathOf, textOf } from '../deploy/chart-files.js';
import { documentedCommand } from './documented.js';

export const IMAGE_PAGE = 'docs/deploying/docker.md';

/** The documented command, with the CA of this machine where its packages come through a proxy that has its own. */
export function buildCommand(): string {
  const command = documentedCommand(IMAGE_PAGE, 'docker build').replace(/\$\(git [^)]*\)/, '0000000');
  const ca = process.env['NODE_EXTRA_CA_CERTS'];
  return ca === undefined ? command : command.replace(/ \.$/, ` --secret id=ca,src='${ca}' .`);
}

/** Copies the files that a build may read, and those of deploy/, into a folder where a test may change them. */
export function copyBuildContext(folder: string): void {
  const listed = textOf('deploy/Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...listed, 'deploy'];
  const { stdout } = spawnSync('git', args, { cwd: pathOf('.'), encoding: 'utf8' });
  for (const file of stdout.split('\0').filter((name) => name !== '' && existsSync(pathOf(name)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(pathOf(file), join(folder, file));
  }
}
