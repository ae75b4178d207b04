/**
 * `npm run vectors`: plays the shared vectors over every front, and reports those that were played and those that were
 * left out.
 */
import Mocha from 'mocha';
import { fileURLToPath } from 'node:url';
import { FULL_RUN_VARIABLE } from '../../harness/run-sizes.js';
import { Misused, readOptions, runProgram } from '../../simulation/command-line.js';
import { report } from './report.js';

const USAGE = `Plays the shared vectors over REST and gRPC, which must give the same states, credits and codes.

  --lane L   memory: both fronts over the adapters in memory, in this process
             embedded: the same, and the started program on SQLite, files and timers (without --lane)
             all: the same, and the started program on MongoDB and S3, where such servers are found

Ends with 0 when every vector had the answer that it names on every lane, 1 when one had not, and 2 when it was called wrongly.
`;

/** The titles of the suites that each `--lane` selects. */
const LANES: Readonly<Record<string, RegExp>> = {
  memory: /^the shared vectors|^every front/,
  embedded: /^the shared vectors|^every front|^the started service on SQLite/,
  all: /^the shared vectors|^every front|^the started service/,
};
const FILES = ['./vectors.test.js', '../../service/vectors.test.js'];

/** Prints the running suite, and at the end the failures. */
class QuietReporter extends Mocha.reporters.Base {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.on('suite', ({ title, parent }) => {
      if (parent?.root === true) process.stdout.write(`${title}\n`);
    });
    runner.once('end', () => {
      process.stdout.write('\n');
      Mocha.reporters.Base.list(this.failures);
    });
  }
}

await runProgram(USAGE, async () => {
  const { lane } = readOptions({ lane: { type: 'string', default: 'embedded' } });
  const suites = LANES[lane];
  if (suites === undefined) throw new Misused(`--lane must be one of ${Object.keys(LANES).join(', ')}.`);
  // The suites read it when they are loaded.
  if (lane === 'all') process.env[FULL_RUN_VARIABLE] = 'all';
  const mocha = new Mocha({ reporter: QuietReporter, timeout: 300_000, color: false, grep: suites });
  for (const file of FILES) mocha.addFile(fileURLToPath(new URL(file, import.meta.url)));
  await mocha.loadFilesAsync();
  const failures = await new Promise<number>((resolve) => {
    mocha.run(resolve);
  });
  process.stdout.write(report());
  return failures === 0 ? 0 : 1;
});
// A suite that broke down may have left something open.
process.exit();
