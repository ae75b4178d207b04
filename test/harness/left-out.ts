import { isFullRun, leftOut } from './run-sizes.js';

/** Required by `npm test`. Mocha calls it once per run, after the counts, in the process that started the others. */
export function mochaGlobalTeardown(): void {
  if (isFullRun()) return;
  process.stdout.write(
    `Left out here, and run by npm run verify:all, or by the script that is named:\n${leftOut()
      .map((line) => `  ${line}\n`)
      .join('')}`,
  );
}
