import { InvalidArgumentError } from 'commander';
import { randomUUID } from 'node:crypto';
import type { GenerationTask } from '../../../clients/typescript/src/index.js';
import { type GenerationStatus, isTerminal, STATUSES } from '../../../core/generation/generation.js';
import { printable } from '../../logging/logged-fields.js';
import type { GenerationRecord, InspectGenerationResponse, ProviderCost } from '../../operator/operator.js';
import { shellWord } from '../../shell-word.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { ownCreditsText, taskText } from '../client/follow-generation.js';
import {
  choiceText,
  type GenerationOptions,
  readGenerationInput,
  uploadFile,
  withGenerationOptions,
} from '../client/generation-input.js';
import { checkEnding, checkOutput, downloadOutputs, formatsOf, type OutputOptions } from '../client/output-files.js';
import { clientCommand, type CliCommand, EXAMPLE_ID, listCommand, operatorCommand, readCount } from '../command.js';
import { EXIT, Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { moreText, type Operator, present } from '../operator/with-operator.js';
import { amountText, facts, isoTime, type Shown, table } from '../terminal.js';
import { readTime } from './keys.js';

/** The server's largest page of found generations. */
const MAX_FOUND = 50;

interface TimeOptions {
  readonly since?: number;
  readonly until?: number;
}

interface FindOptions extends TimeOptions {
  readonly app?: string;
  readonly status?: GenerationStatus;
  readonly model?: string;
}

interface ListOptions {
  readonly account?: string;
  readonly app?: string;
  readonly status?: readonly GenerationStatus[];
}

/** `darkroom generations`: the work of all accounts, as who runs the server sees it. */
export function addGenerations(program: CliCommand): void {
  const generations = program
    .command('generations')
    .description("generations of any account, for operators; a developer's own are in list and show");
  listCommand(generations, 'list')
    .description('list generations, newest first, without their prompts')
    .option('--account <account_id>', 'those of one account')
    .option('--app <app_id>', 'those of one App')
    .option('--status <status>', `those with this status (repeatable): ${STATUSES.join(', ')}`, collectStatus)
    .examples([
      'darkroom generations list --status queued --status running',
      `darkroom generations list --account ${EXAMPLE_ID}`,
    ])
    .operates(list);
  withTimes(operatorCommand(generations, 'find <account_id> [text]'))
    .description('find generations of an account by words of the prompt, an id or a trace id, newest first')
    .option('--app <app_id>', 'those of one App')
    .option('--status <status>', `those with this status: ${STATUSES.join(', ')}`, readStatus)
    .option('-m, --model <model_key>', 'those of this model')
    .option('--limit <count>', `the most lines to show, 1 to ${MAX_FOUND}`, readCount(MAX_FOUND), 20)
    .option('--cursor <cursor>', 'continue where an earlier page ended')
    .examples([
      `darkroom generations find ${EXAMPLE_ID} "red car"`,
      `darkroom generations find ${EXAMPLE_ID} order-17 --status failed`,
    ])
    .operates(find);
  operatorCommand(generations, 'show <generation_id>')
    .description("show one generation, with its client's prompt and parameters")
    .examples([`darkroom generations show ${EXAMPLE_ID}`])
    .operates(async ({ operations, json }, generationId: string) => {
      const inspected = await operations.inspectGeneration({ generationId });
      const shown = { ...json(inspected.generation), ...json(inspected.content) };
      return { json: shown, text: inspectedText(inspected, statusOf(inspected.generation, json)) };
    });
  operatorCommand(generations, 'cancel <generation_id>')
    .description('cancel a generation, as its client could')
    .examples([`darkroom generations cancel ${EXAMPLE_ID}`])
    .operates(async ({ operations, json, shown }, id: string) => {
      const { generation } = await operations.stopGeneration({ generationId: id });
      return shown(generation, (one) => cancelledText(one.generationId, statusOf(one, json)));
    });
}

async function list(
  { operations, json, paging, listed }: Operator,
  { account = '', app = '', status = [] }: ListOptions,
): Promise<Shown> {
  const { STATUS } = await import('../../grpc/enums.js');
  const statuses = status.map((word) => STATUS[word]);
  const page = await operations.searchGenerations({ accountId: account, appId: app, statuses, ...paging });
  const rows = page.generations.map((g) => [
    g.generationId,
    statusOf(g, json),
    g.accountId,
    g.modelKey,
    g.createTime,
    g.completeTime,
    creditsOf(g),
  ]);
  return listed(page, ['generation', 'status', 'account', 'model', 'created', 'ended', 'credits'], rows);
}

async function find(
  { operations, json, paging, listed }: Operator,
  accountId: string,
  q: string | undefined,
  { app: appId, status, model: modelKey, since, until }: FindOptions,
): Promise<Shown> {
  const { STATUS } = await import('../../grpc/enums.js');
  const { timestampFromMs } = await import('@bufbuild/protobuf/wkt');
  const page = await operations.findGenerations({
    accountId,
    ...paging,
    ...(q === undefined ? {} : { q }),
    ...(appId === undefined ? {} : { appId }),
    ...(status === undefined ? {} : { status: STATUS[status] }),
    ...(modelKey === undefined ? {} : { modelKey }),
    ...(since === undefined ? {} : { createdAfter: timestampFromMs(since) }),
    ...(until === undefined ? {} : { createdBefore: timestampFromMs(until) }),
  });
  const rows = page.generations.map(({ generation, prompt }) => {
    const g = present(generation);
    return [g.generationId, statusOf(g, json), g.modelKey, g.createTime, creditsOf(g), firstWords(prompt)];
  });
  return listed(page, ['generation', 'status', 'model', 'created', 'credits', 'prompt'], rows);
}

/** The beginning of a prompt for one line of a table. */
function firstWords(prompt: string | undefined): string | undefined {
  const line = prompt?.replaceAll(/\s+/g, ' ').trim() ?? '';
  const characters = [...line];
  return characters.length <= MAX_SHOWN ? line : `${characters.slice(0, MAX_SHOWN - 1).join('')}…`;
}

/** Characters of a prompt in a table. */
const MAX_SHOWN = 60;

function collectStatus(text: string, before: readonly GenerationStatus[] | undefined): readonly GenerationStatus[] {
  return [...(before ?? []), readStatus(text)];
}

function readStatus(text: string): GenerationStatus {
  const status = STATUSES.find((known) => known === text);
  if (status === undefined) throw new InvalidArgumentError(`It must be one of ${STATUSES.join(', ')}.`);
  return status;
}

function statusOf(generation: GenerationRecord | undefined, json: Operator['json']): GenerationStatus {
  return json(generation)['status'] as GenerationStatus;
}

function creditsOf({ completeTime, reservedCredits, chargedCredits }: GenerationRecord): string {
  return completeTime === undefined ? `${reservedCredits} reserved` : `${chargedCredits} charged`;
}

function cancelledText(generationId: string, status: GenerationStatus): string {
  if (status === 'cancelled') return `Generation ${generationId} is cancelled.`;
  return isTerminal(status)
    ? `Generation ${generationId} had ${status} before; nothing was changed.`
    : `Generation ${generationId} is being cancelled, and still ${status}.`;
}

function inspectedText({ generation, content }: InspectGenerationResponse, status: GenerationStatus): string {
  const g = present(generation);
  const { prompt, negativePrompt, parameters = {}, referenceUploadIds } = present(content);
  return facts({
    'generation': g.generationId,
    status,
    'account': g.accountId,
    'app': g.appId,
    'model': g.modelKey,
    'created': g.createTime,
    'updated': g.updateTime,
    'ended': g.completeTime,
    'cancel asked for': g.cancelTime,
    'credits': creditsOf(g),
    'attempts': g.attempts,
    'worker': g.worker,
    'provider': g.provider,
    'provider cost': g.costs.length === 0 ? undefined : g.costs.map(costText).join('; '),
    'error': g.error && `${g.error.message} (${g.error.code})`,
    'trace id': g.clientTraceId,
    'outputs': g.outputCount,
    'prompt': prompt === '' ? 'none, or no longer kept' : prompt,
    'negative prompt': negativePrompt,
    'parameters': JSON.stringify(parameters),
    'references': referenceUploadIds.length === 0 ? undefined : referenceUploadIds.join(' '),
  });
}

function costText(cost: ProviderCost): string {
  const { attempt, provider, inputTokens, outputTokens, computeMs, money, billedUnitMicros } = cost;
  const parts = [
    ...(money === undefined ? [] : [`${Number(money.micros) / 1_000_000} ${money.currency}`]),
    ...(inputTokens === undefined ? [] : [`${inputTokens} input tokens`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} output tokens`]),
    ...(computeMs === undefined ? [] : [`${Number(computeMs) / 1_000} s`]),
    ...(billedUnitMicros === undefined ? [] : [`${Number(billedUnitMicros) / 1_000_000} billed units`]),
  ];
  return `${parts.join(', ')} (attempt ${attempt}, ${provider})`;
}

type EstimateOptions = GenerationOptions & ConnectionOptions;

/** `darkroom estimate`: what `generate` would reserve. */
export function addEstimate(program: CliCommand): void {
  const { io } = program;
  withGenerationOptions(clientCommand(program, 'estimate [prompt]'))
    .description('show what a generation would cost, without creating it')
    .examples([
      'darkroom estimate "a lighthouse" --param n=4',
      'darkroom estimate "waves" --model sandbox-video --json',
    ])
    .shows(async (prompt: string | undefined, options: EstimateOptions) => {
      const client = connect(io, options);
      const input = await readGenerationInput(client, prompt, options, io.folder);
      const { body, files } = input;
      const ids: string[] = [];
      for (const file of files) ids.push(await uploadFile(client, file, randomUUID()));
      const data = await client.estimate({ ...body, ...(ids.length === 0 ? {} : { reference_upload_ids: ids }) });
      const choice = choiceText(io, input);
      return {
        json: data,
        text: amountText(data.estimated_credits, data.currency),
        notes: choice === undefined ? [] : [choice],
      };
    });
}

interface OwnListOptions extends ConnectionOptions, TimeOptions {
  readonly status?: GenerationStatus;
  readonly model?: string;
  readonly traceId?: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** As many as the server puts on a page. */
const MAX_LISTED = 100;

/** `darkroom list`: the generations of the key's App. */
export function addList(program: CliCommand): void {
  const { io } = program;
  withTimes(clientCommand(program, 'list'))
    .description("list the generations of the key's App, newest first")
    .option('--status <status>', `those with this status: ${STATUSES.join(', ')}`, readStatus)
    .option('-m, --model <model_key>', 'those of this model')
    .option('--trace-id <id>', 'those created with this id of your own')
    .option('--limit <count>', `the most lines to show, 1 to ${MAX_LISTED}`, readCount(MAX_LISTED), 20)
    .option('--cursor <cursor>', 'continue where an earlier page ended')
    .examples([
      'darkroom list',
      'darkroom list --status running',
      'darkroom list --since 2030-01-31 --limit 100 --json',
    ])
    .shows((options: OwnListOptions) => listOwn(io, options));
}

function withTimes(command: CliCommand): CliCommand {
  const when = (text: string) => readTime(text, Date.now());
  return command
    .option('--since <when>', 'those created at this time or later: 12h, 2030-01-31, 2030-01-31T12:00:00Z', when)
    .option('--until <when>', 'those created before this time', when);
}

async function listOwn(io: CliIo, options: OwnListOptions): Promise<Shown> {
  const { status, model, traceId, since, until, limit, cursor } = options;
  const data = await connect(io, options).listGenerations({
    limit,
    ...(status === undefined ? {} : { status }),
    ...(model === undefined ? {} : { model_key: model }),
    ...(traceId === undefined ? {} : { client_trace_id: traceId }),
    ...(since === undefined ? {} : { created_after: isoTime(since) }),
    ...(until === undefined ? {} : { created_before: isoTime(until) }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  const rows = data.generations.map((task) => [
    task.generation_id,
    task.status,
    task.model_key,
    task.created_at,
    ownCreditsText(task),
  ]);
  const text = table(['generation', 'status', 'model', 'created', 'credits'], rows);
  return { json: data, text: `${text}${moreText({ nextPageToken: data.next_cursor ?? '' })}` };
}

/** The most outputs any model may have. */
const MAX_OUTPUTS = 100;

/** `darkroom status`, `darkroom show`: how a generation is doing; with --out its results are downloaded too. */
export function addStatus(program: CliCommand): void {
  clientCommand(program, 'status <generation_id>')
    .alias('show')
    .description('show a generation, and download its results with --out')
    .option('-o, --out <path>', 'a file or folder for the results, if there are any')
    .option('-f, --force', 'overwrite what --out names')
    .examples([`darkroom status ${EXAMPLE_ID}`, `darkroom status ${EXAMPLE_ID} --out boat.png`])
    .shows((id: string, options: ConnectionOptions & OutputOptions) => statusOfOwn(program.io, id, options));
}

async function statusOfOwn(
  io: CliIo,
  generationId: string,
  options: ConnectionOptions & OutputOptions,
): Promise<Shown> {
  if (options.out !== undefined) checkOutput(options, MAX_OUTPUTS, io.folder);
  const client = connect(io, options);
  const data = await client.generation(generationId);
  if (options.out === undefined) return { json: data, text: taskText(data) };
  checkEnding(options, formatsOf(data.modality), io.folder);
  const files = await downloadOutputs(client, data, options, { folder: io.folder });
  return {
    json: { ...data, files },
    text: [taskText(data), ...files].join('\n'),
    failure: files.length === 0 ? nothingToDownload(data) : undefined,
  };
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

/** `darkroom cancel`: asks for a cooperative cancel. */
export function addCancel(program: CliCommand): void {
  clientCommand(program, 'cancel <generation_id>')
    .description('cancel a generation; a running one may take a while to stop')
    .examples([`darkroom cancel ${EXAMPLE_ID}`])
    .shows(async (generationId: string, options: ConnectionOptions) => {
      const data = await connect(program.io, options).cancel(generationId);
      return { json: data, text: `${taskText(data)}\n\n${ownCancelText(program.io, data)}` };
    });
}

function ownCancelText({ command }: CliIo, { status, generation_id }: GenerationTask): string {
  if (status === 'cancelled') return 'The generation is cancelled.';
  if (status === 'succeeded' || status === 'failed')
    return `The generation already had ${status}; nothing was changed.`;
  return `Cancel asked for; still ${status}. To see how it ends, run: ${command} status ${shellWord(generation_id)}`;
}
