import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import type { CliIo } from '../io.js';
import { configOf, storeCommand, type StoreOptions } from '../operator/store-command.js';
import { show } from '../terminal.js';
import { examples } from './examples.js';

/** `darkroom catalog check`: whether the service would start with this catalog. */
export function addCatalog(program: Command, io: CliIo): void {
  const catalog = program.command('catalog').description('the file of models on offer');
  storeCommand(catalog, 'check [file]')
    .description('check a catalog file and report each fault with its line (default: the configured file)')
    .addHelpText('after', examples(['darkroom catalog check', 'darkroom catalog check config/catalog.yaml']))
    .action((file: string | undefined, options: StoreOptions) => check(io, file, options));
}

async function check(io: CliIo, file: string | undefined, options: StoreOptions): Promise<void> {
  const config = await configOf(io, options);
  const path = file ?? config.catalog;
  const catalog = resolve(io.folder, path);
  const keys = (await loadCatalog(catalog, catalogTools({ ...config, catalog }), path))
    .models()
    .map(({ modelKey }) => modelKey);
  show(
    io,
    {
      json: { file: path, models: keys },
      text: `${path} is right: ${keys.length} ${keys.length === 1 ? 'model' : 'models'} (${keys.join(', ')}).`,
    },
    options,
  );
}
