import { InvalidArgumentError, type Command } from 'commander';
import { isTerminal, STATUSES, type AttemptCost, type GenerationStatus } from '../../../core/generation/generation.js';
import type { InspectedGeneration, ShownGeneration } from '../../operator/operator.js';
import type { CliIo } from '../io.js';
import { operatorCommand, withOperator, type OperatorOptions } from '../operator/operator-command.js';
import { moreJson, moreText, pageRequest, withPaging, type PageOptions } from '../operator/paging.js';
import { generationJson, inspectedJson } from '../../operator/records.js';
import { facts, isoTime, show, table } from '../terminal.js';
import { EXAMPLE_ID, examples } from './examples.js';

interface ListOptions extends OperatorOptions, PageOptions {
  readonly account?: string;
  readonly app?: string;
  readonly status?: readonly GenerationStatus[];
}

/** `darkroom generations`: the work of all accounts, as who runs the server sees it. */
export function addGenerations(program: Command, io: CliIo): void {
  const generations = program
    .command('generations')
    .description("generations of any account, for operators; a developer's own are in status and cancel");
  withPaging(operatorCommand(generations, 'list'))
    .description('list generations, newest first, without their prompts')
    .option('--account <account_id>', 'those of one account')
    .option('--app <app_id>', 'those of one App')
    .option('--status <status>', `those with this status (repeatable): ${STATUSES.join(', ')}`, collectStatus)
    .addHelpText(
      'after',
      examples([
        'darkroom generations list --status queued --status running',
        `darkroom generations list --account ${EXAMPLE_ID}`,
      ]),
    )
    .action((options: ListOptions) => list(io, options));
  operatorCommand(generations, 'show <generation_id>')
    .description("show one generation, with its client's prompt and parameters")
    .addHelpText('after', examples([`darkroom generations show ${EXAMPLE_ID}`]))
    .action((generationId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const generation = await operator.inspectGeneration(generationId);
        show(io, { json: inspectedJson(generation), text: inspectedText(generation) }, options);
      }),
    );
  operatorCommand(generations, 'cancel <generation_id>')
    .description('cancel a generation, as its client could')
    .addHelpText('after', examples([`darkroom generations cancel ${EXAMPLE_ID}`]))
    .action((generationId: string, options: OperatorOptions) =>
      withOperator(io, options, async (operator) => {
        const generation = await operator.cancelGeneration(generationId);
        show(io, { json: generationJson(generation), text: outcome(generation) }, options);
      }),
    );
}

function list(io: CliIo, options: ListOptions): Promise<void> {
  const { account, app, status } = options;
  return withOperator(io, options, async (operator) => {
    const filter = {
      ...(account ? { accountId: account } : {}),
      ...(app ? { appId: app } : {}),
      ...(status ? { statuses: status } : {}),
    };
    const page = await operator.searchGenerations(filter, pageRequest(options));
    const rows = page.items.map((g) => [
      g.generationId,
      g.status,
      g.accountId,
      g.modelKey,
      isoTime(g.createdAt),
      g.completedAt === undefined ? '' : isoTime(g.completedAt),
      creditsOf(g),
    ]);
    const text =
      table(['generation', 'status', 'account', 'model', 'created', 'ended', 'credits'], rows) + moreText(page);
    show(io, { json: { generations: page.items.map(generationJson), ...moreJson(page) }, text }, options);
  });
}

function collectStatus(text: string, before: readonly GenerationStatus[] | undefined): readonly GenerationStatus[] {
  const status = STATUSES.find((known) => known === text);
  if (status === undefined) throw new InvalidArgumentError(`It must be one of ${STATUSES.join(', ')}.`);
  return [...(before ?? []), status];
}

function creditsOf({ completedAt, reservedCredits, chargedCredits }: ShownGeneration): string {
  return completedAt === undefined ? `${reservedCredits} reserved` : `${chargedCredits} charged`;
}

function outcome({ generationId, status }: ShownGeneration): string {
  if (status === 'cancelled') return `Generation ${generationId} is cancelled.`;
  return isTerminal(status)
    ? `Generation ${generationId} had ${status} before; nothing was changed.`
    : `Generation ${generationId} is being cancelled, and still ${status}.`;
}

function costText({ attempt, provider, inputTokens, outputTokens, computeMs, money }: AttemptCost): string {
  const parts = [
    ...(money === undefined ? [] : [`${money.micros / 1_000_000} ${money.currency}`]),
    ...(inputTokens === undefined ? [] : [`${inputTokens} input tokens`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} output tokens`]),
    ...(computeMs === undefined ? [] : [`${computeMs / 1_000} s`]),
  ];
  return `${parts.join(', ')} (attempt ${attempt}, ${provider})`;
}

function inspectedText(g: InspectedGeneration): string {
  return facts([
    ['generation', g.generationId],
    ['status', g.status],
    ['account', g.accountId],
    ['app', g.appId],
    ['model', g.modelKey],
    ['created', isoTime(g.createdAt)],
    ['updated', isoTime(g.updatedAt)],
    ['ended', g.completedAt === undefined ? undefined : isoTime(g.completedAt)],
    ['cancel asked for', g.cancelRequestedAt === undefined ? undefined : isoTime(g.cancelRequestedAt)],
    ['credits', creditsOf(g)],
    ['attempts', g.attemptsMade],
    ['worker', g.worker],
    ['provider', g.provider],
    ['provider cost', g.costs?.map(costText).join('; ')],
    ['error', g.error && `${g.error.message} (${g.error.code})`],
    ['trace id', g.clientTraceId],
    ['outputs', g.outputCount],
    ['prompt', g.prompt],
    ['negative prompt', g.negativePrompt],
    ['parameters', JSON.stringify(g.parameters)],
    ['references', g.referenceUploadIds.length === 0 ? undefined : g.referenceUploadIds.join(' ')],
  ]);
}
