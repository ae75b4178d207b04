import { nearKeys } from '../../../core/catalog/find-model.js';
import type { JsonObject } from '../../../core/json.js';
import { printable } from '../../logging/logged-fields.js';
import type { CheckedProvider } from '../../wiring/check-providers.js';
import type { ConnectedProvider, ProviderWorker } from '../../operator/operator.js';
import { type CliCommand, operatorCommand, storeCommand } from '../command.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { configOf, type Operator, type StoreOptions } from '../operator/with-operator.js';
import { counted, isoTime, msOf, type Shown, table } from '../terminal.js';

const ABOUT_CHECK = 'It needs no server of Darkroom. It makes no picture and costs nothing; it waits a minute at most.';

/** `darkroom providers`: what the workers see of providers, and whether these can be reached. */
export function addProviders(program: CliCommand): void {
  const providers = program.command('providers').description('the connected providers: their state, and their faults');
  operatorCommand(providers, 'list', { isDefault: true })
    .description('list the providers with what they promise and what the workers last saw of them')
    .examples(['darkroom providers', 'darkroom providers list --json'])
    .operates(
      async ({ operations, json }) => {
        const listed = await operations.listProviders({});
        return { json: json(listed), text: providersText(listed.providers, json) };
      },
      { catalog: true },
    );
  storeCommand(providers, 'check [name]')
    .description('try the connection to each provider, or to one, and whether it has what the models need')
    .examples(['darkroom providers check', 'darkroom providers check studio'], ABOUT_CHECK)
    .shows((name: string | undefined, options: StoreOptions) => check(program.io, name, options));
}

async function check(io: CliIo, name: string | undefined, options: StoreOptions): Promise<Shown> {
  const config = await configOf(io, options);
  const known = [...config.providers.keys()];
  if (name !== undefined && !known.includes(name)) throw unknown(name, known);
  // Loaded only now: help and the other commands start faster without it.
  const { checkProviders } = await import('../../wiring/check-providers.js');
  const { capabilitiesJson } = await import('../../operator/message-json.js');
  const checked = await checkProviders(config, { names: name === undefined ? known : [name] });
  const faulty = checked.filter(({ faults }) => faults.length > 0).length;
  const sentence = `${faulty} of ${counted(checked.length, 'provider')} cannot be used as configured.`;
  return {
    json: { providers: checked.map((one) => checkJson(one, capabilitiesJson)) },
    text: checked.flatMap(linesOf).map(printable).join('\n'),
    failure: faulty === 0 ? undefined : new Failure(sentence, undefined, 'shown'),
  };
}

function unknown(name: string, known: readonly string[]): Failure {
  const near = nearKeys(name, known);
  const names = near.length > 0 ? `similar names are ${near.join(', ')}` : `the names are ${known.join(', ')}`;
  return usageFailure(`There is no provider ${printable(name)} in the configuration; ${names}.`);
}

function linesOf({ name, faults, isTried, about }: CheckedProvider): readonly string[] {
  if (faults.length > 0) return faults.map((fault) => `${name}: ${fault}`);
  if (!isTried) return [`${name}: there is nothing to check.`];
  return [`${name}: ok${about === undefined ? '' : ` (${about})`}`];
}

function checkJson(
  { name, kind, isTried, about, faults, models }: CheckedProvider,
  capabilitiesJson: (capabilities: CheckedProvider['models'][number]['capabilities']) => JsonObject,
) {
  return {
    name,
    kind,
    is_tried: isTried,
    ...(about === undefined ? {} : { about }),
    faults,
    models: models.map(({ modelKey, capabilities }) => ({
      model_key: modelKey,
      promises: capabilitiesJson(capabilities),
    })),
  };
}

/** A table of all providers, followed by the capabilities and the faults of each. */
function providersText(providers: readonly ConnectedProvider[], json: Operator['json']): string {
  const rows = providers.map((p) => [
    p.name,
    p.kind,
    stateText(p, json),
    p.tasks,
    p.waiting,
    limitsText(p),
    submitText(p.workers),
    p.models.map(({ modelKey }) => modelKey).join(' '),
  ]);
  const titles = ['provider', 'kind', 'state', 'tasks', 'waiting', 'limits', 'submit', 'models'];
  return [table(titles, rows), ...providers.map((p) => aboutLines(p, json).join('\n'))].join('\n\n');
}

/** The words of states, where they differ from those in the JSON. */
const STATE_WORDS: Readonly<Record<string, string>> = { closed: 'working', trying: 'trying again' };

function stateText(seen: ConnectedProvider | ProviderWorker, json: Operator['json']): string {
  const { state, circuit } = json(seen);
  const word = (state ?? circuit) as string;
  return STATE_WORDS[word] ?? word;
}

