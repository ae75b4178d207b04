import type { Command } from 'commander';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { loadConfig } from '../../config/load-config.js';
import { storeCommand, type StoreOptions } from '../operator/store-command.js';
import { show } from '../terminal.js';
import { examples } from './examples.js';

/** `darkroom catalog check`: whether the service would start with this catalog. */
export function addCatalog(program: Command): void {
  const catalog = program.command('catalog').description('the file of models on offer');
  storeCommand(catalog, 'check [file]')
    .description('say what is wrong with a catalog file, line by line (default: the configured one)')
    .addHelpText('after', examples(['darkroom catalog check', 'darkroom catalog check config/catalog.yaml']))
    .action((file: string | undefined, options: StoreOptions) => check(file, options));
}

async function check(file: string | undefined, options: StoreOptions): Promise<void> {
  const path = file ?? loadConfig({ file: options.config }).catalog;
  const keys = (await loadCatalog(path, catalogTools())).models().map(({ modelKey }) => modelKey);
  show({
    json: { file: path, models: keys },
    text: `${path} is right: ${keys.length} ${keys.length === 1 ? 'model' : 'models'} (${keys.join(', ')}).`,
  }, options);
}
