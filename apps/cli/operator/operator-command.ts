import { type Command, type CommandOptions, InvalidArgumentError, Option } from 'commander';
import { FileCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { Context } from '../../../core/context.js';
import type { Config } from '../../config/config.js';
import { type ConfigSource, loadConfig } from '../../config/load-config.js';
import { printable } from '../../logging/logged-fields.js';
import { placeOf } from '../../stores/open-database.js';
import type { MessageJson, OperatorClient } from '../../operator/operator.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';
import type { GrpcOptions } from './grpc-place.js';

export interface StoreOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export type OperatorOptions = StoreOptions & Partial<GrpcOptions>;

/** A command that does the same on the stores of this installation and, with --grpc, on a server elsewhere. */
export function operatorCommand(parent: Command, nameAndArguments: string, options: CommandOptions = {}): Command {
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

/** The gRPC library never closes a connection whose peer is silent, which would keep the process alive. */
const LEFT_BEHIND_MS = 100;

/** For calls that examine all data. */
export const EVERYTHING = { timeoutMs: 3_600_000 } as const;

/**
 * Does the work on the stores or the server that the options name, and always closes them. Throws as `withContext` and
 * `openGrpcOperator` do.
 */
export async function withOperator(
  io: CliIo,
  options: OperatorOptions,
  work: (operator: OperatorClient, json: MessageJson) => Promise<void>,
  needs: ContextNeeds = {},
): Promise<void> {
  const { grpc, grpcCa, grpcCert, grpcKey } = options;
  // Loaded only now: the other commands start faster without the messages and their library.
  const { messageJson: json } = await import('../../operator/message-json.js');
  if (grpc === undefined) {
    if ((grpcCa ?? grpcCert ?? grpcKey) !== undefined)
      throw usageFailure('--grpc-ca, --grpc-cert and --grpc-key need --grpc, the address of the server.');
    const { operatorInProcess } = await import('../../operator/operator-client.js');
    return withContext(io, options, (context) => work(operatorInProcess(context), json), needs);
  }
  const { openGrpcOperator } = await import('./grpc-calls.js');
  const { operator, close } = openGrpcOperator(io, { ...options, grpc });
  try {
    await work(operator, json);
  } finally {
    close();
    io.leaveBehind(LEFT_BEHIND_MS);
  }
}

/** A part of an answer that every server of this version sends. Throws: what the command asked for was done. */
export function present<T>(value: T | undefined): T {
  if (value === undefined)
    throw new Error('The answer of the server lacks fields that this command shows; is it another version?');
  return value;
}

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/** Lists come a page at a time: --limit lines, and --cursor where the page before ended. */
export function withPaging(command: Command): Command {
  return command
    .option('--limit <count>', 'the most lines to show, 1 to 1000', readLimit, 100)
    .option('--cursor <cursor>', 'continue where an earlier page ended');
}

export function pageRequest({ limit, cursor = '' }: PageOptions): {
  readonly pageSize: number;
  readonly pageToken: string;
} {
  return { pageSize: limit, pageToken: cursor };
}

/** The text to print below a page that is not the last. */
export function moreText({ nextPageToken }: { readonly nextPageToken: string }): string {
  return nextPageToken === '' ? '' : `\nThere is more: --cursor ${nextPageToken}`;
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new InvalidArgumentError('It must be an integer from 1 to 1000.');
  return limit;
}

/** A command that works directly on the stores; it may run next to a live server. */
export function storeCommand(parent: Command, nameAndArguments: string, options: CommandOptions = {}): Command {
  const command = parent.command(nameAndArguments, options);
  const output = parent.configureOutput();
  const elsewhere = (text: string) =>
    text.replace(/unknown option '--grpc(?:-\w+)?'/, '$&; this command works on this machine only');
  return command
    .configureOutput({ outputError: (text, write) => output.outputError?.(elsewhere(text), write) })
    .option(
      '-c, --config <file>',
      'the configuration file (default: DARKROOM_CONFIG, else darkroom.yaml if it is there)',
    )
    .option('--json', 'print one JSON document');
}

/** The configuration that applies to a run. Throws `ConfigInvalid`. */
export function configOf(
  { environment, folder }: CliIo,
  { config: file }: StoreOptions,
  more: Pick<ConfigSource, 'role'> = {},
): Promise<Config> {
  return loadConfig({ file, environment, folder, ...more });
}

export interface ContextNeeds {
  /** Whether the models are needed. If not, a faulty catalog does not prevent the command, such as revoking a key. */
  readonly catalog?: boolean;
  /** Whether the data folder may be created. */
  readonly create?: boolean;
}

/** Opens the stores, does the work, and always closes them. Throws `CatalogInvalid`, `ConfigInvalid`, `Failure`. */
export async function withContext<T>(
  io: CliIo,
  options: StoreOptions,
  work: (context: Context, config: Config) => Promise<T>,
  needs: ContextNeeds = {},
): Promise<T> {
  const config = await configOf(io, options);
  const { driver, options: ofDatabase } = config.stores.database;
  if (!needs.create && driver.isMade?.({ options: ofDatabase, dataFolder: config.dataFolder }) === false) {
    throw new Failure(
      `There is no Darkroom data in ${config.dataFolder}; run darkroom init, or name the right data_folder.`,
    );
  }
  const warn = (event: string, about: Readonly<Record<string, unknown>>) => {
    const { error } = about;
    say(io, `darkroom: ${event}${error instanceof Error ? `: ${printable(error.message)}` : ''}`);
  };
  const log = { info: () => undefined, warn };
  // Loaded lazily: commands that call a server start faster without stores and painters.
  const { openProgram } = await import('../../wiring/open-program.js');
  const program = await openProgram(config, 'tool', needs.catalog ? { log } : { log, catalog: new FileCatalog([]) });
  try {
    return await work(program.context, config);
  } finally {
    await program.close();
  }
}

/**
 * The location of an installation's accounts and generations, for a person and for a script. Never shows the password
 * in an address.
 */
export function dataPlace(config: Config): { readonly text: string; readonly json: Readonly<Record<string, string>> } {
  const { text, facts } = placeOf(config);
  // In most such cases the user meant another folder, and the configuration is elsewhere.
  const isUnconfigured = config.stores.database.driver.isInDataFolder === true && config.file === undefined;
  return { text: `${text}${isUnconfigured ? ' (no configuration file was found)' : ''}`, json: facts };
}
