import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderReference, Submission } from '../../../core/ports/provider.js';
import { operatorFieldsFault, promptFieldFault } from './operator-fields.js';
import {
  FIELD_RULES_SCHEMA,
  fieldRulesFault,
  fieldsFrom,
  ParameterInvalid,
  type FieldRules,
} from './request-fields.js';
import { inputRefusal, refusal } from './sentences.js';

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

/** The first thing in the settings that contradicts another, or would let users write what is the operator's, as one sentence. */
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
  return (
    promptFieldFault('prompt_field', prompt) ??
    promptFieldFault('negative_prompt_field', negative) ??
    operatorFieldsFault(fields) ??
    fieldRulesFault(fields)
  );
}

/** A model's input, or the refusal of a task that the settings cannot map to one. */
export type TaskInput =
  | { readonly input: Readonly<Record<string, unknown>> }
  | { readonly refused: ReturnType<typeof refusal> };

/** The input of a model. `valueOf` gives what a file is sent as; it is called only where all else is in order. */
export async function taskInput(
  settings: InputSettings,
  submission: Submission,
  valueOf: (reference: ProviderReference) => Promise<unknown>,
): Promise<TaskInput> {
  const { prompt, negativePrompt, references } = submission;
  const { prompt_field: promptField, negative_prompt_field: negativeField } = settings;
  const fields = fieldsOrRefusal(settings, submission);
  if ('refused' in fields) return fields;
  const refused = referencesRefusal(settings, references);
  if (refused !== undefined) return { refused };
  const input: Record<string, unknown> = { ...fields.input, [promptField]: prompt };
  if (negativeField !== undefined && negativePrompt !== undefined) input[negativeField] = negativePrompt;
  for (const [role, { field, many }] of entriesOf(settings.references)) {
    const values: unknown[] = [];
    for (const reference of references) if (reference.role === role) values.push(await valueOf(reference));
    if (values.length > 0) input[field] = many ? values : values[0];
  }
  return { input };
}

function fieldsOrRefusal({ fields }: InputSettings, { parameters }: Submission): TaskInput {
  try {
    return { input: fieldsFrom(fields, parameters) };
  } catch (error) {
    if (error instanceof ParameterInvalid) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function referencesRefusal({ references: known }: InputSettings, references: readonly ProviderReference[]) {
  for (const { role } of references) {
    const field = known[role];
    if (field === undefined) return refusal('settings wrong');
    if (!field.many && references.filter((other) => other.role === role).length > 1)
      return inputRefusal(`The model takes one file of the role ${role}.`);
  }
  return undefined;
}

function entriesOf(references: InputSettings['references']): readonly (readonly [string, ReferenceField])[] {
  return Object.entries(references);
}
