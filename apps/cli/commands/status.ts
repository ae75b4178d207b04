import type { Command } from 'commander';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { checkOutput, downloadOutputs } from '../client/output-files.js';
import type { Task } from '../client/service-types.js';
import { taskText } from '../client/task-text.js';
import { show } from '../terminal.js';
import { clientCommand } from './client-command.js';
import { EXAMPLE_ID, examples } from './examples.js';

type Options = ConnectionOptions & { readonly json?: boolean; readonly out?: string; readonly force?: boolean };

/** The most outputs any model may have. */
const MAX_OUTPUTS = 100;

/** `darkroom status`: how a generation is doing; with --out its results are downloaded too. */
export function addStatus(program: Command): void {
  clientCommand(program, 'status <generation_id>')
    .description('show a generation, and download its results with --out')
    .option('-o, --out <path>', 'a file or folder for the results, if there are any')
    .option('-f, --force', 'overwrite what --out names')
    .addHelpText('after', examples([`darkroom status ${EXAMPLE_ID}`, `darkroom status ${EXAMPLE_ID} --out boat.png`]))
    .action((generationId: string, options: Options) => status(generationId, options));
}

async function status(generationId: string, options: Options): Promise<void> {
  if (options.out !== undefined) checkOutput(options, MAX_OUTPUTS);
  const { data } = await connect(options).get<Task>(`/generations/${encodeURIComponent(generationId)}`);
  const files = options.out === undefined ? undefined : await downloadOutputs(data, options);
  const text = files === undefined ? taskText(data) : [taskText(data), ...files].join('\n');
  show({ json: files === undefined ? data : { ...data, files }, text }, options);
}
