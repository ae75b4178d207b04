import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { ProviderReference, Submission } from '../../../core/ports/provider.js';
import { FIELD_RULES_SCHEMA, fieldRulesFault, fieldsFrom, type FieldRules } from './request-fields.js';

/** The part of `provider_settings` that says which field of a model's input has what. What it does not name is never sent. */
export interface InputSettings {
  readonly prompt_field: string;
  readonly negative_prompt_field?: string;
  /** Reference files, by their role. */
  readonly references: Readonly<Partial<Record<ReferenceRole, ReferenceField>>>;
  readonly fields: FieldRules;
}

interface ReferenceField {
  readonly field: string;
  /** Whether the field takes a list of files. */
  readonly many: boolean;
}

const FIELD_NAME: JsonObject = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$' };

const REFERENCE_FIELD: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['field'],
  properties: { field: FIELD_NAME, many: { type: 'boolean', default: false } },
};

/** The properties of `InputSettings` for the JSON Schema of `provider_settings`. */
export const INPUT_SETTINGS: JsonObject = {
  prompt_field: { ...FIELD_NAME, default: 'prompt' },
  negative_prompt_field: FIELD_NAME,
  references: {
    type: 'object',
    additionalProperties: false,
    default: {},
    properties: { reference_image: REFERENCE_FIELD, start_frame: REFERENCE_FIELD, end_frame: REFERENCE_FIELD },
  },
  fields: { ...FIELD_RULES_SCHEMA, default: {} },
};

/** Names of fields that a server reads as an address or as a place of files. */
const ADDRESS_FIELD = /(?:^|_)(?:url|uri|path|file|dir|webhook|weights|lora|checkpoint)s?$/i;

/** The first thing in the settings that contradicts another, or would let users name an address, as one sentence. */
export function inputSettingsFault(settings: InputSettings): string | undefined {
  const { prompt_field: prompt, negative_prompt_field: negative, references, fields } = settings;
  const fed = [
    prompt,
    ...(negative === undefined ? [] : [negative]),
    ...Object.values(references).map(({ field }) => field),
    ...Object.keys(fields),
  ];
  const twice = fed.find((field, index) => fed.indexOf(field) !== index);
  if (twice !== undefined) return `The field ${twice} of the input is given twice.`;
  const address = [prompt, negative ?? '', ...freeTexts(fields)].find((field) => ADDRESS_FIELD.test(field));
  if (address !== undefined) return `The field ${address} of the input cannot have text that users write.`;
  return fieldRulesFault(fields);
}

/** Fields with text of a parameter that may be anything within its bounds. */
function freeTexts(fields: FieldRules): readonly string[] {
  return Object.entries(fields)
    .filter(([, rule]) => rule.type === 'string' && rule.enum === undefined)
    .map(([field]) => field);
}

/** A reference file whose role the settings do not name. */
export class ReferenceUnmapped extends Error {
  constructor(role: ReferenceRole) {
    super(`The settings name no field for files of the role ${role}.`);
    this.name = 'ReferenceUnmapped';
  }
}

/**
 * The input of a model. `valueOf` gives what a file is sent as. Throws `ParameterInvalid` for a parameter that the rules
 * do not allow, and `ReferenceUnmapped`.
 */
export async function inputOf(
  settings: InputSettings,
  submission: Submission,
  valueOf: (reference: ProviderReference) => Promise<string>,
): Promise<JsonObject> {
  const input: Record<string, Json> = { ...fieldsFrom(settings.fields, submission.parameters) };
  input[settings.prompt_field] = submission.prompt;
  if (settings.negative_prompt_field !== undefined && submission.negativePrompt !== undefined)
    input[settings.negative_prompt_field] = submission.negativePrompt;
  const fields = submission.references.map(({ role }) => fieldFor(settings, role));
  for (const [index, reference] of submission.references.entries()) {
    const { field, many } = fields[index]!;
    const value = await valueOf(reference);
    const before = input[field];
    input[field] = many ? [...(Array.isArray(before) ? before : []), value] : value;
  }
  return input;
}

function fieldFor({ references }: InputSettings, role: ReferenceRole): ReferenceField {
  const field = references[role];
  if (field === undefined) throw new ReferenceUnmapped(role);
  return field;
}
