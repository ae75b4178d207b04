/** Builds the base images beside an engine: `node build-base-images.js CONTEXT NODE-TAR STORES-TAR`. */
import { spawnSync } from 'node:child_process';
import { standInName, STAND_INS } from './base-images.js';

const [context = '.', node = 'node.tar', stores = 'stores.tar'] = process.argv.slice(2);

docker('version');
const stages = Object.keys(STAND_INS);
for (const stage of stages)
  docker('build', '--quiet', '--network', 'none', '--target', stage, '--tag', standInName(stage), context);
docker('save', '--output', node, standInName('node'));
docker('save', '--output', stores, ...stages.filter((stage) => stage !== 'node').map(standInName));

function docker(...args: readonly string[]): void {
  const { status } = spawnSync('docker', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.exit(1);
}
