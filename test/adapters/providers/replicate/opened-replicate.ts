import { replicateDriver } from '../../../../adapters/providers/replicate/replicate-driver.js';
import { openReplicate, type ReplicateProvider } from '../../../../adapters/providers/replicate/replicate-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { MEMORY_BYTES } from '../../../fixtures/marked-media.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

export const SETTINGS: JsonObject = {
  model: 'black-forest-labs/flux-schnell',
  negative_prompt_field: 'negative_prompt',
  references: { reference_image: { field: 'input_images', many: true }, start_frame: { field: 'image' } },
  mask: { field: 'mask', form: 'white' },
  fields: { num_outputs: { parameter: 'n', type: 'integer', minimum: 1, maximum: 4 }, output_format: { value: 'png' } },
  output: { media_type: 'image/png' },
};

/** An instance with the defaults of its driver. */
export function replicateAt(
  base: string,
  options: JsonObject = {},
  log: Log = SILENT,
  memory = new MemoryBudget(MEMORY_BYTES),
): ReplicateProvider {
  const given = { ...defaultsOf(replicateDriver.options), base_url: base, api_key: 'r8_test', ...options };
  return openReplicate({ options: given, instance: 'replicate', log, memory });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return sampleTask({ modelKey: 'flux', outputCount: 4, timeLeftMs: 90_500, settings: SETTINGS, ...wish });
}
