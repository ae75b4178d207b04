import { cogDriver } from '../../../../adapters/providers/cog/cog-driver.js';
import { type CogProvider, openCog } from '../../../../adapters/providers/cog/cog-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { MEMORY_BYTES } from '../../../fixtures/marked-media.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

export const SETTINGS: JsonObject = {
  references: { reference_image: { field: 'image' } },
  mask: { field: 'mask', form: 'white' },
  fields: {
    num_outputs: { parameter: 'n', type: 'integer', minimum: 1, maximum: 4 },
    seconds: { parameter: 'seconds', type: 'integer', minimum: 0, maximum: 600 },
  },
  output: { media_type: 'image/png' },
};

/** An instance with the defaults of its driver. */
export function cogAt(
  base: string,
  options: JsonObject = {},
  log: Log = SILENT,
  memory = new MemoryBudget(MEMORY_BYTES),
): CogProvider {
  const given = { ...defaultsOf(cogDriver.options), base_url: base, ...options };
  return openCog({ options: given, instance: 'cog', log, memory });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return sampleTask({ modelKey: 'own', settings: SETTINGS, ...wish });
}
