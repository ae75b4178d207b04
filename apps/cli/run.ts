import { CommanderError } from 'commander';
import { Console } from 'node:console';
import { failureOf } from './client/failures.js';
import type { CliCommand } from './command.js';
import { EXIT, type ExitCode } from './exit.js';
import type { CliIo } from './io.js';
import { createProgram, inCommands } from './program.js';
import { print, say } from './terminal.js';

/**
 * Runs one command line, the words after the program's name, and returns the exit code. A failure is one clear
 * sentence on stderr, never a stack trace. Runs in one process share no state, so any number may run concurrently.
 */
export async function run(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const program = createProgram(io);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(program, error, args.includes('--json'));
  }
}

function report(program: CliCommand, error: unknown, json: boolean): ExitCode {
  const { io } = program;
  // Commander has printed its own sentence, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (io.environment['DARKROOM_DEBUG'] === '1') new Console(io.stdout, io.stderr).error(error);
  const { message, exitCode, details, isTold } = failureOf(error);
  if (!isTold) say(io, `darkroom: ${inCommands(program, message)}`);
  if (json && details !== 'shown') print(io, JSON.stringify({ error: { message, ...details } }, null, 2));
  return exitCode;
}
