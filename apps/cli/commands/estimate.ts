import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { readGenerationInput, withGenerationOptions, type GenerationOptions } from '../client/generation-input.js';
import { uploadFile } from '../client/upload-file.js';
import { amountText } from '../amount.js';
import type { CliIo } from '../io.js';
import { show } from '../terminal.js';
import { clientCommand } from './client-command.js';
import { examples } from './examples.js';

type Options = GenerationOptions & ConnectionOptions & { readonly json?: boolean };

/** `darkroom estimate`: what `generate` would reserve. */
export function addEstimate(program: Command, io: CliIo): void {
  withGenerationOptions(clientCommand(program, 'estimate <prompt>'))
    .description('show what a generation would cost, without creating it')
    .addHelpText(
      'after',
      examples([
        'darkroom estimate "a lighthouse" --param n=4',
        'darkroom estimate "waves" --model sandbox-video --json',
      ]),
    )
    .action((prompt: string, options: Options) => estimate(io, prompt, options));
}

async function estimate(io: CliIo, prompt: string, options: Options): Promise<void> {
  const client = connect(io, options);
  const { body, files } = await readGenerationInput(client, prompt, options, io.folder);
  const ids: string[] = [];
  for (const file of files) ids.push(await uploadFile(client, file, randomUUID()));
  const data = await client.estimate({ ...body, ...(ids.length === 0 ? {} : { reference_upload_ids: ids }) });
  show(io, { json: data, text: amountText(data.estimated_credits, data.currency) }, options);
}
