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

/** An id as it looks, for help texts. */
export const EXAMPLE_ID = '0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02';

/** The text below a command's help: notes, and command lines to copy. */
export function examples(commandLines: readonly string[], about?: string): string {
  const title = commandLines.length === 1 ? 'Example:' : 'Examples:';
  return ['', ...(about === undefined ? [] : [about, '']), title, ...commandLines.map((line) => `  $ ${line}`)].join(
    '\n',
  );
}
