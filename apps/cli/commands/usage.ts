import { type Command, InvalidArgumentError, Option } from 'commander';
import { type CreditValue, USAGE_BY } from '../../../core/usage/read-usage.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import {
  moreJson,
  moreText,
  operatorCommand,
  type OperatorOptions,
  type PageOptions,
  pageRequest,
  withOperator,
  withPaging,
} from '../operator/operator-command.js';
import { costsJson, costsText, usageJson, usageText } from '../operator/texts.js';
import { show } from '../terminal.js';
import { EXAMPLE_ID, examples } from './client-command.js';

interface UsageOptions extends OperatorOptions, PageOptions {
  readonly account?: string;
  readonly by?: string;
  readonly from?: string;
  readonly to?: string;
  readonly cost?: true;
  readonly creditValue?: CreditValue;
}

/** `darkroom usage`: what an account used, as its customer sees it; and what that cost the operator. */
export function addUsage(program: Command, io: CliIo): void {
  withPaging(operatorCommand(program, 'usage'))
    .description("add up an account's ledger; with --cost, credits and provider costs by model")
    .option('--account <account_id>', 'of this account; with --cost, of all accounts without it')
    .addOption(new Option('--by <what>', 'what to add up by (default: day)').choices(USAGE_BY))
    .option('--from <day>', 'the first day, UTC, such as 2026-01-31; 31 days without --from and --to')
    .option('--to <day>', 'the last day, UTC')
    .addOption(
      new Option('--cost', 'by model, what providers reported for the generations created then').conflicts('by'),
    )
    .option('--credit-value <amount:currency>', 'with --cost: what one credit is worth, to show margins', readValue)
    .addHelpText(
      'after',
      examples([
        `darkroom usage --account ${EXAMPLE_ID} --by key`,
        'darkroom usage --cost --from 2026-01-01 --to 2026-01-31 --credit-value 0.01:USD',
      ]),
    )
    .action((options: UsageOptions) => (options.cost ? showCosts(io, options) : showUsage(io, options)));
}

function showUsage(io: CliIo, options: UsageOptions): Promise<void> {
  const { account, by, from, to, creditValue } = options;
  if (account === undefined) throw usageFailure('--account is needed without --cost.');
  if (creditValue !== undefined) throw usageFailure('--credit-value needs --cost.');
  return withOperator(io, options, async (operator) => {
    const usage = await operator.getUsage(account, { by, from, to }, pageRequest(options));
    const json = { account_id: account.toLowerCase(), ...usageJson(usage), ...moreJson({ items: [], ...usage }) };
    show(io, { json, text: usageText(usage) + moreText({ items: [], ...usage }) }, options);
  });
}

function showCosts(io: CliIo, options: UsageOptions): Promise<void> {
  const { account, from, to, creditValue, cursor } = options;
  if (cursor !== undefined) throw usageFailure('--cursor is of no use with --cost, which shows all models.');
  return withOperator(io, options, async (operator) => {
    const report = await operator.getModelCosts({ ...(account === undefined ? {} : { accountId: account }), from, to });
    const of = account === undefined ? {} : { account_id: account.toLowerCase() };
    show(io, { json: { ...of, ...costsJson(report, creditValue) }, text: costsText(report, creditValue) }, options);
  });
}

/** `0.01:USD`, with up to six digits behind the point. */
function readValue(text: string): CreditValue {
  const [, whole = '', part = '', currency = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?:([A-Z]{3})$/.exec(text) ?? [];
  if (currency === '') throw new InvalidArgumentError('It must be an amount and a currency, such as 0.01:USD.');
  return { micros: Number(whole) * 1_000_000 + Number(part.padEnd(6, '0')), currency };
}
