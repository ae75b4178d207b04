import { readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, resolve } from 'node:path';
import type { Command } from 'commander';
import type { CatalogImport } from '../../../adapters/catalog-import.js';
import type { ProviderDriver } from '../../../adapters/driver.js';
import { BUILT_IN_DRIVERS } from '../../wiring/built-in-drivers.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { print, say } from '../terminal.js';
import { examples } from './examples.js';

interface Options {
  readonly try?: boolean;
  readonly baseUrl?: string;
  readonly apiKeyFile?: string;
}

/** `darkroom <kind> import`: proposes a catalog, for each kind of provider that can. */
export function addImports(program: Command, io: CliIo): void {
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
      .addHelpText(
        'after',
        examples(
          [
            `darkroom ${name} import ${example} > catalog.yaml`,
            `darkroom ${name} import ${example} --try --base-url http://127.0.0.1:8188`,
          ],
          about,
        ),
      )
      .action((file: string, options: Options) => propose(io, { driver, imports }, file, options));
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
