import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../../core/providers/list-providers.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import {
  type CreditValue,
  marginOf,
  type ModelCosts,
  totalCosts,
  type Usage,
  type UsageGroup,
} from '../../../core/usage/read-usage.js';
import type { UsageSums } from '../../../core/usage/usage.js';
import { printable } from '../../logging/logged-fields.js';
import type { AccountStorage, CostReport } from '../../operator/operator.js';
import { namedSums, USAGE_NAMES } from '../../http/render/credits.js';
import { usageFailure } from '../exit.js';
import { counted, facts, isoTime, table } from '../terminal.js';
import { moreText } from './operator-command.js';

const CANCELS: Readonly<Record<ProviderCapabilities['cancels'], string>> = {
  nothing: 'stops nothing',
  queued: 'stops waiting tasks',
  running: 'stops running tasks',
};

/** What a provider promises, as one short line. */
export function capabilitiesLine(p: ProviderCapabilities): string {
  const { isAskedBy, takesTokenOnce, settleMs, cancels, keepsResultsMs, answersWithOutputs, isPaid } = p;
  const { maxMaskedReferences = 0 } = p;
  const lost =
    isAskedBy === 'token'
      ? `asked after a lost answer${settleMs === 0 ? '' : `, believed after ${timeText(settleMs)}`}`
      : 'cannot be asked after a lost answer';
  return [
    lost,
    ...(takesTokenOnce ? ['takes a task once'] : []),
    CANCELS[cancels],
    ...(answersWithOutputs ? ['results in the answer only'] : []),
    ...(keepsResultsMs === undefined ? [] : [`keeps results ${timeText(keepsResultsMs)}`]),
    ...(maxMaskedReferences === 0 ? [] : [`takes ${counted(maxMaskedReferences, 'mask')}`]),
    isPaid ? 'paid' : 'not paid',
  ].join('; ');
}

/** A table of all, and under it what each one promises and what is wrong with it. */
export function providersText(providers: readonly ConnectedProvider[]): string {
  const rows = providers.map((p) => [
    p.name,
    p.kind,
    stateOf(p),
    p.tasks,
    p.waiting,
    limitsText(p.limits),
    submitText(p.workers),
    p.models.map(({ modelKey }) => modelKey).join(' '),
  ]);
  const titles = ['provider', 'kind', 'state', 'tasks', 'waiting', 'limits', 'submit', 'models'];
  return [table(titles, rows), ...providers.map((p) => aboutLines(p).join('\n'))].join('\n\n');
}

function aboutLines({ name, models, workers }: ConnectedProvider): string[] {
  return [
    `${name}:`,
    ...(models.length === 0 ? ['  no model has it in its route'] : capabilitiesByModel(models)),
    ...(workers.length === 0 ? ['  not used in the last hour'] : workers.flatMap(workerLines)),
  ];
}

function capabilitiesByModel(models: ConnectedProvider['models']): string[] {
  const byLine = new Map<string, string[]>();
  for (const { modelKey, capabilities } of models) {
    const line = capabilitiesLine(capabilities);
    byLine.set(line, [...(byLine.get(line) ?? []), modelKey]);
  }
  return [...byLine].map(([line, keys]) => (byLine.size === 1 ? `  ${line}` : `  ${keys.join(', ')}: ${line}`));
}

function workerLines({ worker, health, seenAt, isCurrent, tasks, waiting }: ProviderWorker): string[] {
  const { circuit, pausedUntil, lastError } = health;
  const state = circuit === 'paused' && pausedUntil !== undefined ? `paused until ${isoTime(pausedUntil)}` : circuit;
  const seen = isCurrent
    ? `${state}, ${counted(tasks, 'task')}, ${waiting} waiting`
    : `last seen ${isoTime(seenAt)}, ${state} then`;
  const error = lastError === undefined ? [] : [`    ${isoTime(lastError.at)} ${printable(lastError.message)}`];
  return [`  worker ${worker}: ${seen}`, ...error];
}

function stateOf({ circuit, workers }: ConnectedProvider): string {
  const current = workers.filter(({ isCurrent }) => isCurrent);
  if (current.length === 0) return workers[0] === undefined ? 'unused' : 'not seen';
  const same = current.filter(({ health }) => health.circuit === circuit).length;
  return same === current.length ? circuit : `${circuit} in ${same} of ${current.length}`;
}

function limitsText({ maxConcurrent, maxSubmissionsPerMinute }: ProviderLimits): string {
  const limits = [
    ...(maxConcurrent === undefined ? [] : [counted(maxConcurrent, 'task')]),
    ...(maxSubmissionsPerMinute === undefined ? [] : [`${maxSubmissionsPerMinute} a minute`]),
  ];
  return limits.length === 0 ? 'none' : limits.join(', ');
}

/** The least and the most of the workers' medians. */
function submitText(workers: readonly ProviderWorker[]): string {
  const medians = workers.flatMap(({ isCurrent, health: { medianSubmitMs: ms } }) =>
    isCurrent && ms !== undefined ? [ms] : [],
  );
  if (medians.length === 0) return '';
  const [least, most] = [Math.min(...medians), Math.max(...medians)];
  return least === most ? `${least} ms` : `${least} to ${most} ms`;
}

function timeText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const seconds = ms / 1_000;
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

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

/** How `accounts show` prints what an account stores. */
export function storageText({ uncharged, apps, limits }: AccountStorage): string {
  const lines = facts([
    [
      'uncharged content',
      `${uncharged.bytes} of ${limits.unchargedBytes} bytes, of ${uncharged.generations} generations`,
    ],
    ['an App may have', `${limits.uploads} uploads, ${limits.unfinished} of them unfinished, ${limits.bytes} bytes`],
  ]);
  const rows = apps.items.map(({ appId, name, uploads, unfinished, bytes }) => [
    appId,
    name,
    uploads,
    unfinished,
    bytes,
  ]);
  return `${lines}\n\n${table(['app', 'name', 'uploads', 'unfinished', 'bytes'], rows)}${moreText(apps)}`;
}

/** A whole number of credits from 0 that an option was given. Fails with one sentence that names the option. */
export function readCredits(option: string, text: string): number {
  const credits = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(credits))
    throw usageFailure(`${option} must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, not ${text}.`);
  return credits;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Reads `now`, a span from now such as 90d, 12h or 30m, or an ISO date or time (UTC when it is a date). Milliseconds.
 */
export function readTime(text: string, now: number): number {
  const span = /^([0-9]{1,6})([mhd])$/.exec(text);
  const at =
    text === 'now'
      ? now
      : span
        ? now + Number(span[1]) * (UNIT_MS[span[2] ?? ''] ?? 0)
        : ISO.test(text)
          ? Date.parse(text)
          : NaN;
  if (!Number.isFinite(at))
    throw usageFailure(`A time is written as now, 90d, 12h, 30m, 2030-01-31 or 2030-01-31T12:00:00Z, not ${text}.`);
  return at;
}
