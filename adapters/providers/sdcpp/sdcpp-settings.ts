import type { JsonObject } from '../../../core/json.js';
import type { SettingsPlace } from '../../driver.js';
import { knownFieldsFault } from '../shared/known-fields.js';
import { FIELD_RULES_SCHEMA, type FieldRules } from '../shared/request-fields.js';
import { checkSettings } from '../shared/settings.js';
import { SDCPP_FIELDS } from './sdcpp-fields.js';

export interface Lora {
  /** Below the server's own folder of LoRA files. */
  readonly path: string;
  readonly multiplier: number;
}

/** A model's `provider_settings`. */
export interface SdcppSettings {
  readonly fields: FieldRules;
  /** The field that takes the references: one picture to begin with, or several that the model looks at. */
  readonly references?: 'init_image' | 'ref_images';
  readonly loras: readonly Lora[];
}

const SETTINGS_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    fields: { ...FIELD_RULES_SCHEMA, default: {} },
    references: { type: 'string', enum: ['init_image', 'ref_images'] },
    loras: {
      type: 'array',
      maxItems: 16,
      default: [],
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['path'],
        properties: {
          path: {
            type: 'string',
            pattern: '^(?!/)(?!.*(?:^|/)\\.\\.(?:/|$))[^\\u0000-\\u001f\\\\]{1,200}$',
          },
          multiplier: { type: 'number', minimum: -10, maximum: 10, default: 1 },
        },
      },
    },
  },
};

/** The settings, or the first thing wrong with them as one sentence. */
export function readSettings(settings: JsonObject): SdcppSettings | { readonly fault: string } {
  const checked = checkSettings(SETTINGS_SCHEMA, settings);
  if ('fault' in checked) return checked;
  const read = checked.settings as unknown as SdcppSettings;
  const fault = knownFieldsFault(read.fields, SDCPP_FIELDS);
  return fault === undefined ? read : { fault };
}

export function settingsFault(settings: JsonObject, { modality }: Pick<SettingsPlace, 'modality'>): string | undefined {
  if (modality === 'video')
    return 'The videos of stable-diffusion.cpp are WebM, AVI or animated WebP, which are not delivered; use it for pictures.';
  const read = readSettings(settings);
  return 'fault' in read ? read.fault : undefined;
}
