import type { JsonObject } from '../../../core/json.js';
import { settingsReader } from '../shared/mapped-settings.js';
import { OUTPUT_PROPERTIES, type OutputSettings } from '../shared/output-settings.js';
import { INPUT_SETTINGS, type InputSettings } from '../shared/task-input.js';

/** A model's `provider_settings`. Without `output.at`, the results are the output itself or its items. */
export interface ReplicateSettings extends InputSettings, OutputSettings {
  /** `owner/name`. */
  readonly model?: string;
  /** The version of `model`; absent for an official model. */
  readonly version?: string;
  /** `owner/name`, instead of a model. */
  readonly deployment?: string;
}

const OWNER_AND_NAME: JsonObject = {
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}/[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$',
  description: 'an owner and a name with a slash between them, such as black-forest-labs/flux-schnell',
};

const SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['output'],
  properties: {
    model: OWNER_AND_NAME,
    version: {
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
      description: 'the 64 digits of a version, of 0 to 9 and a to f',
    },
    deployment: OWNER_AND_NAME,
    ...INPUT_SETTINGS,
    output: {
      type: 'object',
      additionalProperties: false,
      required: ['media_type'],
      properties: OUTPUT_PROPERTIES,
    },
  },
};

export const { readSettings, settingsOf, settingsFault } = settingsReader<ReplicateSettings>(SCHEMA, targetFault);

function targetFault({ model, version, deployment }: ReplicateSettings): string | undefined {
  if ((model === undefined) === (deployment === undefined)) return 'Either model or deployment must be given.';
  return version !== undefined && model === undefined ? 'A deployment has its own version; remove version.' : undefined;
}
