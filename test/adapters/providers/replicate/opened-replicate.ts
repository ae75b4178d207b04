import { openReplicate, type ReplicateProvider } from '../../../../adapters/providers/replicate/replicate-provider.js';
import { replicateDriver } from '../../../../adapters/providers/replicate/replicate-driver.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { SILENT } from '../../../fixtures/silent-log.js';
import { defaultsOf } from '../option-defaults.js';

export const SETTINGS: JsonObject = {
  model: 'black-forest-labs/flux-schnell',
  negative_prompt_field: 'negative_prompt',
  references: { reference_image: { field: 'input_images', many: true }, start_frame: { field: 'image' } },
  fields: { num_outputs: { parameter: 'n', type: 'integer', minimum: 1, maximum: 4 }, output_format: { value: 'png' } },
  output: { media_type: 'image/png' },
};

/** An instance with the defaults of its driver. */
export function replicateAt(base: string, options: JsonObject = {}, log: Log = SILENT): ReplicateProvider {
  const given = { ...defaultsOf(replicateDriver.options), base_url: base, api_key: 'r8_test', ...options };
  return openReplicate({ options: given, instance: 'replicate', log });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return {
    generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
    attempt: 1,
    modelKey: 'flux',
    operation: 'image_generation',
    prompt: 'a lighthouse',
    parameters: {},
    references: [],
    settings: SETTINGS,
    token: '7b7d9d2c-40be-4d28-b0f8-0f6c2c8a5a10',
    outputCount: 4,
    timeLeftMs: 90_500,
    ...wish,
  };
}
