import { FileCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { Config } from '../../config/config.js';
import { type ConfigSource, loadConfig } from '../../config/load-config.js';
import { printable } from '../../logging/logged-fields.js';
import { placeOf } from '../../stores/open-database.js';
import type { MessageJson, OperatorClient, OperatorContext } from '../../operator/operator.js';
import { shellWord } from '../../shell-word.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { say, type Shown, table } from '../terminal.js';
import type { GrpcOptions } from './grpc-place.js';

export interface StoreOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export interface OperatorOptions extends StoreOptions, Partial<GrpcOptions> {
  /** Of a list. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** The gRPC library never closes a connection whose peer is silent, which would keep the process alive. */
const LEFT_BEHIND_MS = 100;

/** For calls that examine all data. */
export const EVERYTHING = { timeoutMs: 3_600_000 } as const;

/** The operators' services, with what a command needs to show their responses. */
export interface Operator extends OperatorClient {
  readonly json: MessageJson;
  /** The page that the options of a list ask for. */
  readonly paging: { readonly pageSize: number; readonly pageToken: string };
  /** A message as JSON and as this text. Throws as `present` does. */
  readonly shown: <Sent extends Message>(message: Sent | undefined, textOf: (message: Sent) => string) => Shown;
  /** A page of a list: a table with these titles and rows, and where the list continues. */
  readonly listed: (page: Message & { readonly nextPageToken: string }, ...lines: Parameters<typeof table>) => Shown;
}

type Message = NonNullable<Parameters<MessageJson>[0]>;

/**
 * Does the work on the stores or the server that the options name, and always closes them. Throws as `withContext` and
 * `openGrpcOperator` do.
 */
export async function withOperator(
  io: CliIo,
  options: OperatorOptions,
  work: (operator: Operator) => Promise<void>,
  needs: ContextNeeds = {},
): Promise<void> {
  const { grpc, grpcCa, grpcCert, grpcKey, limit: pageSize = 0, cursor: pageToken = '' } = options;
  // Loaded only now: the other commands start faster without the messages and their library.
  const { messageJson: json } = await import('../../operator/message-json.js');
  const showing: Omit<Operator, keyof OperatorClient> = {
    json,
    paging: { pageSize, pageToken },
    shown: (message, textOf) => ({ json: json(message), text: textOf(present(message)) }),
    listed: (page, ...lines) => ({ json: json(page), text: table(...lines) + moreText(page) }),
  };
  if (grpc === undefined) {
    if ((grpcCa ?? grpcCert ?? grpcKey) !== undefined)
      throw usageFailure('--grpc-ca, --grpc-cert and --grpc-key need --grpc, the address of the server.');
    const { operatorInProcess } = await import('../../operator/operator-client.js');
    return withContext(io, options, (context) => work({ ...operatorInProcess(context), ...showing }), needs);
  }
  const { openGrpcOperator } = await import('./grpc-calls.js');
  const { operator, close } = openGrpcOperator(io, { ...options, grpc });
  try {
    await work({ ...operator, ...showing });
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

/** The text to print below a page that is not the last. */
export function moreText({ nextPageToken }: { readonly nextPageToken: string }): string {
  return nextPageToken === '' ? '' : `\nThere is more: --cursor ${shellWord(nextPageToken)}`;
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
  work: (context: OperatorContext, config: Config) => Promise<T>,
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
