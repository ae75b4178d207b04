import { a1111Driver } from '../../../../adapters/providers/a1111/a1111-driver.js';
import { A1111Provider } from '../../../../adapters/providers/a1111/a1111-provider.js';
import { openConnection } from '../../../../adapters/providers/shared/connection.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

export const SETTINGS: JsonObject = {
  references: 'init_images',
  override_settings: { sd_model_checkpoint: 'v1-5-pruned-emaonly' },
  fields: {
    size: { parameter: 'size', type: 'string', enum: ['64x64', '512x768'] },
    seed: { parameter: 'seed', type: 'integer', minimum: 0, maximum: 1_000 },
    steps: { parameter: 'steps', type: 'integer', minimum: 1, maximum: 50 },
    sampler_name: { parameter: 'sampler', values: { euler: 'Euler a', dpm: 'DPM++ 2M' } },
    cfg_scale: { value: 7 },
  },
};

/** An instance with the defaults of its driver. */
export function a1111At(base: string, options: JsonObject = {}, log: Log = SILENT): A1111Provider {
  const given = { ...defaultsOf(a1111Driver.options), base_url: base, ...options };
  const connection = openConnection({ options: given, instance: 'studio', scheme: 'Basic' });
  return new A1111Provider({ connection, instance: 'studio', log, memory: new MemoryBudget(64 * 1024 * 1024) });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return sampleTask({ settings: SETTINGS, ...wish });
}
