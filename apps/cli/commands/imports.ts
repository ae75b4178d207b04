import { readFile } from 'node:fs/promises';
import { basename, isAbsolute, resolve } from 'node:path';
import type { Command } from 'commander';
import type { CatalogImport } from '../../../adapters/catalog-import.js';
import { BUILT_IN_DRIVERS } from '../../wiring/built-in-drivers.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { print } from '../terminal.js';
import { examples } from './examples.js';

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
      .addHelpText('after', examples([`darkroom ${name} import ${example} > catalog.yaml`], about))
      .action((file: string) => propose(io, imports, file));
  }
}

async function propose(io: CliIo, imports: CatalogImport, path: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(resolve(io.folder, path), 'utf8');
  } catch (error) {
    throw usageFailure(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  // The catalog that it is put into is thought to be in this folder.
  const proposed = await imports.propose(text, isAbsolute(path) ? basename(path) : path);
  print(io, proposed.trimEnd());
}
