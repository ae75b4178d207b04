/**
 * `npm run verify:all`: everything that CI runs, with every check in full, then the checks that `npm test` never runs.
 * Stops at the first failure.
 */
import { spawnSync } from 'node:child_process';
import { FULL_RUN_VARIABLE } from './run-sizes.js';

const COMMANDS = [
  'npm run verify',
  'node dist/test/openapi/main.js',
  'npx --no-install mocha --no-enable-source-maps --require ./dist/test/fronts/openai/on-mongo.js "dist/test/fronts/openai/**/*.test.js"',
];

for (const command of COMMANDS) {
  const { status } = spawnSync(command, {
    stdio: 'inherit',
    shell: true,
    env: { ...process.env, [FULL_RUN_VARIABLE]: 'all' },
  });
  if (status !== 0) process.exit(status ?? 1);
}
