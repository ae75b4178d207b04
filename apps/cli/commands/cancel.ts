import type { Command } from 'commander';
import { connect, type ConnectionOptions } from '../client/connection.js';
import type { GenerationTask } from '../../../clients/typescript/src/index.js';
import { taskText } from '../client/task-text.js';
import type { CliIo } from '../io.js';
import { show } from '../terminal.js';
import { clientCommand } from './client-command.js';
import { EXAMPLE_ID, examples } from './examples.js';

type Options = ConnectionOptions & { readonly json?: boolean };

/** `darkroom cancel`: asks for a cooperative cancel. */
export function addCancel(program: Command, io: CliIo): void {
  clientCommand(program, 'cancel <generation_id>')
    .description('cancel a generation; a running one may take a while to stop')
    .addHelpText('after', examples([`darkroom cancel ${EXAMPLE_ID}`]))
    .action((generationId: string, options: Options) => cancel(io, generationId, options));
}

function outcome({ status, generation_id }: GenerationTask): string {
  if (status === 'cancelled') return 'The generation is cancelled.';
  if (status === 'succeeded' || status === 'failed')
    return `The generation already had ${status}; nothing was changed.`;
  return `Cancel asked for; still ${status}. To see how it ends, run: npx darkroom status ${generation_id}`;
}

async function cancel(io: CliIo, generationId: string, options: Options): Promise<void> {
  const data = await connect(io, options).cancel(generationId);
  show(io, { json: data, text: `${taskText(data)}\n\n${outcome(data)}` }, options);
}
