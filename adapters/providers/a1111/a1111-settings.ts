import type { JsonObject } from '../../../core/json.js';
import type { SettingsPlace } from '../../driver.js';
import { knownFieldsFault } from '../shared/known-fields.js';
import { FIELD_RULES_SCHEMA, type FieldRules } from '../shared/request-fields.js';
import { checkSettings } from '../shared/settings.js';
import { A1111_FIELDS } from './a1111-fields.js';

/** A model's `provider_settings`. */
export interface A1111Settings {
  readonly fields: FieldRules;
  /** The field that takes a reference; a model without it takes none. */
  readonly references?: 'init_images';
  /** Options of the server during a task. They are the operator's alone. */
  readonly override_settings: JsonObject;
  /** Whether tasks carry our own id, by which the server lists them. */
  readonly force_task_id: boolean;
}

/** The option that chooses the checkpoint. */
export const CHECKPOINT = 'sd_model_checkpoint';

const TEXT: JsonObject = { type: 'string', minLength: 1, maxLength: 300 };

const SETTINGS_SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    fields: { ...FIELD_RULES_SCHEMA, default: {} },
    references: { type: 'string', enum: ['init_images'] },
    override_settings: {
      type: 'object',
      default: {},
      maxProperties: 50,
      propertyNames: { pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$' },
      properties: { [CHECKPOINT]: TEXT },
      additionalProperties: {
        anyOf: [
          { type: ['string', 'number', 'boolean'] },
          { type: 'array', maxItems: 20, items: { type: 'string', maxLength: 300 } },
        ],
      },
    },
    force_task_id: { type: 'boolean', default: true },
  },
};

/** The settings, or the first thing wrong with them as one sentence. */
export function readSettings(settings: JsonObject): A1111Settings | { readonly fault: string } {
  const checked = checkSettings(SETTINGS_SCHEMA, settings);
  if ('fault' in checked) return checked;
  const read = checked.settings as unknown as A1111Settings;
  const fault = knownFieldsFault(read.fields, A1111_FIELDS) ?? overridesFault(read.override_settings);
  return fault === undefined ? read : { fault };
}

export function settingsFault(settings: JsonObject, { modality }: Pick<SettingsPlace, 'modality'>): string | undefined {
  if (modality === 'video') return 'The web UI of Stable Diffusion makes pictures only.';
  const read = readSettings(settings);
  return 'fault' in read ? read.fault : undefined;
}

/** Servers put the options back before they encode the pictures. */
function overridesFault(overrides: JsonObject): string | undefined {
  return 'samples_format' in overrides
    ? 'override_settings.samples_format has no effect on an answer; set the format in the options of the server.'
    : undefined;
}
