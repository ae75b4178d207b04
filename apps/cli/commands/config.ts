import type { Command } from 'commander';
import type { CliIo } from '../io.js';
import { configDrivers } from '../../config/load-config.js';
import { storeCommand, type StoreOptions } from '../operator/store-command.js';
import { print } from '../terminal.js';
import { examples } from './examples.js';

const ABOUT = `With a configuration that names modules it includes their options. An editor with a YAML language server then completes
and checks darkroom.yaml, whose first line names the file: # yaml-language-server: $schema=darkroom.schema.json`;

/** `darkroom config schema`: what darkroom.yaml may contain, for editors. */
export function addConfig(program: Command, io: CliIo): void {
  const config = program.command('config').description('what darkroom.yaml may contain');
  storeCommand(config, 'schema')
    .description('print the JSON Schema of the configuration')
    .addHelpText('after', examples(['darkroom config schema > darkroom.schema.json'], ABOUT))
    .action((options: StoreOptions) => schema(io, options));
}

async function schema(io: CliIo, { config: file }: StoreOptions): Promise<void> {
  const { configSchema } = await import('../../config/config-schema.js');
  const drivers = await configDrivers({ file, environment: io.environment, folder: io.folder });
  print(io, JSON.stringify(configSchema(drivers), null, 2));
}
