import { marginOf, type CreditValue } from '../../../core/usage/margin.js';
import { totalCosts, type ModelCosts } from '../../../core/usage/model-costs.js';
import type { Usage, UsageGroup } from '../../../core/usage/read-usage.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import type { CostReport } from '../../operator/operator.js';
import { namedSums, USAGE_NAMES } from '../../requests/usage-names.js';
import { table } from '../terminal.js';

const SUMS = ['generations', 'failed', 'reserved', 'charged', 'released'] as const;

/** As the REST interface writes it. */
export function usageJson({ request: { by, from, to }, groups, total }: Usage): object {
  const group = ({ group: of, credentialName }: UsageGroup) => ({
    ...(of === '' ? {} : { [USAGE_NAMES[by]]: of }),
    ...(credentialName === undefined ? {} : { credential_name: credentialName }),
  });
  return { by, from, to, usage: groups.map((one) => ({ ...group(one), ...namedSums(one) })), total: namedSums(total) };
}

export function usageText({ request: { by, from, to }, groups, total }: Usage): string {
  const names = by === 'key' ? ['key', 'name'] : [by === 'client_trace_id' ? 'trace id' : by];
  const cells = (sums: UsageSums) => Object.values(namedSums(sums));
  const rows = groups.map((one) => [one.group, ...(by === 'key' ? [one.credentialName] : []), ...cells(one)]);
  const all = [`${from} to ${to}`, ...(by === 'key' ? [''] : []), ...cells(total)];
  return table([...names, ...SUMS], [...rows, all]);
}

export function costsJson({ from, to, models }: CostReport, value: CreditValue | undefined): object {
  const costs = ({ modelKey: _, ...sums }: ModelCosts) => ({
    generations: sums.generations,
    charged_credits: sums.chargedCredits,
    without_money: sums.withoutMoney,
    input_tokens: sums.inputTokens,
    output_tokens: sums.outputTokens,
    compute_ms: sums.computeMs,
    money: sums.money,
    ...marginJson({ modelKey: _, ...sums }, value),
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

export function costsText({ from, to, models }: CostReport, value: CreditValue | undefined): string {
  const titles = ['model', 'generations', 'credits', 'cost', 'without money', ...(value ? ['income', 'margin'] : [])];
  const row = (name: string, costs: ModelCosts) => [
    name,
    costs.generations,
    costs.chargedCredits,
    costText(costs),
    costs.withoutMoney,
    ...(value ? marginCells(costs, value) : []),
  ];
  return table(titles, [...models.map((one) => row(one.modelKey, one)), row(`${from} to ${to}`, totalCosts(models))]);
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
  return `${micros / 1_000_000} ${currency}`;
}
