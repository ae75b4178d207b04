import type { ProviderPromises } from '../../../core/ports/provider.js';
import type { ConnectedProvider, ProviderWorker } from '../../../core/providers/list-providers.js';
import type { ProviderLimits } from '../../../core/providers/provider-use.js';
import { counted } from '../counted.js';
import { printable } from '../../logging/printable.js';
import { isoTime, table } from '../terminal.js';

const CANCELS: Readonly<Record<ProviderPromises['cancels'], string>> = {
  nothing: 'stops nothing',
  queued: 'stops waiting tasks',
  running: 'stops running tasks',
};

/** What a provider promises, as one short line. */
export function promisesLine(p: ProviderPromises): string {
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
    ...(models.length === 0 ? ['  no model has it in its route'] : promisesByModel(models)),
    ...(workers.length === 0 ? ['  not used in the last hour'] : workers.flatMap(workerLines)),
  ];
}

function promisesByModel(models: ConnectedProvider['models']): string[] {
  const byLine = new Map<string, string[]>();
  for (const { modelKey, promises } of models) {
    const line = promisesLine(promises);
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
