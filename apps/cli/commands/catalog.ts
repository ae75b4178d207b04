import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { catalogWarnings, modelRoutes, type ModelAtProvider } from '../../wiring/model-routes.js';
import { counted } from '../counted.js';
import type { CliIo } from '../io.js';
import { promisesJson } from '../../operator/provider-records.js';
import { promisesLine } from '../operator/provider-text.js';
import { configOf, storeCommand, type StoreOptions } from '../operator/store-command.js';
import { say, show, table } from '../terminal.js';
import { examples } from './examples.js';

/** `darkroom catalog check`: whether the service would start with this catalog, and who makes its models. */
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
  const resolved = resolve(io.folder, path);
  const checked = { ...config, catalog: resolved };
  const catalog = await loadCatalog(resolved, catalogTools(checked), path);
  const keys = catalog.models().map(({ modelKey }) => modelKey);
  const routes = modelRoutes(catalog, checked);
  const warnings = catalogWarnings(catalog, routes);
  for (const { line, message } of warnings) say(io, `darkroom: ${path}:${line}: ${message}`);
  show(
    io,
    {
      json: { file: path, models: keys, routes: routes.map(routeJson), warnings },
      text: `${path} is right: ${counted(keys.length, 'model')} (${keys.join(', ')}).\n\n${routesText(routes)}`,
    },
    options,
  );
}

function routesText(routes: readonly ModelAtProvider[]): string {
  return table(
    ['model', 'provider', 'weight', 'what the provider promises'],
    routes.map(({ modelKey, provider, weight, promises }) => [
      modelKey,
      provider,
      weight,
      promises === undefined ? 'not known before it is opened' : promisesLine(promises),
    ]),
  );
}

function routeJson({ modelKey, provider, weight, promises }: ModelAtProvider) {
  return {
    model_key: modelKey,
    provider,
    weight,
    ...(promises === undefined ? {} : { promises: promisesJson(promises) }),
  };
}
