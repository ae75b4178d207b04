import type { Model, RouteEntry } from '../../core/catalog/model.js';
import { isFrame } from '../../core/generation/generation.js';
import type { ModelMark } from '../../core/media/ai-mark.js';
import type { ModelEntry } from './catalog-schema.js';
import { type PlaceFault, priceTerms, type SourceOf } from './price-rules.js';

/**
 * Uploads are kept for a day when nothing else is said, so that a reference outlives the generation that waits for it.
 */
const MAX_TIMEOUTS_SECONDS = 24 * 3_600;

type IsSound = (...names: (keyof ModelEntry)[]) => boolean;

/** The rules between the fields of a model, each with the fields it is about. Pointers are relative to the model. */
export function* modelFaults(entry: ModelEntry, isSound: IsSound): Generator<PlaceFault> {
  const { modality, operations, limits } = entry;
  if (isSound('modality', 'operations')) {
    const fitting = `${modality}_generation`;
    if (operations.some((operation) => operation !== fitting))
      yield { pointer: '/operations', message: `must be [${fitting}] for a model of modality ${modality}` };
  }
  if (isSound('modality', 'limits')) {
    if (modality === 'image' && limits.reference_roles.some((role) => role !== 'reference_image'))
      yield {
        pointer: '/limits/reference_roles',
        message: 'may hold start_frame and end_frame for a video model only',
      };
    for (const name of ['reference_roles', 'upload_media_types'] as const)
      if (limits.max_reference_uploads > 0 && limits[name].length === 0)
        yield { pointer: `/limits/${name}`, message: 'must not be empty when max_reference_uploads is above 0' };
  }
  if (isSound('limits', 'required_roles')) yield* requiredRolesFaults(entry);
  if (isSound('concurrency', 'concurrency_per_account') && entry.concurrency_per_account > entry.concurrency)
    yield { pointer: '/concurrency_per_account', message: `must not be above concurrency, ${entry.concurrency}` };
  if (
    isSound('queue_timeout_seconds', 'run_timeout_seconds') &&
    entry.queue_timeout_seconds + entry.run_timeout_seconds >= MAX_TIMEOUTS_SECONDS
  )
    yield {
      pointer: '/queue_timeout_seconds',
      message: 'and run_timeout_seconds must together be below 86400, the day that uploads are kept',
      lineAt:
        entry.run_timeout_seconds > entry.queue_timeout_seconds ? '/run_timeout_seconds' : '/queue_timeout_seconds',
    };
  yield* routeFaults(entry, isSound);
  if (isSound('ai_mark')) yield* markFaults(entry.ai_mark);
  const { maximum_credits: most = Infinity } = entry.price;
  if (isSound('price', 'cancel_floor_credits') && entry.cancel_floor_credits > most)
    yield { pointer: '/cancel_floor_credits', message: 'must not be above price.maximum_credits' };
}

function* requiredRolesFaults({ limits, required_roles: required }: ModelEntry): Generator<PlaceFault> {
  const pointer = '/required_roles';
  const { reference_roles: taken, max_reference_uploads: most } = limits;
  const unknown = required.find((role) => !taken.includes(role));
  const twice = required.find((role, index) => isFrame(role) && required.indexOf(role) < index);
  if (unknown !== undefined)
    yield { pointer, message: `must be roles of limits.reference_roles, which does not have ${unknown}` };
  else if (twice !== undefined) yield { pointer, message: `must not have ${twice} twice: a request has at most one` };
  else if (required.length > most)
    yield { pointer, message: `must not be more than limits.max_reference_uploads, ${most}` };
}

function* routeFaults(
  { provider, provider_settings: settings, route }: ModelEntry,
  isSound: IsSound,
): Generator<PlaceFault> {
  if (!isSound('provider', 'provider_settings', 'route')) return;
  if (provider === undefined && route === undefined)
    yield { pointer: '/provider', message: 'is required, or a route of several providers' };
  if (route === undefined) return;
  if (provider !== undefined || settings !== undefined)
    yield { pointer: '/route', message: 'must not be given beside provider and provider_settings' };
  for (const [index, entry] of route.entries()) {
    if (route.findIndex((one) => one.provider === entry.provider) < index)
      yield {
        pointer: `/route/${index}/provider`,
        message: `must name each provider once; ${entry.provider} is named before`,
      };
  }
  if (route.some(({ weight }) => weight !== undefined) && route.every(({ weight = 0 }) => weight === 0))
    yield { pointer: '/route', message: 'must have a weight above 0' };
}

/** XML has no place for these characters, escaped or not. */
// oxlint-disable-next-line no-control-regex
const NOT_IN_XML = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff\ufffe\uffff]/u;

function* markFaults(mark: ModelEntry['ai_mark']): Generator<PlaceFault> {
  for (const name of ['system', 'system_version'] as const) {
    const text = mark?.[name];
    if (text === undefined) continue;
    const pointer = `/ai_mark/${name}`;
    if (mark?.source === 'none')
      yield { pointer, message: 'must not be given where source is none: no mark is written' };
    else if (NOT_IN_XML.test(text)) yield { pointer, message: 'must not have control characters' };
    else if (text.trim() === '') yield { pointer, message: 'must not be blank' };
  }
}

/** A checked and completed entry of the file as core's model. */
export function modelOf(entry: ModelEntry, sourceOf: SourceOf): Model {
  const {
    provider: _p,
    provider_settings: _s,
    route: _r,
    origin: _o,
    ai_mark: mark,
    examples = [],
    test: isTest,
    limits,
    price: _,
    ...same
  } = entry;
  const { queue_timeout_seconds: queueSeconds, run_timeout_seconds: runSeconds, prompt: promptRule, ...rest } = same;
  return {
    ...inCamelCase(rest),
    promptRule,
    limits: inCamelCase(limits),
    price: priceTerms(entry, sourceOf),
    route: routeOf(entry),
    queueTimeoutMs: queueSeconds * 1_000,
    runTimeoutMs: runSeconds * 1_000,
    ...(examples.length === 0 ? {} : { examples }),
    ...(isTest === true ? { isTest } : {}),
    ...(mark === undefined ? {} : { mark: markOf(mark) }),
  };
}

type Camel<S> = S extends `${infer H}_${infer T}` ? `${H}${Capitalize<Camel<T>>}` : S;

/** The members under their names in core. */
function inCamelCase<T extends object>(entry: T): { readonly [K in keyof T as Camel<K>]: T[K] } {
  const camel = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [camel(name), value])) as never;
}

/** The names that the file uses for the ways in which media are made. */
const MARK_SOURCES = {
  by_references: 'by-references',
  trained: 'trainedAlgorithmicMedia',
  composite: 'compositeWithTrainedAlgorithmicMedia',
  algorithmic: 'algorithmicMedia',
  none: 'none',
} as const;

function markOf({ source = 'by_references', ...rest }: NonNullable<ModelEntry['ai_mark']>): ModelMark {
  return { source: MARK_SOURCES[source], ...inCamelCase(rest) };
}

/** One provider is a route of one. Without weights, every generation begins at the first. */
function routeOf({ provider, provider_settings: settings = {}, route = [] }: ModelEntry): readonly RouteEntry[] {
  if (provider !== undefined) return [{ provider, settings, weight: 1 }];
  const isWeighted = route.some(({ weight }) => weight !== undefined);
  return route.map(({ provider: name, provider_settings: ofEntry = {}, weight }, index) => ({
    provider: name,
    settings: ofEntry,
    weight: weight ?? (isWeighted || index > 0 ? 0 : 1),
  }));
}
