import type { Command, CommandOptions } from 'commander';
import { FileCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { Context } from '../../../core/context.js';
import type { Config } from '../../config/config.js';
import { type ConfigSource, loadConfig } from '../../config/load-config.js';
import { printable } from '../../logging/logged-fields.js';
import { placeOf } from '../../stores/open-database.js';
import { Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';

export interface StoreOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** A command that works on the stores themselves; it may run beside a live server. */
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

/** The configuration that a run means. Throws `ConfigInvalid`. */
export function configOf(
  { environment, folder }: CliIo,
  { config: file }: StoreOptions,
  more: Pick<ConfigSource, 'role'> = {},
): Promise<Config> {
  return loadConfig({ file, environment, folder, ...more });
}

export interface ContextNeeds {
  /** Whether the models are needed. Where they are not, a faulty catalog is no obstacle, to revoking a key for one. */
  readonly catalog?: boolean;
  /** Whether the data folder may be made. */
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
  // Loaded only now: commands that call a server start faster without stores and painters.
  const { openProgram } = await import('../../wiring/open-program.js');
  const program = await openProgram(config, 'tool', needs.catalog ? { log } : { log, catalog: new FileCatalog([]) });
  try {
    return await work(program.context, config);
  } finally {
    await program.close();
  }
}

/**
 * Where an installation's accounts and generations are, for a person and for a script. Never shows an address's
 * password.
 */
export function dataPlace(config: Config): { readonly text: string; readonly json: Readonly<Record<string, string>> } {
  const { text, facts } = placeOf(config);
  // Another folder was most often meant, with the configuration elsewhere.
  const isUnconfigured = config.stores.database.driver.isInDataFolder === true && config.file === undefined;
  return { text: `${text}${isUnconfigured ? ' (no configuration file was found)' : ''}`, json: facts };
}
