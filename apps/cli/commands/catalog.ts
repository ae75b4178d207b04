import { readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, resolve } from 'node:path';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { CatalogImport } from '../../../adapters/catalog-import.js';
import type { ProviderDriver } from '../../../adapters/driver.js';
import type { JsonObject } from '../../../core/json.js';
import { BUILT_IN_DRIVERS } from '../../wiring/built-in-drivers.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { catalogWarnings, type ModelAtProvider, modelRoutes } from '../../wiring/model-routes.js';
import { type CliCommand, storeCommand } from '../command.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { configOf, type StoreOptions } from '../operator/with-operator.js';
import { counted, print, say, type Shown, table } from '../terminal.js';
import { capabilitiesLine } from './providers.js';

/** `darkroom catalog check`: whether the service would start with this catalog, and who makes its models. */
export function addCatalog(program: CliCommand): void {
  const catalog = program.command('catalog').description('the file of models on offer');
  storeCommand(catalog, 'check [file]')
    .description('check a catalog file and report each fault with its line (default: the configured file)')
    .option('--explain', 'print the catalog with each default written out, as YAML, in place of the routes')
    .examples([
      'darkroom catalog check',
      'darkroom catalog check config/catalog.yaml',
      'darkroom catalog check --explain > explained.yaml',
    ])
    .shows((file: string | undefined, options: CheckOptions) => check(program.io, file, options));
}

interface CheckOptions extends StoreOptions {
  readonly explain?: boolean;
}

async function check(io: CliIo, file: string | undefined, options: CheckOptions): Promise<Shown> {
  const config = await configOf(io, options);
  const path = file ?? config.catalog;
  const resolved = resolve(io.folder, path);
  const checked = { ...config, catalog: resolved };
  const catalog = await loadCatalog(resolved, catalogTools(checked), path);
  const keys = catalog.models().map(({ modelKey }) => modelKey);
  const routes = modelRoutes(catalog, checked);
  const warnings = catalogWarnings(catalog, routes);
  // Loaded only now: help and the other commands start faster without it.
  const { capabilitiesJson } = await import('../../operator/message-json.js');
  const shown = routes.map((route) => routeJson(route, capabilitiesJson));
  for (const { line, message } of warnings) say(io, `darkroom: ${path}:${line}: ${message}`);
  const explained = options.explain === true ? catalog.explained() : undefined;
  if (explained !== undefined)
    return { json: { file: path, models: keys, explained, warnings }, text: explained.trimEnd() };
  return {
    json: { file: path, models: keys, routes: shown, warnings },
    text: `${path} is right: ${counted(keys.length, 'model')} (${keys.join(', ')}).\n\n${routesText(shown)}`,
  };
}

type CapabilitiesJson = (capabilities: NonNullable<ModelAtProvider['capabilities']>) => JsonObject;

function routesText(routes: readonly ReturnType<typeof routeJson>[]): string {
  return table(
    ['model', 'provider', 'weight', 'what the provider promises'],
    routes.map(({ model_key, provider, weight, promises }) => [
      model_key,
      provider,
      weight,
      promises === undefined ? 'not known before it is opened' : capabilitiesLine(promises),
    ]),
  );
}

function routeJson({ modelKey, provider, weight, capabilities }: ModelAtProvider, capabilitiesJson: CapabilitiesJson) {
  return {
    model_key: modelKey,
    provider,
    weight,
    promises: capabilities && capabilitiesJson(capabilities),
  };
}

interface Options {
  readonly try?: boolean;
  readonly baseUrl?: string;
  readonly apiKeyFile?: string;
}

/** `darkroom <kind> import`: proposes a catalog, for each kind of provider that can. */
export function addImports(program: CliCommand): void {
  for (const driver of BUILT_IN_DRIVERS) {
    if (driver.kind !== 'provider' || driver.imports === undefined) continue;
    const { name, imports } = driver;
    const { what, about, example } = imports;
    program
      .command(name)
      .description(`models of the provider ${name}`)
      .command('import <file>')
      .description(`propose a catalog for ${what}, as YAML to review`)
      .option('--try', 'run the proposal once, and show the files that it makes')
      .option('--base-url <url>', 'with --try: where the server is')
      .option('--api-key-file <file>', 'with --try: the file that the key of the server is read from')
      .examples(
        [
          `darkroom ${name} import ${example} > catalog.yaml`,
          `darkroom ${name} import ${example} --try --base-url http://127.0.0.1:8188`,
        ],
        about,
      )
      .action((file: string, options: Options) => propose(program.io, { driver, imports }, file, options));
  }
}

interface Importing {
  readonly driver: ProviderDriver;
  readonly imports: CatalogImport;
}

async function propose(io: CliIo, { driver, imports }: Importing, path: string, options: Options): Promise<void> {
  if (options.try === true && options.baseUrl === undefined)
    throw usageFailure('--try needs --base-url, which says where the server is.');
  if (options.try !== true && (options.baseUrl !== undefined || options.apiKeyFile !== undefined))
    throw usageFailure('--base-url and --api-key-file are for --try.');
  let text: string;
  try {
    text = await readFile(resolve(io.folder, path), 'utf8');
  } catch (error) {
    throw usageFailure(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  // The catalog that it is put into is thought to be in this folder.
  const proposed = await imports.propose(text, isAbsolute(path) ? basename(path) : path);
  const { baseUrl } = options;
  if (options.try !== true || baseUrl === undefined) {
    print(io, proposed.trimEnd());
    return;
  }
  // Loaded only now: a proposal alone needs no client of the server.
  const { instanceAt, tryProposal, trialText } = await import('../init/try-proposal.js');
  const instance = await instanceAt(io, driver, { baseUrl, apiKeyFile: options.apiKeyFile });
  print(io, proposed.trimEnd());
  const folder = isAbsolute(path) ? dirname(path) : io.folder;
  // The proposal alone is on stdout, as it may go into a file.
  say(io, trialText(await tryProposal(io, { catalog: proposed, ...instance, folder })));
}
