import { Command, InvalidArgumentError, Option } from 'commander';
import { usageFailure } from './exit.js';
import type { CliIo } from './io.js';
import { type ContextNeeds, type Operator, type OperatorOptions, withOperator } from './operator/with-operator.js';
import { show, type Shown } from './terminal.js';

/** A command of the program. */
export class CliCommand extends Command {
  constructor(
    readonly io: CliIo,
    name?: string,
  ) {
    super(name);
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(this.io, name);
  }

  /** Adds a clause or a sentence to what the parser says of a wrong command line, behind the words of `said`. */
  explainsError(said: RegExp, more: string): this {
    const output = this.configureOutput();
    return this.configureOutput({
      outputError: (text, write) =>
        output.outputError?.(
          text.replace(said, (words) => words + more),
          write,
        ),
    });
  }

  /** The text below the command's help: notes, and command lines to copy. */
  examples(commandLines: readonly string[], about?: string): this {
    const title = commandLines.length === 1 ? 'Example:' : 'Examples:';
    const notes = about === undefined ? [] : [about, ''];
    return this.addHelpText('after', ['', ...notes, title, ...commandLines.map((line) => `  $ ${line}`)].join('\n'));
  }

  /** Does the work, whose last argument is the options, and shows its result. */
  shows<Args extends unknown[]>(work: (...args: Args) => Promise<Shown>): this {
    return this.action(async (...args: unknown[]) =>
      show(this.io, await work(...argumentsOf<Args>(args)), this.opts()),
    );
  }

  /** The same with an operator's services. */
  operates<Args extends unknown[]>(
    work: (operator: Operator, ...args: Args) => Promise<Shown>,
    needs: ContextNeeds = {},
  ): this {
    return this.action((...args: unknown[]) => {
      const options = this.opts<OperatorOptions>();
      const worked = async (operator: Operator) =>
        show(this.io, await work(operator, ...argumentsOf<Args>(args)), options);
      return withOperator(this.io, options, worked, needs);
    });
  }
}

/** Without the command itself, which comes last. */
function argumentsOf<Args extends unknown[]>(args: readonly unknown[]): Args {
  return args.slice(0, -1) as Args;
}

/** A command that calls a server. */
export function clientCommand(
  parent: CliCommand,
  nameAndArguments: string,
  {
    json = 'print one JSON document',
    isDefault = false,
  }: { readonly json?: string; readonly isDefault?: boolean } = {},
): CliCommand {
  return parent
    .command(nameAndArguments, { isDefault })
    .option(
      '--url <url>',
      "the server's address (default: DARKROOM_URL, else the last login, else http://127.0.0.1:8080)",
    )
    .option('--json', json);
}

/** A command that works directly on the stores; it may run next to a live server. */
export function storeCommand(
  parent: CliCommand,
  nameAndArguments: string,
  options: { readonly isDefault?: boolean } = {},
): CliCommand {
  return parent
    .command(nameAndArguments, options)
    .explainsError(/unknown option '--grpc(?:-\w+)?'/, '; this command works on this machine only')
    .option(
      '-c, --config <file>',
      'the configuration file (default: DARKROOM_CONFIG, else darkroom.yaml if it is there)',
    )
    .option('--json', 'print one JSON document');
}

/** A command that does the same on the stores of this installation and, with --grpc, on a server elsewhere. */
export function operatorCommand(
  parent: CliCommand,
  nameAndArguments: string,
  options: { readonly isDefault?: boolean } = {},
): CliCommand {
  return storeCommand(parent, nameAndArguments, options)
    .addOption(
      new Option(
        '--grpc <host:port>',
        'run on the server with this gRPC address, with DARKROOM_SERVICE_TOKEN; encrypted, except to this machine',
      ).conflicts('config'),
    )
    .option('--grpc-ca <file>', 'the authority of the server certificate, if this machine does not trust it already')
    .option('--grpc-cert <file>', 'a client certificate')
    .option('--grpc-key <file>', 'and its key');
}

/** An operator's list, which comes a page at a time: --limit lines, and --cursor where the page before ended. */
export function listCommand(parent: CliCommand, nameAndArguments: string): CliCommand {
  return operatorCommand(parent, nameAndArguments)
    .option('--limit <count>', 'the most lines to show, 1 to 1000', readCount(1_000), 100)
    .option('--cursor <cursor>', 'continue where an earlier page ended');
}

/** Reads the value of an option that is a number of lines. */
export function readCount(most: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (!Number.isInteger(count) || count < 1 || count > most)
      throw new InvalidArgumentError(`It must be an integer from 1 to ${most}.`);
    return count;
  };
}

/** A whole number of credits from 0 that an option was given. Fails with one sentence that names the option. */
export function readCredits(option: string, text: string): number {
  const credits = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(credits))
    throw usageFailure(`${option} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, not ${text}.`);
  return credits;
}

/** Adds the value of an option that may be given more than once. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** An id as it looks, for help texts. */
export const EXAMPLE_ID = '0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02';
