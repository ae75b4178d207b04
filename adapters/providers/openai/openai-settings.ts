import type { Modality } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { formatFault } from '../../../core/media/image-header.js';
import type { RefusedValue, SettingsPlace } from '../../driver.js';
import { ListedHosts } from '../../http/allow-list.js';
import { MASK_FORMS, type MaskForm } from '../shared/masked-reference.js';
import { operatorFieldsFault, promptFieldFault } from '../shared/operator-fields.js';
import {
  FIELD_RULES_SCHEMA,
  type FieldRule,
  type FieldRules,
  fieldRulesFault,
  parametersIn,
} from '../shared/request-fields.js';
import { refusedValues } from '../shared/refused-values.js';
import { checkSettings } from '../shared/settings.js';
import { requiredMaskFault } from '../shared/split-references.js';
import { PRESET_NAMES, type PresetName, PRESETS, type ServerSettings } from './presets.js';

const FIELD_NAME: JsonObject = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}(\\[\\])?$' };

/** A model's `provider_settings`. */
const SCHEMA: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    preset: { type: 'string', enum: [...PRESET_NAMES], default: 'openai' },
    api: { type: 'string', enum: ['sync', 'video'], default: 'sync' },
    model: { type: 'string', minLength: 1, maxLength: 200 },
    cancel: { type: 'string', enum: ['none', 'delete'] },
    response_format: { type: 'string', enum: ['none', 'b64_json', 'url'] },
    result_hosts: { type: 'array', maxItems: 20, items: { type: 'string', minLength: 1, maxLength: 255 } },
    request: { type: 'string', enum: ['json', 'multipart'] },
    references: {
      type: 'object',
      additionalProperties: false,
      properties: {
        as: { type: 'string', enum: ['multipart', 'json'] },
        field: FIELD_NAME,
        max: { type: 'integer', minimum: 0, maximum: 16 },
      },
    },
    mask: {
      type: 'object',
      additionalProperties: false,
      required: ['form'],
      properties: {
        field: { ...FIELD_NAME, default: 'mask' },
        form: { type: 'string', enum: [...MASK_FORMS, 'none'] },
        required: { type: 'boolean' },
      },
    },
    negative_prompt_field: FIELD_NAME,
    server_errors: { type: 'string', enum: ['unknown', 'final'] },
    paid: { type: 'boolean' },
    refused_in_prompts: { type: 'array', maxItems: 20, items: { type: 'string', minLength: 1, maxLength: 200 } },
    fields: FIELD_RULES_SCHEMA,
    reference_fields: FIELD_RULES_SCHEMA,
  },
};

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(SCHEMA['properties'] as JsonObject);

/** The settings of a model that override their preset. */
type GivenSettings = Partial<Omit<ServerSettings, 'references'>> & {
  readonly preset: PresetName;
  readonly api: ServerSettings['api'];
  readonly references?: Partial<ServerSettings['references']>;
};

/** Fields that this provider fills itself. */
const OWN_FIELDS: readonly string[] = ['prompt', 'model', 'response_format', 'stream', 'partial_images'];
/** Fields for who pays, and for what is kept: no parameter of any type is for them. */
const ACCOUNT_FIELDS: readonly string[] = ['input', 'user', 'store'];

export type ReadSettings = { readonly fault: string } | { readonly settings: ServerSettings };

const known = new WeakMap<JsonObject, ReadSettings>();

/** The settings of a model with those of their preset, or the first fault as one sentence. */
export function readSettings(given: JsonObject): ReadSettings {
  const before = known.get(given);
  if (before !== undefined) return before;
  const read = freshlyRead(given);
  known.set(given, read);
  return read;
}

/** The form of the mask that the server takes; undefined where it takes none. */
export function maskForm({ mask, references: { max } }: ServerSettings): MaskForm | undefined {
  return mask === undefined || mask.form === 'none' || max === 0 ? undefined : mask.form;
}

/** Whether the server refuses a task without a mask. */
export function isMaskNeeded({ mask }: ServerSettings): boolean {
  return mask?.required === true;
}

export function settingsFault(given: JsonObject): string | undefined {
  const read = readSettings(given);
  return 'fault' in read ? read.fault : undefined;
}

/** Settings that can be used, for a model whose requests may come without the file that has the mask. */
export function neededMaskFault(given: JsonObject, place: Pick<SettingsPlace, 'requiredRoles'>): string | undefined {
  const read = readSettings(given);
  return 'settings' in read && isMaskNeeded(read.settings) ? requiredMaskFault(place) : undefined;
}

/** Settings that can be used, for a model that makes something else: each task would be made, and not delivered. */
export function modalityFault(given: JsonObject, modality: Modality): string | undefined {
  const read = readSettings(given);
  const fitting = modality === 'video' ? 'video' : 'sync';
  if ('fault' in read || read.settings.api === fitting) return undefined;
  return `api must be ${fitting} for a model of modality ${modality}, not ${read.settings.api}.`;
}

