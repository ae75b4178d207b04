import type { Model } from '../../core/catalog/model.js';
import type { JsonObject } from '../../core/json.js';
import { MODELS } from '../fixtures/models.js';

/** The canned models may take days, a file's models must be done within one; no vector waits for either. */
const LONG_SECONDS = 36_000;
const MILLION = 1_000_000;

/**
 * The sandbox's settings that make it behave like the canned provider in memory; its behaviours are parameters, so here
 * they are defaults.
 */
const IN_THE_SANDBOX: Readonly<
  Record<string, { readonly painter: string; readonly defaults: Readonly<Record<string, string>> }>
> = {
  'picture': { painter: 'image', defaults: {} },
  'picture-held': { painter: 'test', defaults: { behaviour: 'hang' } },
  'picture-refused': { painter: 'test', defaults: { behaviour: 'refuse', error_code: 'CONTENT_REJECTED_INPUT' } },
  'clip': { painter: 'video', defaults: {} },
};

/** The models of the shared vectors as a catalog file, on the sandbox. */
export function vectorCatalog(): string {
  return JSON.stringify({ version: 1, models: MODELS.map(entryOf) });
}

function entryOf(model: Model): JsonObject {
  const { painter, defaults } = IN_THE_SANDBOX[model.modelKey] ?? { painter: 'image', defaults: {} };
  const fixed = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string', enum: [value], default: value }]),
  );
  return {
    model_key: model.modelKey,
    display_name: model.displayName,
    modality: model.modality,
    operations: [...model.operations],
    ...(model.description === undefined ? {} : { description: model.description }),
    input_schema: {
      ...model.inputSchema,
      properties: { ...(model.inputSchema['properties'] as JsonObject), ...fixed },
    },
    prompt: model.promptRule,
    max_prompt_characters: model.maxPromptCharacters,
    limits: limitsOf(model),
    required_roles: [...model.requiredRoles],
    price: priceOf(model),
    provider: 'sandbox',
    provider_settings: { painter },
    queue_timeout_seconds: LONG_SECONDS,
    run_timeout_seconds: LONG_SECONDS,
    max_attempts: model.maxAttempts,
    concurrency: model.concurrency,
    concurrency_per_account: model.concurrencyPerAccount,
    cancel_floor_credits: model.cancelFloorCredits,
    on_unknown_acceptance: model.onUnknownAcceptance,
    poll_interval_ms: model.pollIntervalMs,
  };
}

function limitsOf({ limits }: Model): JsonObject {
  return {
    max_reference_uploads: limits.maxReferenceUploads,
    reference_roles: [...limits.referenceRoles],
    upload_media_types: [...limits.uploadMediaTypes],
    max_upload_bytes: limits.maxUploadBytes,
    max_outputs: limits.maxOutputs,
    negative_prompt: limits.negativePrompt,
  };
}

function priceOf({ price }: Model): JsonObject {
  const named = {
    count_parameter: price.countParameter,
    size_parameter: price.sizeParameter,
    duration_parameter: price.durationParameter,
  };
  return {
    version: price.version,
    unit: price.unit,
    credits_per_unit: price.microcreditsPerUnit / MILLION,
    base_credits: price.baseMicrocredits / MILLION,
    ...(Object.fromEntries(Object.entries(named).filter(([, name]) => name !== undefined)) as JsonObject),
    minimum_credits: price.minimumCredits,
    maximum_credits: price.maximumCredits,
  };
}
