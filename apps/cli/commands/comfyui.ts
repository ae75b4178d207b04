import { readFile } from 'node:fs/promises';
import { basename, isAbsolute, resolve } from 'node:path';
import type { Command } from 'commander';
import { proposeComfyUiCatalog } from '../../wiring/built-in-drivers.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { print } from '../terminal.js';
import { examples } from './examples.js';

const ABOUT = `It writes nothing: read what it prints, and what its comments say you should check, before you use it. Export the workflow in
ComfyUI with Workflow > Export (API).`;

/** `darkroom comfyui import`: proposes a catalog for a workflow. */
export function addComfyUi(program: Command, io: CliIo): void {
  const comfyui = program.command('comfyui').description('workflows of ComfyUI');
  comfyui
    .command('import <workflow>')
    .description('propose a catalog for a workflow in API format, as YAML to review')
    .addHelpText('after', examples(['darkroom comfyui import workflow.json > catalog.yaml'], ABOUT))
    .action((workflow: string) => propose(io, workflow));
}

async function propose(io: CliIo, path: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(resolve(io.folder, path), 'utf8');
  } catch (error) {
    throw usageFailure(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  // The catalog that it is put into is thought to be in this folder.
  const proposed = await proposeComfyUiCatalog(text, isAbsolute(path) ? basename(path) : path);
  print(io, proposed.trimEnd());
}
