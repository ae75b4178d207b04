/** Builds the base images beside an engine: `node build-base-images.js CONTEXT NODE-TAR [STORES-TAR]`. */
import { spawnSync } from 'node:child_process';
import { standInName, STAND_INS } from './base-images.js';

const [context = '.', node = 'node.tar', stores] = process.argv.slice(2);

docker('version');
make(node, ['node']);
const others = Object.keys(STAND_INS).filter((stage) => stage !== 'node');
if (stores !== undefined) make(stores, others);

/** Builds the images of these stages, and saves them in one file. */
function make(tar: string, stages: readonly string[]): void {
  for (const stage of stages)
    docker('build', '--quiet', '--network', 'none', '--target', stage, '--tag', standInName(stage), context);
  docker('save', '--output', tar, ...stages.map(standInName));
}

function docker(...args: readonly string[]): void {
  const { status } = spawnSync('docker', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.exit(1);
}
