import type { Command } from 'commander';
import { printable } from '../../logging/printable.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { downloadOutputs } from '../client/output-files.js';
import { checkEnding, checkOutput, formatsOf } from '../client/output-path.js';
import type { GenerationTask } from '../../../clients/typescript/src/index.js';
import { taskText } from '../client/task-text.js';
import { EXIT, Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { show } from '../terminal.js';
import { clientCommand } from './client-command.js';
import { EXAMPLE_ID, examples } from './examples.js';

type Options = ConnectionOptions & { readonly json?: boolean; readonly out?: string; readonly force?: boolean };

/** The most outputs any model may have. */
const MAX_OUTPUTS = 100;

/** `darkroom status`: how a generation is doing; with --out its results are downloaded too. */
export function addStatus(program: Command, io: CliIo): void {
  clientCommand(program, 'status <generation_id>')
    .description('show a generation, and download its results with --out')
    .option('-o, --out <path>', 'a file or folder for the results, if there are any')
    .option('-f, --force', 'overwrite what --out names')
    .addHelpText('after', examples([`darkroom status ${EXAMPLE_ID}`, `darkroom status ${EXAMPLE_ID} --out boat.png`]))
    .action((generationId: string, options: Options) => status(io, generationId, options));
}

async function status(io: CliIo, generationId: string, options: Options): Promise<void> {
  if (options.out !== undefined) checkOutput(options, MAX_OUTPUTS, io.folder);
  const client = connect(io, options);
  const data = await client.generation(generationId);
  if (options.out === undefined) {
    show(io, { json: data, text: taskText(data) }, options);
    return;
  }
  checkEnding(options, formatsOf(data.modality), io.folder);
  const files = await downloadOutputs(client, data, options, { folder: io.folder });
  show(io, { json: { ...data, files }, text: [taskText(data), ...files].join('\n') }, options);
  if (files.length === 0) throw nothingToDownload(data);
}

function nothingToDownload(task: GenerationTask): Failure {
  const { error } = task;
  const nothing = `Generation ${task.generation_id} has nothing to download`;
  if (task.status === 'failed') {
    return new Failure(
      `${nothing}: it failed${error === undefined ? '' : `, ${printable(error.message)} (${error.code})`}.`,
      EXIT.generationFailed,
      'shown',
    );
  }
  if (task.status === 'cancelled') return new Failure(`${nothing}: it was cancelled.`, EXIT.cancelled, 'shown');
  return new Failure(`${nothing}: it is ${task.status}.`, EXIT.failure, 'shown');
}
