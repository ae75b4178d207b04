import type { Modality } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { OUTPUT_PROPERTIES, outputFormatFault, type OutputSettings } from '../shared/output-settings.js';
import { checkSettings } from '../shared/settings.js';
import { INPUT_SETTINGS, type InputSettings, inputSettingsFault } from '../shared/task-input.js';

/** A model's `provider_settings`. Without `output.at`, the results are the output itself or its items. */
export type CogSettings = InputSettings & OutputSettings;

const SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['output'],
  properties: {
    ...INPUT_SETTINGS,
    output: {
      type: 'object',
      additionalProperties: false,
      required: ['media_type'],
      properties: OUTPUT_PROPERTIES,
    },
  },
};

export type ReadSettings = { readonly fault: string } | { readonly settings: CogSettings };

export function readSettings(given: JsonObject): ReadSettings {
  const checked = checkSettings(SCHEMA, given);
  if ('fault' in checked) return checked;
  const settings = checked.settings as unknown as CogSettings;
  const fault = inputSettingsFault(settings);
  return fault === undefined ? { settings } : { fault };
}

/** The same for a catalog, which says what the model makes. */
export function settingsFault(given: JsonObject, modality: Modality): string | undefined {
  const read = readSettings(given);
  return 'fault' in read ? read.fault : outputFormatFault(read.settings, modality);
}