/** Also those that a preset has a field for. */
export function parametersSent(given: JsonObject): readonly string[] {
  const read = readSettings(given);
  return 'fault' in read ? [] : parametersIn(read.settings.fields, read.settings.reference_fields);
}

/** Also by the rules of its preset. */
export function valuesRefused(given: JsonObject, inputSchema: JsonObject): readonly RefusedValue[] {
  const read = readSettings(given);
  return 'fault' in read ? [] : refusedValues([read.settings.fields, read.settings.reference_fields], inputSchema);
}

function freshlyRead(given: JsonObject): ReadSettings {
  const checked = checkSettings(SCHEMA, given);
  if ('fault' in checked) return checked;
  const { preset, ...own } = checked.settings as unknown as GivenSettings;
  const base = PRESETS[preset][own.api];
  if (base === undefined) return { fault: `The preset ${preset} has no api ${own.api}.` };
  const settings = {
    ...base,
    ...own,
    references: { ...base.references, ...own.references },
    fields: { ...base.fields, ...own.fields },
    reference_fields: { ...base.reference_fields, ...own.reference_fields },
  };
  const fault = settingsContradiction(settings, preset);
  return fault === undefined ? { settings } : { fault };
}

function settingsContradiction(settings: ServerSettings, preset: PresetName): string | undefined {
  const { api, model, cancel, references, request, paid, server_errors: errors } = settings;
  if (model === undefined && (preset === 'openai' || preset === 'localai')) return 'model is required.';
  if (api === 'sync' && cancel === 'delete') return 'cancel must be none with api sync: there is no job to delete.';
  if (api === 'sync' && request === 'multipart') return 'request must be json with api sync.';
  if (api === 'video' && references.as === 'json') return 'references.as must be multipart with api video.';
  // A refusal is followed by a submission with another token.
  if (paid && errors === 'final')
    return 'server_errors must be unknown where paid is true: a task that was taken before an error would be paid twice.';
  const { result_hosts: hosts, fields, reference_fields: further } = settings;
  return (
    maskFault(settings) ??
    hostsFault(hosts) ??
    rulesFault(fields, 'fields') ??
    rulesFault(further, 'reference_fields') ??
    negativeFieldFault(settings)
  );
}

function maskFault({ api, references, mask, fields, reference_fields: further }: ServerSettings): string | undefined {
  if (mask === undefined) return undefined;
  if (mask.form === 'none')
    return mask.required === true ? 'mask.required needs a form of mask other than none.' : undefined;
  if (mask.required === true && references.max === 0) return 'mask.required needs references.max to be above 0.';
  if (api === 'video') return 'mask must be absent with api video: a mask belongs to a picture.';
  if (references.as === 'json') return 'mask needs references.as to be multipart: only forms have a mask.';
  if (mask.field === references.field) return `mask.field may not be ${mask.field}: this field takes the references.`;
  if ([...OWN_FIELDS, ...ACCOUNT_FIELDS, ...Object.keys(fields), ...Object.keys(further)].includes(mask.field))
    return `The field ${mask.field} is given twice.`;
  return undefined;
}

function negativeFieldFault(settings: ServerSettings): string | undefined {
  const { negative_prompt_field: field, references, fields, reference_fields: further } = settings;
  if (field === undefined) return undefined;
  if (OWN_FIELDS.includes(field))
    return `negative_prompt_field may not be ${field}: the provider fills this field itself.`;
  if (ACCOUNT_FIELDS.includes(field))
    return `negative_prompt_field may not be ${field}: this field is about your account.`;
  const others = [references.field, ...Object.keys(fields), ...Object.keys(further)];
  if (others.includes(field)) return `The field ${field} is given twice.`;
  return promptFieldFault('negative_prompt_field', field);
}

function hostsFault(hosts: readonly string[]): string | undefined {
  try {
    void new ListedHosts(hosts);
    return undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `result_hosts: ${error.message}`;
  }
}

function rulesFault(rules: FieldRules, at: string): string | undefined {
  for (const [field, rule] of Object.entries(rules)) {
    if (OWN_FIELDS.includes(field)) return `${at}.${field} may not be given: the provider fills this field itself.`;
    if (rule.parameter !== undefined && ACCOUNT_FIELDS.includes(field))
      return `${at}.${field} may not take a parameter: this field is about your account.`;
  }
  return operatorFieldsFault(rules, at) ?? fieldRulesFault(rules, at) ?? outputFormatFault(rules['output_format'], at);
}

/** The rule for a field with the format of pictures: each value must be one that is delivered. */
function outputFormatFault(rule: FieldRule | undefined, at: string): string | undefined {
  if (rule === undefined) return undefined;
  const { value, values, enum: choices } = rule;
  const named = value === undefined ? (values === undefined ? choices : Object.values(values)) : [value];
  if (named === undefined) return `${at}.output_format needs a value, values or an enum.`;
  for (const format of named) {
    if (typeof format === 'object') return `${at}.output_format needs a text.`;
    const fault = formatFault(String(format), 'image');
    if (fault !== undefined) return `${at}.output_format: ${fault}`;
  }
  return undefined;
}
