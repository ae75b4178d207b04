import { sdcppDriver } from '../../../../adapters/providers/sdcpp/sdcpp-driver.js';
import { SdcppProvider } from '../../../../adapters/providers/sdcpp/sdcpp-provider.js';
import { openConnection } from '../../../../adapters/providers/shared/connection.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { defaultsOf, sampleTask } from '../vendor-subject.js';

/** The smallest picture, in one step. */
export const SETTINGS: JsonObject = {
  references: 'init_image',
  fields: {
    'size': { value: '64x64' },
    'output_format': { parameter: 'format', type: 'string', enum: ['png', 'jpeg', 'webp'] },
    'seed': { parameter: 'seed', type: 'integer', minimum: 0, maximum: 1_000 },
    'sample_params.sample_steps': { parameter: 'steps', type: 'integer', minimum: 1, maximum: 100 },
    'sample_params.guidance.txt_cfg': { value: 1 },
  },
};

export const KEY = 'key-of-the-test';

/** An instance with the defaults of its driver. */
export function sdcppAt(base: string, options: JsonObject = {}, log: Log = SILENT): SdcppProvider {
  const given = { ...defaultsOf(sdcppDriver.options), base_url: base, ...options };
  const connection = openConnection({ options: given, instance: 'studio' });
  return new SdcppProvider({ connection, instance: 'studio', log, memory: new MemoryBudget(64 * 1024 * 1024) });
}

export function task(wish: Partial<Submission> = {}): Submission {
  return sampleTask({ parameters: { steps: 1 }, settings: SETTINGS, ...wish });
}
