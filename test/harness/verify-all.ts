/**
 * `npm run verify:all`: what CI runs, with every check in full, then what `npm test` never runs. Stops at the first
 * failure.
 */
import { spawnSync } from 'node:child_process';
import { FULL_RUN_VARIABLE } from './run-sizes.js';

const SCRIPTS = ['verify', 'test:openapi'];

for (const script of SCRIPTS) {
  // On Windows npm is a command file, which only a shell runs.
  const { status } = spawnSync('npm', ['run', script], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, [FULL_RUN_VARIABLE]: 'all' },
  });
  if (status !== 0) process.exit(status ?? 1);
}
