import { type Command, CommanderError } from 'commander';
import { Console } from 'node:console';
import { type ConnectionOptions, keyRemedy } from './client/connection.js';
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
  let command: Command | undefined;
  program.hook('preAction', (_, ran) => {
    command = ran;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(program, error, { command, json: args.includes('--json') });
  }
}

interface Ran {
  /** Undefined for a command line that was not understood. */
  readonly command: Command | undefined;
  readonly json: boolean;
}

function report(program: CliCommand, error: unknown, { command, json }: Ran): ExitCode {
  const { io } = program;
  // Commander has printed its own sentence, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (io.environment['DARKROOM_DEBUG'] === '1') new Console(io.stdout, io.stderr).error(error);
  const { message, exitCode, details, isTold } = failureOf(error);
  const isUnknownKey = details !== 'shown' && details['code'] === 'DEVELOPER_TOKEN_INVALID';
  const remedy = isUnknownKey && usesStoredKey(command) ? ` ${keyRemedy(io, command.opts<ConnectionOptions>())}` : '';
  if (!isTold) say(io, `darkroom: ${inCommands(program, message + remedy)}`);
  if (json && details !== 'shown') print(io, JSON.stringify({ error: { message, ...details } }, null, 2));
  return exitCode;
}

/** Whether a command calls a server with a key that it was not given: a login is given one, and an operator's command uses a token. */
function usesStoredKey(command: Command | undefined): command is Command {
  return command !== undefined && command.name() !== 'login' && command.options.some(({ long }) => long === '--url');
}
