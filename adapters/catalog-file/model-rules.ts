import { defaultConcurrencyPerAccount, type Model, type RouteEntry } from '../../core/catalog/model.js';
import type { ModelMark } from '../../core/media/ai-mark.js';
import type { ModelEntry } from './catalog-schema.js';
import { type PlaceFault, priceTerms } from './price-rules.js';

/**
 * Uploads are kept for a day when nothing else is said, so that a reference outlives the generation that waits for it.
 */
const MAX_TIMEOUTS_SECONDS = 24 * 3_600;

/** The rules between the fields of a model, each with the fields it is about. Pointers are relative to the model. */
export function modelFaults(entry: ModelEntry, isSound: (...names: (keyof ModelEntry)[]) => boolean): PlaceFault[] {
  const faults: PlaceFault[] = [];
  const say = (pointer: string, message: string) => {
    faults.push({ pointer, message });
  };
  if (isSound('modality', 'operations')) {
    const fitting = `${entry.modality}_generation`;
    if (entry.operations.some((operation) => operation !== fitting)) {
      say('/operations', `must be [${fitting}] for a model of modality ${entry.modality}`);
    }
  }
  if (isSound('modality', 'limits')) {
    const { limits } = entry;
    if (entry.modality === 'image' && limits.reference_roles.some((role) => role !== 'reference_image')) {
      say('/limits/reference_roles', 'may hold start_frame and end_frame for a video model only');
    }
    const takesUploads = limits.max_reference_uploads > 0;
    if (takesUploads && limits.reference_roles.length === 0) {
      say('/limits/reference_roles', 'must not be empty when max_reference_uploads is above 0');
    }
    if (takesUploads && limits.upload_media_types.length === 0) {
      say('/limits/upload_media_types', 'must not be empty when max_reference_uploads is above 0');
    }
  }
  if (isSound('concurrency', 'concurrency_per_account') && (entry.concurrency_per_account ?? 0) > entry.concurrency) {
    say('/concurrency_per_account', 'must not be above concurrency');
  }
  if (
    isSound('queue_timeout_seconds', 'run_timeout_seconds') &&
    entry.queue_timeout_seconds + entry.run_timeout_seconds >= MAX_TIMEOUTS_SECONDS
  ) {
    say(
      '/queue_timeout_seconds',
      'and run_timeout_seconds must together be below 86400, the day that uploads are kept',
    );
  }
  for (const fault of routeFaults(entry, isSound)) faults.push(fault);
  if (isSound('ai_mark')) for (const fault of markFaults(entry.ai_mark)) faults.push(fault);
  if (isSound('price', 'cancel_floor_credits') && entry.cancel_floor_credits > entry.price.maximum_credits) {
    say('/cancel_floor_credits', 'must not be above price.maximum_credits');
  }
  return faults;
}

function* routeFaults(
  { provider, provider_settings: settings, route }: ModelEntry,
  isSound: (...names: (keyof ModelEntry)[]) => boolean,
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

/** A checked entry of the file as core's model. */
export function modelOf(entry: ModelEntry, sourceOf: (pointer: string) => string | undefined): Model {
  const { limits } = entry;
  return {
    modelKey: entry.model_key,
    displayName: entry.display_name,
    modality: entry.modality,
    operations: entry.operations,
    ...(entry.description === undefined ? {} : { description: entry.description }),
    inputSchema: entry.input_schema,
    limits: {
      maxReferenceUploads: limits.max_reference_uploads,
      referenceRoles: limits.reference_roles,
      uploadMediaTypes: limits.upload_media_types,
      maxUploadBytes: limits.max_upload_bytes,
      maxOutputs: limits.max_outputs,
      negativePrompt: limits.negative_prompt,
    },
    price: priceTerms(entry, sourceOf),
    route: routeOf(entry),
    queueTimeoutMs: entry.queue_timeout_seconds * 1_000,
    runTimeoutMs: entry.run_timeout_seconds * 1_000,
    maxAttempts: entry.max_attempts,
    concurrency: entry.concurrency,
    concurrencyPerAccount: entry.concurrency_per_account ?? defaultConcurrencyPerAccount(entry.concurrency),
    cancelFloorCredits: entry.cancel_floor_credits,
    onUnknownAcceptance: entry.on_unknown_acceptance,
    ...(entry.on_invalid_output === undefined ? {} : { onInvalidOutput: entry.on_invalid_output }),
    onOtherSize: entry.on_other_size ?? 'deliver',
    ...(entry.ai_mark === undefined ? {} : { mark: markOf(entry.ai_mark) }),
    pollIntervalMs: entry.poll_interval_ms,
  };
}

/** The names that the file uses for the ways in which media are made. */
const MARK_SOURCES = {
  by_references: 'by-references',
  trained: 'trainedAlgorithmicMedia',
  composite: 'compositeWithTrainedAlgorithmicMedia',
  algorithmic: 'algorithmicMedia',
  none: 'none',
} as const;

function markOf({
  source = 'by_references',
  system,
  system_version: systemVersion,
}: NonNullable<ModelEntry['ai_mark']>): ModelMark {
  return {
    source: MARK_SOURCES[source],
    ...(system === undefined ? {} : { system }),
    ...(systemVersion === undefined ? {} : { systemVersion }),
  };
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
