import { falDriver } from '../../../../adapters/providers/fal/fal-driver.js';
import { type FalProvider, openFal } from '../../../../adapters/providers/fal/fal-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { MEMORY_BYTES } from '../../../fixtures/marked-media.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

export const SETTINGS: JsonObject = {
  endpoint: 'fal-ai/flux/schnell',
  references: { reference_image: { field: 'image_urls', many: true }, start_frame: { field: 'image_url' } },
  mask: { field: 'mask_url', form: 'white' },
  fields: { num_images: { parameter: 'n', type: 'integer', minimum: 1, maximum: 4 }, output_format: { value: 'png' } },
  output: { media_type: 'image/png', at: '/images/*/url', withheld_at: '/has_nsfw_concepts/*' },
};

/** An instance with the defaults of its driver. */
export function falAt(
  base: string,
  options: JsonObject = {},
  log: Log = SILENT,
  memory = new MemoryBudget(MEMORY_BYTES),
): FalProvider {
  const given = { ...defaultsOf(falDriver.options), base_url: base, api_key: 'id:secret', ...options };
  return openFal({ options: given, instance: 'fal', log, memory });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return sampleTask({ modelKey: 'flux', outputCount: 4, timeLeftMs: 90_500, settings: SETTINGS, ...wish });
}
