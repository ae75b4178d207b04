import { InvalidArgumentError, Option } from 'commander';
import type { PriceUnit } from '../../../core/catalog/price.js';
import { ServiceError } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import {
  type CreditValue,
  marginOf,
  type ModelCosts,
  totalCosts,
  USAGE_BY as WORDS,
  type UsageBy as Word,
} from '../../../core/usage/read-usage.js';
import type { GetAccountUsageResponse, GetModelCostsResponse } from '../../operator/operator.js';
import { type CliCommand, EXAMPLE_ID, listCommand } from '../command.js';
import { usageFailure } from '../exit.js';
import {
  EVERYTHING,
  moreText,
  type Operator,
  type OperatorOptions,
  present,
  withOperator,
} from '../operator/with-operator.js';
import { show, type Shown, table } from '../terminal.js';

interface UsageOptions extends OperatorOptions {
  readonly account?: string;
  readonly by?: Word;
  readonly from?: string;
  readonly to?: string;
  readonly cost?: true;
  readonly creditValue?: CreditValue;
}

/** `darkroom usage`: what an account used, as its customer sees it; and what that cost the operator. */
export function addUsage(program: CliCommand): void {
  const { io } = program;
  listCommand(program, 'usage')
    .description("add up an account's ledger; with --cost, credits and provider costs by model")
    .option('--account <account_id>', 'of this account; with --cost, of all accounts without it')
    .addOption(new Option('--by <what>', 'what to add up by (default: day)').choices(WORDS))
    .option('--from <day>', 'the first day, UTC, such as 2026-01-31; 31 days without --from and --to')
    .option('--to <day>', 'the last day, UTC')
    .addOption(
      new Option('--cost', 'by model, what providers reported for the generations created then').conflicts('by'),
    )
    .option('--credit-value <amount:currency>', 'with --cost: what one credit is worth, to show margins', readValue)
    .examples([
      `darkroom usage --account ${EXAMPLE_ID} --by key`,
      'darkroom usage --cost --from 2026-01-01 --to 2026-01-31 --credit-value 0.01:USD',
    ])
    .action((options: UsageOptions) => {
      const work = options.cost ? costsOfModels(options) : usageOfAccount(options);
      return withOperator(io, options, async (operator) => show(io, await work(operator), options));
    });
}

/** Throws for options that do not go together. */
function usageOfAccount(options: UsageOptions): (operator: Operator) => Promise<Shown> {
  const { account, by = 'day', creditValue } = options;
  if (account === undefined) throw usageFailure('--account is needed without --cost.');
  if (creditValue !== undefined) throw usageFailure('--credit-value needs --cost.');
  return async ({ credits, json, paging }) => {
    const { USAGE_BY } = await import('../../grpc/credits.js');
    const { USAGE_NAMES } = await import('../../http/render/credits.js');
    const request = { accountId: account, by: USAGE_BY[by], ...daysOf(options), ...paging };
    const usage = await credits.getAccountUsage(request);
    return {
      json: usageJson({ account, by, groupName: USAGE_NAMES[by][0] }, usage, json),
      text: usageText(by, usage) + moreText(usage),
    };
  };
}

