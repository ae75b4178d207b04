import { REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { ProviderCapabilities, ProviderReference, Submission } from '../../../core/ports/provider.js';
import type { BodyFile } from '../../http/http-request.js';
import { MASK_FORMS, type MaskForm } from './masked-reference.js';
import { operatorFieldsFault, promptFieldFault } from './operator-fields.js';
import {
  FIELD_RULES_SCHEMA,
  type FieldRules,
  fieldRulesFault,
  fieldsFrom,
  ParameterInvalid,
} from './request-fields.js';
import { inputRefusal, refusal } from './sentences.js';
import { maskedFirst, maskRefusal, type Splits } from './split-references.js';
import { TaskRefused } from './task-refused.js';

/**
 * The part of `provider_settings` that says which field of a model's input has what. Parameters that it does not name
 * are never sent.
 */
export interface InputSettings {
  readonly prompt_field: string;
  readonly negative_prompt_field?: string;
  /** Reference files, by their role. */
  readonly references: Readonly<Partial<Record<ReferenceRole, ReferenceField>>>;
  /** How the model learns which areas of a reference image it makes anew; without it, the model takes no masks. */
  readonly mask?: MaskField;
  readonly fields: FieldRules;
}

interface MaskField {
  /** Takes the mask; absent where the model reads the transparency of the picture itself. */
  readonly field?: string;
  /** The model generates the white, the black or the transparent areas of the mask, or of the picture itself, anew. */
  readonly form: MaskForm;
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

const MASK_FIELD: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['form'],
  properties: { field: FIELD_NAME, form: { type: 'string', enum: [...MASK_FORMS] } },
};

/** The properties of `InputSettings` for the JSON Schema of `provider_settings`. */
export const INPUT_SETTINGS: JsonObject = {
  prompt_field: { ...FIELD_NAME, default: 'prompt' },
  negative_prompt_field: FIELD_NAME,
  references: {
    type: 'object',
    additionalProperties: false,
    default: {},
    properties: Object.fromEntries(REFERENCE_ROLES.map((role) => [role, REFERENCE_FIELD])),
  },
  mask: MASK_FIELD,
  fields: { ...FIELD_RULES_SCHEMA, default: {} },
};

/** The first thing in the settings that contradicts another, or would let users write what is the operator's, as one sentence. */
export function inputSettingsFault(settings: InputSettings): string | undefined {
  const { prompt_field: prompt, negative_prompt_field: negative, references, mask, fields } = settings;
  const fed = [
    prompt,
    ...(negative === undefined ? [] : [negative]),
    ...Object.values(references).map(({ field }) => field),
    ...(mask?.field === undefined ? [] : [mask.field]),
    ...Object.keys(fields),
  ];
  const twice = fed.find((field, index) => fed.indexOf(field) !== index);
  if (twice !== undefined) return `The field ${twice} of the input is given twice.`;
  return (
    promptFieldFault('prompt_field', prompt) ??
    promptFieldFault('negative_prompt_field', negative) ??
    maskFault(settings) ??
    operatorFieldsFault(fields) ??
    fieldRulesFault(fields)
  );
}

function maskFault({ references, mask }: InputSettings): string | undefined {
  if (mask === undefined) return undefined;
  if (references.reference_image === undefined)
    return 'mask belongs to a reference_image; references must name the field for it.';
  return mask.field === undefined && mask.form !== 'alpha'
    ? `mask.field must name the field that takes the mask whose ${mask.form} areas are made anew.`
    : undefined;
}

/** The mask capabilities of a model, from its `provider_settings`. */
export function maskCapability(given: JsonObject): Pick<ProviderCapabilities, 'maxMaskedReferences'> {
  return given['mask'] === undefined ? {} : { maxMaskedReferences: 1 };
}

/** A model's input, or the refusal of a task that the settings cannot map to one. */
export type TaskInput =
  | { readonly input: Readonly<Record<string, unknown>> }
  | { readonly refused: ReturnType<typeof refusal> };

/**
 * The input of a model. `valueOf` gives what a file is sent as; it is called only where all else is in order.
 */
export async function taskInput(
  settings: InputSettings,
  submission: Submission,
  valueOf: (file: BodyFile) => Promise<unknown>,
  splits: Splits,
): Promise<TaskInput> {
  const { prompt, negativePrompt, references } = submission;
  const { prompt_field: promptField, negative_prompt_field: negativeField } = settings;
  const fields = fieldsOrRefusal(settings, submission);
  if ('refused' in fields) return fields;
  const refused = referencesRefusal(settings, references);
  if (refused !== undefined) return { refused };
  const input: Record<string, unknown> = { ...fields.input, [promptField]: prompt };
  if (negativeField !== undefined && negativePrompt !== undefined) input[negativeField] = negativePrompt;
  const sent = await splitMask(settings, references, splits);
  if ('refused' in sent) return sent;
  if (sent.mask !== undefined) input[sent.mask.field] = await valueOf(sent.mask.file);
  for (const [role, { field, many }] of entriesOf(settings.references)) {
    const values: unknown[] = [];
    for (const reference of maskedFirst(references))
      if (reference.role === role) values.push(await valueOf(sent.of.get(reference) ?? reference));
    if (values.length > 0) input[field] = many ? values : values[0];
  }
  return { input };
}

interface SplitMask {
  /** Returns the value that is sent for a reference. */
  readonly of: ReadonlyMap<ProviderReference, BodyFile>;
  readonly mask?: { readonly field: string; readonly file: BodyFile };
}

/** The files that are sent for the masked reference: its colours and its mask, or a picture with transparency. */
async function splitMask(
  { mask }: InputSettings,
  references: readonly ProviderReference[],
  splits: Splits,
): Promise<SplitMask | { readonly refused: ReturnType<typeof refusal> }> {
  const masked = references.find(({ isMasked }) => isMasked === true);
  if (masked === undefined || mask === undefined) return { of: new Map() };
  try {
    if (mask.field === undefined) return { of: new Map([[masked, await splits.withAlpha(masked)]]) };
    const { colours, mask: file } = await splits.split(masked, mask.form);
    return { of: new Map([[masked, colours]]), mask: { field: mask.field, file } };
  } catch (error) {
    if (error instanceof TaskRefused) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function fieldsOrRefusal({ fields }: InputSettings, { parameters }: Submission): TaskInput {
  try {
    return { input: fieldsFrom(fields, parameters) };
  } catch (error) {
    if (error instanceof ParameterInvalid) return { refused: inputRefusal(error.message) };
    throw error;
  }
}

function referencesRefusal({ references: known, mask }: InputSettings, references: readonly ProviderReference[]) {
  for (const { role } of references) {
    const field = known[role];
    if (field === undefined) return refusal('settings wrong');
    if (!field.many && references.filter((other) => other.role === role).length > 1)
      return inputRefusal(`The model takes one file of the role ${role}.`);
  }
  return maskRefusal(references, mask === undefined ? 0 : 1);
}

function entriesOf(references: InputSettings['references']): readonly (readonly [string, ReferenceField])[] {
  return Object.entries(references);
}