/** The state with its times, and its reason. */
function conditionText(provider: ConnectedProvider, json: Operator['json']): string {
  const { reason, pauseEndTime, failTime, lastCallTime } = provider;
  const times = [
    ...(pauseEndTime === undefined ? [] : [`until ${isoTime(pauseEndTime)}`]),
    ...(failTime === undefined ? [] : [`failing since ${isoTime(failTime)}`]),
    ...(failTime !== undefined || lastCallTime === undefined ? [] : [`last used ${isoTime(lastCallTime)}`]),
  ];
  return `${[stateText(provider, json), ...times].join(', ')}. ${printable(reason)}`;
}

function limitsText({ maxConcurrent, maxSubmissionsPerMinute }: ConnectedProvider): string {
  const limits = [
    ...(maxConcurrent === undefined ? [] : [counted(maxConcurrent, 'task')]),
    ...(maxSubmissionsPerMinute === undefined ? [] : [`${maxSubmissionsPerMinute} a minute`]),
  ];
  return limits.length === 0 ? 'none' : limits.join(', ');
}

/** The least and the most of the workers' medians. */
function submitText(workers: readonly ProviderWorker[]): string {
  const medians = workers.flatMap(({ current, medianSubmitTime }) => (current ? (msOf(medianSubmitTime) ?? []) : []));
  if (medians.length === 0) return '';
  const [least, most] = [Math.min(...medians), Math.max(...medians)];
  return least === most ? `${least} ms` : `${least} to ${most} ms`;
}

function aboutLines(provider: ConnectedProvider, json: Operator['json']): string[] {
  const { name, models, workers } = provider;
  return [
    `${name}: ${conditionText(provider, json)}`,
    ...(models.length === 0 ? ['  no model has it in its route'] : capabilitiesByModel(models, json)),
    ...workers.flatMap((one) => workerLines(one, json)),
  ];
}

function capabilitiesByModel(models: ConnectedProvider['models'], json: Operator['json']): string[] {
  const byLine = new Map<string, string[]>();
  for (const { modelKey, promises } of models) {
    const line = capabilitiesLine(json(promises));
    byLine.set(line, [...(byLine.get(line) ?? []), modelKey]);
  }
  return [...byLine].map(([line, keys]) => (byLine.size === 1 ? `  ${line}` : `  ${keys.join(', ')}: ${line}`));
}

const CANCELS = {
  nothing: 'stops nothing',
  queued: 'stops waiting tasks',
  running: 'stops running tasks',
} as const;

/** The JSON of a provider's capabilities. */
interface Capabilities {
  readonly answers_with_outputs: boolean;
  readonly is_asked_by: 'token' | 'nothing';
  readonly takes_token_once: boolean;
  readonly settle_ms: number;
  readonly cancels: keyof typeof CANCELS;
  readonly keeps_results_ms?: number;
  readonly is_paid: boolean;
  readonly max_masked_references?: number;
  readonly needs_mask?: boolean;
}

/** A provider's capabilities as one short line, from their JSON. */
export function capabilitiesLine(json: JsonObject): string {
  const p = json as unknown as Capabilities;
  const { settle_ms: settleMs, keeps_results_ms: keptMs, max_masked_references: masks = 0 } = p;
  const lost =
    p.is_asked_by === 'token'
      ? `asked after a lost answer${settleMs === 0 ? '' : `, believed after ${timeText(settleMs)}`}`
      : 'cannot be asked after a lost answer';
  return [
    lost,
    ...(p.takes_token_once ? ['takes a task once'] : []),
    CANCELS[p.cancels],
    ...(p.answers_with_outputs ? ['results in the answer only'] : []),
    ...(keptMs === undefined ? [] : [`keeps results ${timeText(keptMs)}`]),
    ...(masks === 0 ? [] : [p.needs_mask === true ? neededMasks(masks) : `takes ${counted(masks, 'mask')}`]),
    p.is_paid ? 'paid' : 'not paid',
  ].join('; ');
}

function neededMasks(most: number): string {
  return most === 1 ? 'needs a mask' : `needs 1 to ${most} masks`;
}

function workerLines(use: ProviderWorker, json: Operator['json']): string[] {
  const { worker, pauseEndTime, lastError, seenTime, current, tasks, waiting } = use;
  const word = stateText(use, json);
  const state = word === 'paused' && pauseEndTime !== undefined ? `paused until ${isoTime(pauseEndTime)}` : word;
  const seen = current
    ? `${state}, ${counted(tasks, 'task')}, ${waiting} waiting`
    : `last seen ${isoTime(seenTime)}, ${state} then`;
  const error = lastError === undefined ? [] : [`    ${isoTime(lastError.time)} ${printable(lastError.message)}`];
  return [`  worker ${worker}: ${seen}`, ...error];
}

function timeText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const seconds = ms / 1_000;
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}
