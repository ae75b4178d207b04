import type { Modality } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { OUTPUT_PROPERTIES, outputFormatFault, type OutputSettings } from '../shared/output-settings.js';
import { checkSettings } from '../shared/settings.js';
import { INPUT_SETTINGS, type InputSettings, inputSettingsFault } from '../shared/task-input.js';

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

export type ReadSettings = { readonly fault: string } | { readonly settings: ReplicateSettings };

export function readSettings(given: JsonObject): ReadSettings {
  const checked = checkSettings(SCHEMA, given);
  if ('fault' in checked) return checked;
  const settings = checked.settings as unknown as ReplicateSettings;
  const fault = targetFault(settings) ?? inputSettingsFault(settings);
  return fault === undefined ? { settings } : { fault };
}

/** The same for a catalog, which says what the model makes. */
export function settingsFault(given: JsonObject, modality: Modality): string | undefined {
  const read = readSettings(given);
  return 'fault' in read ? read.fault : outputFormatFault(read.settings, modality);
}

function targetFault({ model, version, deployment }: ReplicateSettings): string | undefined {
  if ((model === undefined) === (deployment === undefined)) return 'Either model or deployment must be given.';
  return version !== undefined && model === undefined ? 'A deployment has its own version; remove version.' : undefined;
}
