import { CommanderError } from 'commander';
import { EXIT, type ExitCode } from './exit.js';
import { failureOf } from './failure-of.js';
import { createProgram } from './program.js';
import { print, say } from './terminal.js';

/** Runs one command line and answers the exit code. A fault is one clear sentence on stderr, never a stack. */
export async function run(argv: readonly string[]): Promise<ExitCode> {
  ignoreClosedPipes();
  try {
    await createProgram().parseAsync(argv);
    return EXIT.ok;
  } catch (error) {
    return report(error, argv.includes('--json'));
  }
}

/** Somebody who has read enough of the output closes it; that is no fault. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT.ok);
      throw error;
    });
  }
}

function report(error: unknown, json: boolean): ExitCode {
  // Commander has printed its own sentence, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (process.env['DARKROOM_DEBUG'] === '1') console.error(error);
  const { message, exitCode, details, isTold } = failureOf(error);
  if (!isTold) say(`darkroom: ${message}`);
  if (json && details !== 'shown') print(JSON.stringify({ error: { message, ...details } }, null, 2));
  return exitCode;
}