function daysOf({ from, to }: UsageOptions) {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** Usage in the format of the REST interface. */
function usageJson(
  { account, by, groupName }: { readonly account: string; readonly by: Word; readonly groupName: string },
  usage: GetAccountUsageResponse,
  json: Operator['json'],
): JsonObject {
  const { from, to, rows, total, nextPageToken } = usage;
  return {
    account_id: account.toLowerCase(),
    by,
    from,
    to,
    usage: rows.map(({ group, modality, credentialName, sums }) => ({
      ...(group === '' ? {} : { [groupName]: group }),
      ...(modality === undefined ? {} : { modality }),
      ...(credentialName === undefined ? {} : { credential_name: credentialName }),
      ...json(sums),
    })),
    total: json(total),
    ...(nextPageToken === '' ? {} : { next_cursor: nextPageToken }),
  };
}

const SUMS = ['generations', 'failed', 'reserved', 'charged', 'released'] as const;

const TITLES: Readonly<Record<Word, readonly string[]>> = {
  day: ['day'],
  model: ['model'],
  key: ['key', 'name'],
  client_trace_id: ['trace id'],
  modality: ['modality'],
  day_modality: ['day', 'modality'],
};

function usageText(by: Word, { rows, total, from, to }: GetAccountUsageResponse): string {
  const names = TITLES[by];
  const cells = (sums: typeof total) => {
    const { generations, failed, reservedCredits, chargedCredits, releasedCredits } = present(sums);
    return [generations, failed, reservedCredits, chargedCredits, releasedCredits];
  };
  const second = { key: ['credentialName'], day_modality: ['modality'] } as const;
  const more = by in second ? second[by as keyof typeof second] : [];
  const lines = rows.map((row) => [row.group, ...more.map((name) => row[name]), ...cells(row.sums)]);
  const all = [`${from} to ${to}`, ...more.map(() => ''), ...cells(total)];
  return table([...names, ...SUMS], [...lines, all]);
}

/** Throws for options that do not go together. */
function costsOfModels(options: UsageOptions): (operator: Operator) => Promise<Shown> {
  const { account, creditValue, cursor } = options;
  if (cursor !== undefined) throw usageFailure('--cursor is of no use with --cost, which shows all models.');
  return async ({ operations, json }) => {
    // In the message, an empty id means all accounts.
    if (account === '') throw new ServiceError('FIELD_INVALID', 'account_id must be a UUID.');
    const report = await operations.getModelCosts({ accountId: account ?? '', ...daysOf(options) }, EVERYTHING);
    const of = account === undefined ? {} : { account_id: account.toLowerCase() };
    const costs = { from: report.from, to: report.to, models: report.models.map((model) => costsOf(model, json)) };
    return { json: { ...of, ...costsJson(costs, creditValue) }, text: costsText(costs, creditValue) };
  };
}

interface Costs {
  readonly from: string;
  readonly to: string;
  readonly models: readonly ModelCosts[];
}

/** Costs in the form in which core adds them up. */
function costsOf(
  { modelKey, money, units, ...sums }: GetModelCostsResponse['models'][number],
  json: Operator['json'],
): ModelCosts {
  return {
    modelKey,
    generations: Number(sums.generations),
    chargedCredits: Number(sums.chargedCredits),
    withoutMoney: Number(sums.withoutMoney),
    inputTokens: Number(sums.inputTokens),
    outputTokens: Number(sums.outputTokens),
    computeMs: Number(sums.computeMs),
    money: money.map(({ currency, micros }) => ({ currency, micros: Number(micros) })),
    ...(units && {
      units: {
        billedMicros: Number(units.billedMicros),
        charged: units.charged.map((one) => ({ unit: json(one)['unit'] as PriceUnit, micros: Number(one.micros) })),
      },
    }),
  };
}

function costsJson({ from, to, models }: Costs, value: CreditValue | undefined): object {
  const costs = (sums: ModelCosts) => ({
    generations: sums.generations,
    charged_credits: sums.chargedCredits,
    without_money: sums.withoutMoney,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    compute_ms: sums.computeMs,
    money: sums.money,
    ...(sums.units && { billed_unit_micros: sums.units.billedMicros, charged_units: sums.units.charged }),
    ...marginJson(sums, value),
  });
  return {
    from,
    to,
    ...(value === undefined ? {} : { credit_value: value }),
    models: models.map((model) => ({ model_key: model.modelKey, ...costs(model) })),
    total: costs(totalCosts(models)),
  };
}

function marginJson(costs: ModelCosts, value: CreditValue | undefined): object {
  const margin = value && marginOf(costs, value);
  if (value === undefined || margin === undefined) return {};
  return {
    income: { micros: margin.incomeMicros, currency: value.currency },
    margin: { micros: margin.marginMicros, currency: value.currency, is_upper_bound: margin.isUpperBound },
  };
}

function costsText({ from, to, models }: Costs, value: CreditValue | undefined): string {
  const hasUnits = models.some(({ units }) => units !== undefined);
  const titles = [
    'model',
    'generations',
    'credits',
    'cost',
    'without money',
    ...(hasUnits ? ['billed units', 'charged units'] : []),
    ...(value ? ['income', 'margin'] : []),
  ];
  const row = (name: string, costs: ModelCosts) => [
    name,
    costs.generations,
    costs.chargedCredits,
    costText(costs),
    costs.withoutMoney,
    ...(hasUnits ? unitCells(costs) : []),
    ...(value ? marginCells(costs, value) : []),
  ];
  return table(titles, [...models.map((one) => row(one.modelKey, one)), row(`${from} to ${to}`, totalCosts(models))]);
}

function unitCells({ units }: ModelCosts): string[] {
  if (units === undefined) return ['', ''];
  const charged = units.charged.map(
    ({ unit, micros }) => `${decimal(micros)} ${unit}${micros === 1_000_000 ? '' : 's'}`,
  );
  return [decimal(units.billedMicros), charged.join(', ')];
}

function marginCells(costs: ModelCosts, value: CreditValue): string[] {
  const margin = marginOf(costs, value);
  if (margin === undefined) return ['', 'other currencies'];
  const { incomeMicros, marginMicros, isUpperBound } = margin;
  return [moneyText(incomeMicros, value), `${isUpperBound ? 'at most ' : ''}${moneyText(marginMicros, value)}`];
}

function costText({ money, inputTokens, outputTokens, computeMs }: ModelCosts): string {
  const parts = [
    ...money.map((cost) => moneyText(cost.micros, cost)),
    ...(inputTokens === 0 ? [] : [`${inputTokens} input tokens`]),
    ...(outputTokens === 0 ? [] : [`${outputTokens} output tokens`]),
    ...(computeMs === 0 ? [] : [`${computeMs / 1_000} s`]),
  ];
  return parts.join(', ');
}

function moneyText(micros: number, { currency }: Pick<CreditValue, 'currency'>): string {
  return `${decimal(micros)} ${currency}`;
}

function decimal(micros: number): string {
  return String(micros / 1_000_000);
}

/** `0.01:USD`, with up to six digits behind the point. */
function readValue(text: string): CreditValue {
  const [, whole = '', part = '', currency = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?:([A-Z]{3})$/.exec(text) ?? [];
  if (currency === '') throw new InvalidArgumentError('It must be an amount and a currency, such as 0.01:USD.');
  return { micros: Number(whole) * 1_000_000 + Number(part.padEnd(6, '0')), currency };
}
