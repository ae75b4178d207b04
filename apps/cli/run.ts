import { CommanderError } from 'commander';
import { ServiceError, StoreUnavailable, type ErrorCode } from '../../core/errors.js';
import { CatalogInvalid } from '../../adapters/catalog-file/file-catalog.js';
import { ConfigInvalid } from '../config/config.js';
import { Interrupted } from './client/interruption.js';
import { EXIT, Failure, sentenceOf, type ExitCode } from './exit.js';
import { createProgram } from './program.js';
import { print, say } from './terminal.js';

/** What an operator's command is refused with when an argument is one that cannot be. */
const ARGUMENT_CODES: ReadonlySet<ErrorCode> = new Set(['FIELD_REQUIRED', 'FIELD_INVALID', 'NOT_FOUND']);

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
  const { message, exitCode, details } = failureOf(error);
  say(`darkroom: ${message}`);
  if (json && details !== 'shown') print(JSON.stringify({ error: { message, ...details } }, null, 2));
  return exitCode;
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof Interrupted) return new Failure('Interrupted before anything was accepted.', EXIT.cancelled);
  if (error instanceof ServiceError) {
    return new Failure(error.message, ARGUMENT_CODES.has(error.code) ? EXIT.usage : EXIT.failure, { code: error.code, message: error.message });
  }
  if (error instanceof CatalogInvalid || error instanceof ConfigInvalid) {
    const { faults, message } = error;
    return new Failure(faults.length === 1 ? message : `${faults.length} things are wrong:\n${message}`, EXIT.failure, { faults });
  }
  if (error instanceof StoreUnavailable) return new Failure(`The store cannot answer: ${error.message}`);
  return new Failure(sentenceOf(error));
}
