import { InvalidArgumentError } from 'commander';
import { randomUUID } from 'node:crypto';
import {
  ApiError,
  type CreateRequest,
  type Darkroom,
  type GenerationTask,
} from '../../../clients/typescript/src/index.js';
import { printable } from '../../logging/logged-fields.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { type Cancelling, createFailure, cutShort, unheard, whereToFind } from '../client/failures.js';
import { followGeneration, Interruption } from '../client/follow-generation.js';
import type { Progress } from '../client/progress.js';
import {
  choiceText,
  type GenerationInput,
  type GenerationOptions,
  readGenerationInput,
  uploadFile,
  withGenerationOptions,
} from '../client/generation-input.js';
import { checkEnding, checkOutput, downloadOutputs, formatsOf, type OutputOptions } from '../client/output-files.js';
import { clientCommand, type CliCommand } from '../command.js';
import { EXIT, Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { amountText, say, show } from '../terminal.js';

interface Options extends GenerationOptions, OutputOptions, ConnectionOptions {
  readonly idempotencyKey?: string;
  readonly wait: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ darkroom generate "a lighthouse at dusk" --out lighthouse.png
  $ darkroom generate "a red boat" --param size=1024x1024 --param n=2 --out boat.png
  $ darkroom generate "the same by night" --reference day.png --out night.png
  $ darkroom generate "snow falling" --model sandbox-video --start-frame first.png --json
  $ darkroom generate "a forest" --no-wait
  $ darkroom generate --model enlarge --reference small.png --out large.png

The paths of the results go to stdout, everything else to stderr. Ctrl-C cancels the generation and waits for its end;
a second Ctrl-C exits immediately. Exit codes: 0 done, 1 failure, 2 usage, 3 refused, 4 the generation failed, 130 cancelled.`;

/** `darkroom generate`: uploads, estimates, creates, waits and downloads. */
export function addGenerate(program: CliCommand): void {
  withGenerationOptions(clientCommand(program, 'generate [prompt]'))
    .description('make pictures or a video from a prompt; some models need none')
    .option('-o, --out <path>', 'a file or folder for the results (default: <generation id> in this folder)')
    .option('-f, --force', 'overwrite what --out names')
    .option('--idempotency-key <key>', 'names this intent, so that running the command again does not spend twice')
    .option('--no-wait', 'do not wait for the end')
    .option('--timeout <seconds>', 'how long to wait for the end; the generation continues after that', readSeconds)
    .addHelpText('after', EXAMPLES)
    .action((prompt: string | undefined, options: Options) => generate(program.io, prompt, options));
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0) || !Number.isFinite(seconds))
    throw new InvalidArgumentError('It must be a number of seconds above 0.');
  return seconds;
}

async function generate(io: CliIo, prompt: string | undefined, options: Options): Promise<void> {
  if (prompt?.trim() === '') throw usageFailure('The prompt must not be empty.');
  if (options.idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(options.idempotencyKey)) {
    throw usageFailure('--idempotency-key must be 1 to 255 visible ASCII characters.');
  }
  const isWriting = options.wait || options.out !== undefined;
  // Once before any request to the server, and again when the possible number of results is known.
  if (isWriting) checkOutput(options, 1, io.folder);
  const client = connect(io, options);
  const input = await readGenerationInput(client, prompt, options, io.folder);
  if (isWriting) checkOutput(options, input.model.limits.max_outputs, io.folder);
  checkEnding(options, formatsOf(input.model.modality, input.model, input.parameters), io.folder);
  const choice = choiceText(io, input);
  if (choice !== undefined && !options.json) say(io, choice);
  const interruption = new Interruption(io.signals);
  const { openProgress } = await import('../client/progress.js');
  const progress = openProgress(io, input.files.length + 6, options);
  try {
    const accepted = await accept(client, input, options, progress, interruption);
    if (!options.wait && !interruption.signal.aborted) {
      progress.end();
      show(io, { json: accepted, text: accepted.generation_id }, options);
      return;
    }
    await finish(io, client, accepted, { options, progress, interruption });
  } catch (error) {
    throw interruption.leaving.aborted ? left(io, interruption) : error;
  } finally {
    progress.end();
    interruption.release();
  }
}

/**
 * Everything up to the 202. From the create on, an interruption waits: what may have been accepted must be cancelled.
 */
async function accept(
  client: Darkroom,
  input: GenerationInput,
  options: Options,
  progress: Progress,
  interruption: Interruption,
): Promise<GenerationTask> {
  const { signal } = interruption;
  const intent = options.idempotencyKey ?? randomUUID();
  const ids: string[] = [];
  for (const file of input.files) {
    progress.step(`uploading ${file.filename}`);
    ids.push(await uploadFile(client, file, intent, signal));
  }
  const body = { ...input.body, ...(ids.length === 0 ? {} : { reference_upload_ids: ids }) };
  await estimate(client, body, progress, signal);
  signal.throwIfAborted();
  interruption.lastSentence = () => unheard(intent);
  const { data, replayed, tries } = await client.transport
    .post<GenerationTask>('/generations', body, { idempotencyKey: intent, signal: interruption.leaving })
    .catch((error: unknown) => {
      throw createFailure(error, intent);
    });
  progress.keep(`accepted as ${data.generation_id}`);
  // After a second try the first may have been ours, unheard.
  if (replayed && tries === 1) progress.keep('created before under this key; nothing new is charged');
  return data;
}

interface Waiting {
  readonly options: Options;
  readonly progress: Progress;
  readonly interruption: Interruption;
}

/** Waits for the end and fetches the results. A failure on the way says where they can be found. */
async function finish(
  io: CliIo,
  client: Darkroom,
  accepted: GenerationTask,
  { options, progress, interruption }: Waiting,
): Promise<void> {
  const { signal, leaving } = interruption;
  let task = accepted;
  let cancelling: Cancelling = 'no';
  interruption.lastSentence = () => whereToFind(task, options, cancelling);
  let files: readonly string[];
  try {
    task = await followGeneration(client, accepted, {
      progress,
      cancelOn: signal,
      leaveOn: leaving,
      onCancelling: (step) => {
        cancelling = step;
      },
      ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout * 1_000 }),
    });
    // Delivered outputs are paid for, so they are also downloaded after a cancel.
    files = await downloadOutputs(client, task, options, {
      folder: io.folder,
      signal: leaving,
      onFile: () => progress.step('downloaded'),
    });
    leaving.throwIfAborted();
  } catch (error) {
    throw cutShort(error, task, options, cancelling);
  }
  progress.end();
  conclude(io, task, files, { options, interrupted: signal.aborted });
}

/**
 * A second Ctrl-C ends everything immediately, including the process: a pending name resolution would keep it alive.
 */
function left(io: CliIo, { leaving }: Interruption): unknown {
  io.leaveBehind(0);
  return leaving.reason;
}

/**
 * The estimated cost. A repeated intent has already been paid for and needs no credits, so the create itself decides.
 */
async function estimate(client: Darkroom, body: CreateRequest, progress: Progress, signal: AbortSignal): Promise<void> {
  try {
    const data = await client.estimate(body, { signal });
    progress.step(`estimated at ${amountText(data.estimated_credits, data.currency)}`);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'CREDITS_INSUFFICIENT')) throw error;
    // A key with a spending cap may have reached it, however much the account has.
    progress.step(`estimated above ${/spending cap/.test(error.message) ? "the key's spending cap" : 'the balance'}`);
  }
}

function conclude(
  io: CliIo,
  task: GenerationTask,
  files: readonly string[],
  { options, interrupted }: { readonly options: Options; readonly interrupted: boolean },
): void {
  if (options.json || files.length > 0) show(io, { json: { ...task, files }, text: files.join('\n') }, options);
  const charged = `${amountText(task.charged_credits)} charged`;
  if (task.status === 'failed') {
    const { message, code } = task.error ?? { message: 'no reason was given', code: 'unknown' };
    throw new Failure(
      `The generation failed: ${printable(message)} (${code}, ${charged}).`,
      EXIT.generationFailed,
      'shown',
    );
  }
  if (task.status === 'cancelled')
    throw new Failure(`The generation was cancelled, ${charged}.`, EXIT.cancelled, 'shown');
  if (interrupted)
    throw new Failure(
      `The generation had succeeded before it could be cancelled, ${charged}.`,
      EXIT.cancelled,
      'shown',
    );
  if (!options.json) say(io, `succeeded, ${charged}`);
}
