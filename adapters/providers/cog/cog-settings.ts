import type { JsonObject } from '../../../core/json.js';
import { settingsReader } from '../shared/mapped-settings.js';
import { OUTPUT_PROPERTIES, type OutputSettings } from '../shared/output-settings.js';
import { INPUT_SETTINGS, type InputSettings } from '../shared/task-input.js';

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

export const { readSettings, settingsFault } = settingsReader<CogSettings>(SCHEMA);
