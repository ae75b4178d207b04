import type { JsonObject } from '../../../core/json.js';
import { POINTER_PATTERN } from '../shared/pointer-values.js';
import { DELIVERED_TYPES } from '../shared/result-files.js';
import { checkSettings } from '../shared/settings.js';
import { INPUT_SETTINGS, inputSettingsFault, type InputSettings } from '../shared/task-input.js';

/** A model's `provider_settings`. */
export interface ReplicateSettings extends InputSettings {
  /** `owner/name`. */
  readonly model?: string;
  /** Of `model`; absent for an official model. */
  readonly version?: string;
  /** `owner/name`, instead of a model. */
  readonly deployment?: string;
  readonly output: {
    readonly media_type: string;
    /** Where the addresses of files are in the output; the output itself, or its items, when absent. */
    readonly at?: string;
  };
}

const OWNER_AND_NAME: JsonObject = {
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}/[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$',
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
    },
    deployment: OWNER_AND_NAME,
    ...INPUT_SETTINGS,
    output: {
      type: 'object',
      additionalProperties: false,
      required: ['media_type'],
      properties: {
        media_type: { type: 'string', enum: [...DELIVERED_TYPES] },
        at: { type: 'string', maxLength: 200, pattern: POINTER_PATTERN },
      },
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

function targetFault({ model, version, deployment }: ReplicateSettings): string | undefined {
  if ((model === undefined) === (deployment === undefined)) return 'Either model or deployment must be given.';
  return version !== undefined && model === undefined ? 'A deployment has its own version; remove version.' : undefined;
}
