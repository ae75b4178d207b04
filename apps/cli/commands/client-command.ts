import type { Command } from 'commander';

/** A command that calls a server. */
export function clientCommand(program: Command, nameAndArguments: string, json = 'print one JSON document'): Command {
  return program
    .command(nameAndArguments)
    .option(
      '--url <url>',
      "the server's address (default: DARKROOM_URL, else the last login, else http://127.0.0.1:8080)",
    )
    .option('--json', json);
}
